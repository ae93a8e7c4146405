#include "mankai/filter/scalable_bloom/blocked_slice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "mankai/filter/scalable_bloom/scalable_bloom.hpp"
#include "tests/support/random.hpp"

namespace mankai {
namespace {

using test::Random;

constexpr HashSpec kHash{.kind = HashKind::xxh3, .seed = {7, 0}};

double bits_per_key(double fpr) {
  constexpr std::uint64_t kKeys = 1'000'000;
  return static_cast<double>(blocked_slice_size({.keys = kKeys, .fpr = fpr}, FprBound::gradual)->blocks *
                             probes::kBlockBits) /
         kKeys;
}

TEST(BlockedSlice, takes_at_most_a_quarter_more_bits_than_a_classic_filter_at_any_rate) {
  for (double fpr = 1e-3; fpr > 1e-13; fpr *= 0.7) {
    const double classic = -std::log(fpr) / std::pow(std::log(2.0), 2);
    EXPECT_LE(bits_per_key(fpr), 1.27 * classic) << fpr;
  }
  EXPECT_LE(bits_per_key(1e-6), 31.6);
  EXPECT_LE(bits_per_key(1e-9), 47.3);
}

TEST(BlockedSlice, has_one_block_per_key_at_usual_rates_and_in_small_filters) {
  const auto per_key = [](std::uint64_t keys, double fpr, FprBound bound = FprBound::gradual) {
    return blocked_slice_size({.keys = keys, .fpr = fpr}, bound)->per_key;
  };
  EXPECT_EQ(per_key(1'000'000, 1e-4), 1U);
  EXPECT_EQ(per_key(100, 1e-6), 1U);
  EXPECT_EQ(per_key(1'000'000, 1e-6), 2U);
  EXPECT_EQ(per_key(1'000'000, 1e-9), 3U);
  EXPECT_EQ(per_key(1'000'000, 1e-9, FprBound::total), 1U);
  EXPECT_EQ(per_key(1'000'000, 1e-9, FprBound::first), 1U);
}

// Goal: the rate is the formula's. Method: 4e6 absent keys at a rate of 5e-5, so 200 false positives with a standard
// deviation of 14; five of them are allowed.
TEST(BlockedSlice, rate_of_two_blocks_per_key_is_the_formulas) {
  constexpr std::uint64_t kKeys = 20'000;
  constexpr double kFpr = 5e-5;
  constexpr int kWindows = 4000;
  auto slice = BlockedSlice::create({.keys = kKeys, .fpr = kFpr, .hash = kHash}, FprBound::gradual).value();
  ASSERT_EQ(slice.blocks_per_key(), 2U);
  Random random(1);
  const auto members = random.digests(kKeys);
  const auto seen = std::make_unique<bool[]>(kKeys);
  slice.observe(members, {seen.get(), kKeys});
  EXPECT_NEAR(static_cast<double>(slice.keys_inserted()), kKeys, 20);
  EXPECT_NEAR(slice.keys_estimate(), kKeys, 0.02 * kKeys);
  EXPECT_TRUE(std::ranges::all_of(members, [&](Digest digest) { return slice.may_contain(digest); }));

  std::array<bool, 1000> found{};
  double positives = 0;
  for (int window = 0; window < kWindows; ++window) {
    slice.may_contain(random.digests(found.size()), found);
    positives += static_cast<double>(std::ranges::count(found, true));
  }
  const double asked = kWindows * static_cast<double>(found.size());
  const double expected = asked * blocked_slice_fpr(kKeys, {.blocks = slice.params().block_count, .per_key = 2});
  EXPECT_NEAR(positives, expected, 5 * std::sqrt(expected));
  EXPECT_NEAR(asked * slice.fpr_estimate(), expected, 0.1 * expected);
  EXPECT_LE(expected, asked * kFpr);
}

// Method: the estimate is made of the cells, of 20000 keys. A relative deviation of a block's rate counts L times.
TEST(BlockedSlice, estimates_and_finds_members_with_any_number_of_blocks_per_key) {
  constexpr std::uint64_t kKeys = 20'000;
  for (const auto& [fpr, per_key] : {std::pair(1e-5, 2U), {1e-8, 3U}, {1e-12, 4U}}) {
    const BlockedBloom::Options options{.keys = kKeys, .fpr = fpr, .hash = kHash};
    auto one = BlockedSlice::create(options, FprBound::gradual).value();
    auto other = BlockedSlice::create(options, FprBound::gradual).value();
    ASSERT_EQ(one.blocks_per_key(), per_key);
    EXPECT_EQ(one.lines_per_key(), per_key);
    Random random(per_key);
    const auto digests = random.digests(kKeys);
    const auto seen = std::make_unique<bool[]>(kKeys);
    one.observe(std::span(digests).first(kKeys / 2), {seen.get(), kKeys / 2});
    for (const Digest digest : std::span(digests).last(kKeys / 2)) {
      other.insert(digest);
    }
    ASSERT_TRUE(one.merge(other).has_value());
    EXPECT_NEAR(one.fpr_estimate(), one.fpr_expected(kKeys), 0.1 * per_key * one.fpr_expected(kKeys));
    EXPECT_NEAR(one.keys_estimate(), kKeys, 0.02 * kKeys);
    one.may_contain(digests, {seen.get(), kKeys});
    EXPECT_TRUE(std::all_of(seen.get(), seen.get() + kKeys, [](bool found) { return found; }));
  }
}

// Filters of earlier versions have one block per key at every rate, and stay as they are when they are opened.
TEST(BlockedSlice, of_an_earlier_version_keeps_one_block_per_key) {
  const ScalableBloom::Options options{
      .keys = 1000, .fpr = 1e-6, .growth = {.bound = FprBound::gradual}, .hash = kHash};
  const double first = slice_fpr(1e-6, options.growth, 0);
  const auto blocks = blocked_bloom_blocks({.keys = 1000, .fpr = first}).value();
  auto earlier = BlockedBloom::create({.keys = 1000, .fpr = first, .hash = kHash}).value();
  Random random(2);
  const auto members = random.digests(1000);
  earlier.insert(std::span(members));
  auto filter =
      ScalableBloom::create_with(options, {.blocks = blocks}, earlier.cells(), earlier.keys_inserted()).value();
  const auto again = ScalableBloom::from_bytes(filter.to_bytes());
  ASSERT_TRUE(again.has_value()) << again.error().detail;
  EXPECT_EQ(again->slice(0).blocks_per_key(), 1U);
  EXPECT_EQ(again->slice(0).cells_bytes(), blocks * kCacheLineBytes);
  EXPECT_TRUE(std::ranges::all_of(members, [&](Digest digest) { return again->may_contain(digest); }));

  const auto more = random.digests(100);
  filter.insert(std::span(more));
  ASSERT_EQ(filter.slice_count(), 2U);
  EXPECT_EQ(filter.slice(1).blocks_per_key(), 2U);
  EXPECT_TRUE(std::ranges::all_of(more, [&](Digest digest) { return filter.may_contain(digest); }));
}

TEST(BlockedSlice, of_a_later_version_is_refused) {
  auto made = BlockedSlice::create({.keys = 1000, .fpr = 1e-6, .hash = kHash}, FprBound::gradual).value();
  auto bytes = made.to_bytes();
  EXPECT_FALSE(BlockedBloom::from_bytes(bytes).has_value()) << "alone, a filter has one block per key";
  auto image = Image::from_bytes(bytes, Trust::checked, system_memory()).value();
  image.set_params(BlockedSlice::Params{.block_count = made.params().block_count, .more_per_key = 8});
  const auto opened = BlockedSlice::from_image(std::move(image));
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::unsupported_version);
}

}  // namespace
}  // namespace mankai
