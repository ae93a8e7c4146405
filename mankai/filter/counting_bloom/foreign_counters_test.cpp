// Counters that another program kept, taken over: CountingBloom::from_counters and ScalableCountingBloom::from_slices.

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"
#include "tests/support/filter_request.hpp"

namespace mankai::test {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kKeys = 500;

// Its counters as another program would have them.
Bytes counters_of(CountingBloom& filter, bool is_high_first) {
  const auto cells = filter.seal().subspan(sizeof(ImageHeader), (filter.cell_count() + 1) / 2);
  Bytes bytes(cells.begin(), cells.end());
  for (std::byte& byte : bytes) {
    byte = is_high_first ? byte << 4 | byte >> 4 : byte;
  }
  return bytes;
}

// An odd number of counters, so that half of the last byte is free.
CountingBloom::Options odd_options() {
  for (std::uint64_t keys = kKeys;; ++keys) {
    const CountingBloom::Options options{
        .keys = keys, .fpr = 0.04, .layout = CountingLayout::dablooms, .hash = kMurmur3};
    if (CountingBloom::create(options).value().cell_count() % 2 == 1) {
      return options;
    }
  }
}

TEST(ForeignCounters, make_the_filter_that_they_are_of) {
  for (const CountingLayout layout : {CountingLayout::blocked, CountingLayout::partitioned, CountingLayout::dablooms}) {
    const CountingBloom::Options options{.keys = kKeys, .fpr = 0.05, .layout = layout, .hash = kMurmur3};
    auto original = CountingBloom::create(options).value();
    insert_random(original, 1, kKeys);
    for (int times = 0; times < 20; ++times) {
      original.insert(Digest{0x123456789abcdefU});
    }
    ASSERT_GT(original.saturated_cells(), 0U);
    for (const bool is_high_first : {false, true}) {
      const Bytes counters = counters_of(original, is_high_first);
      const auto taken_over = CountingBloom::from_counters(
          options, {.bytes = counters, .is_high_first = is_high_first, .keys = original.keys_inserted()});
      ASSERT_TRUE(taken_over.has_value()) << taken_over.error().detail;
      EXPECT_EQ(taken_over->to_bytes(), original.to_bytes()) << name(layout);
    }
  }
}

TEST(ForeignCounters, of_another_number_are_refused) {
  const CountingBloom::Options options = odd_options();
  auto original = CountingBloom::create(options).value();
  Bytes counters = counters_of(original, true);
  counters.push_back({});
  EXPECT_EQ(CountingBloom::from_counters(options, {.bytes = counters}).error().code, ErrorCode::invalid_argument);
  counters.pop_back();
  counters.pop_back();
  const auto fewer = CountingBloom::from_counters(options, {.bytes = counters});
  ASSERT_FALSE(fewer.has_value());
  EXPECT_NE(fewer.error().detail.find(std::to_string(counters.size()) + " bytes"), std::string::npos);
}

TEST(ForeignCounters, half_a_byte_behind_the_last_is_left_out) {
  const CountingBloom::Options options = odd_options();
  Bytes counters(CountingBloom::create(options).value().cell_count() / 2 + 1);
  for (const bool is_high_first : {false, true}) {
    counters.back() = is_high_first ? std::byte{0x3a} : std::byte{0xa3};
    const auto filter = CountingBloom::from_counters(options, {.bytes = counters, .is_high_first = is_high_first});
    ASSERT_TRUE(filter.has_value());
    EXPECT_NEAR(filter->fill_ratio() * static_cast<double>(filter->cell_count()), 1, 1e-9);
    EXPECT_TRUE(CountingBloom::from_bytes(filter->to_bytes()).has_value());
  }
}

ScalableCountingBloom::Options slices_options() {
  return {.keys = kKeys,
          .fpr = 0.05,
          .growth = {.factor = 1, .tightening = 0.5},
          .layout = CountingLayout::dablooms,
          .hash = kMurmur3};
}

// A slice of that generation with the keys first_id to end_id - 1, whose digests are of those numbers.
CountingBloom slice_with(std::uint64_t generation, std::uint64_t first_id, std::uint64_t end_id) {
  const auto options = slices_options();
  auto slice = CountingBloom::create({.keys = options.keys,
                                      .fpr = slice_fpr(options.fpr, options.growth, generation),
                                      .layout = options.layout,
                                      .hash = options.hash,
                                      .slice_tag = first_id})
                   .value();
  const Hasher hash(options.hash);
  for (std::uint64_t id = first_id; id < end_id; ++id) {
    slice.insert(hash(id));
  }
  slice.set_slice_state(end_id);
  return slice;
}

std::vector<CountingBloom> three_slices() {
  std::vector<CountingBloom> slices;
  slices.push_back(slice_with(0, 0, 499));
  slices.push_back(slice_with(1, 499, 998));
  slices.push_back(slice_with(2, 998, 1200));
  return slices;
}

TEST(ForeignSlices, make_the_filter_that_grew_them) {
  auto taken_over = ScalableCountingBloom::from_slices(slices_options(), three_slices()).value();
  EXPECT_EQ(taken_over.slice_count(), 3U);
  EXPECT_EQ(taken_over.keys_inserted(), 1200U);
  EXPECT_EQ(taken_over.max_id(), 1199U);
  EXPECT_EQ(taken_over.next_id(), 1200U);
  const Hasher hash = taken_over.hasher();
  for (std::uint64_t id = 0; id < 1200; ++id) {
    ASSERT_TRUE(taken_over.may_contain(hash(id))) << id;
  }
  EXPECT_EQ(taken_over.erase(hash(std::uint64_t{700}), 700), EraseResult::erased);
  const auto bytes = taken_over.to_bytes();
  const auto again = ScalableCountingBloom::from_bytes(bytes);
  ASSERT_TRUE(again.has_value()) << again.error().detail;
  EXPECT_EQ(again->to_bytes(), bytes);
}

TEST(ForeignSlices, grow_on) {
  auto filter = ScalableCountingBloom::from_slices(slices_options(), three_slices()).value();
  const Hasher hash = filter.hasher();
  for (std::uint64_t id = 1200; id < 2998; ++id) {
    filter.insert(hash(id));
  }
  EXPECT_EQ(filter.slice_count(), 6U);
  EXPECT_LT(filter.slice(5).fpr_target(), filter.slice(3).fpr_target());
  for (std::uint64_t id = 0; id < 2998; ++id) {
    ASSERT_TRUE(filter.may_contain(hash(id))) << id;
  }
  EXPECT_LE(filter.fpr_estimate(), 0.05 * 1.1);
}

// dablooms halves the rate forever; what it made is taken over, and growth goes on with the floor that it has here.
TEST(ForeignSlices, may_be_stricter_than_growth_makes_them) {
  auto options = slices_options();
  std::vector<CountingBloom> slices;
  for (std::uint64_t i = 0; i < 100; ++i) {
    auto slice = CountingBloom::create({.keys = options.keys,
                                        .fpr = options.fpr * std::pow(0.5, static_cast<double>(i + 1)),
                                        .layout = options.layout,
                                        .hash = options.hash,
                                        .slice_tag = i})
                     .value();
    slice.set_slice_state(i + 1);
    slices.push_back(std::move(slice));
  }
  ASSERT_GT(slices.back().probes_per_key(), 100U);
  auto filter = ScalableCountingBloom::from_slices(options, std::move(slices)).value();
  const Hasher hash = filter.hasher();
  for (std::uint64_t id = 0; id < kKeys + 1; ++id) {
    filter.insert(hash(id));
  }
  EXPECT_EQ(filter.slice_count(), 101U);
  EXPECT_EQ(filter.slice(100).fpr_target(), 1e-8);
  EXPECT_TRUE(filter.may_contain(hash(std::uint64_t{0})));
  EXPECT_TRUE(ScalableCountingBloom::from_bytes(filter.to_bytes()).has_value());
}

void expect_refused(const ScalableCountingBloom::Options& options, std::vector<CountingBloom> slices,
                    const std::string& says) {
  const auto refused = ScalableCountingBloom::from_slices(options, std::move(slices));
  ASSERT_FALSE(refused.has_value()) << says;
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().detail.find(says), std::string::npos) << refused.error().detail;
}

TEST(ForeignSlices, that_the_filter_cannot_have_are_refused) {
  const auto options = slices_options();
  expect_refused(options, {}, "0 slices");
  auto other = options;
  other.keys += 1;
  expect_refused(other, three_slices(), "slice 0");
  other = options;
  other.hash.seed[0] ^= 1;
  expect_refused(other, three_slices(), "seed");
  other = options;
  other.layout = CountingLayout::partitioned;
  expect_refused(other, three_slices(), "layout");
  other = options;
  other.first_id = 1;
  expect_refused(other, three_slices(), "ids from 0");
  other = options;
  other.fpr = 2;
  expect_refused(other, three_slices(), "rate");
  auto backwards = three_slices();
  backwards[1].set_slice_state(0);
  expect_refused(options, std::move(backwards), "slice 1");
}

}  // namespace
}  // namespace mankai::test
