// Bytes of sliced images pinned forever, as golden_test.cpp has them for flat ones; the same rule for regenerating.
//
// To write the files: golden_test --gtest_also_run_disabled_tests --gtest_filter='GrowingGolden.*write*'

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "mankai/filter/scalable_bloom/scalable_bloom.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"
#include "tests/golden/golden_test_support.hpp"
#include "tests/support/filter_request.hpp"

namespace mankai::test::golden::growing {
namespace {

constexpr int kKeys = 100;
constexpr std::uint64_t kErased = 30;  // the id of a key that was taken out again

std::string key(std::uint64_t number) { return "https://example.org/growing/" + std::to_string(number); }

// A hundred keys, in ids from 7 on where there are any, one of them taken out again.
template <class F>
Bytes filled(const typename F::Options& options) {
  F filter = F::create(options).value();
  const Hasher hash = filter.hasher();
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    if constexpr (NumberedFilter<F>) {
      EXPECT_TRUE(filter.insert(hash(key(i)), 7 + i).has_value());
    } else {
      filter.insert(hash(key(i)));
    }
  }
  if constexpr (NumberedFilter<F>) {
    EXPECT_EQ(filter.erase(hash(key(kErased)), 7 + kErased), EraseResult::erased);
  }
  return filter.to_bytes();
}

template <class F>
void expect_answers(const Bytes& bytes, const Golden& golden) {
  const auto filter = F::from_bytes(bytes);
  ASSERT_TRUE(filter.has_value()) << golden.name << ": " << filter.error().detail;
  const Hasher hash = filter->hasher();
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    EXPECT_TRUE(filter->may_contain(hash(key(i))) || (NumberedFilter<F> && i == kErased)) << golden.name << ": " << i;
  }
  if constexpr (NumberedFilter<F>) {
    EXPECT_EQ(filter->max_id(), 106U);
    EXPECT_EQ(filter->keys_inserted(), 99U);
  }
}

bool is_counting(const Golden& golden) { return std::string_view(golden.name).starts_with("scalable_counting"); }

const std::array<Golden, 5> kGolden = {{
    {"scalable_bloom_xxh3",
     [] { return filled<ScalableBloom>({.keys = 20, .fpr = 0.01, .growth = {.tightening = 0.5}, .hash = kXxh3}); }},
    {"scalable_bloom_constant_siphash",
     [] {
       return filled<ScalableBloom>({.keys = 40,
                                     .fpr = 0.05,
                                     .growth = {.factor = 1, .tightening = 0.9, .bound = FprBound::first},
                                     .hash = kSiphash});
     }},
    {"scalable_counting_bloom_xxh3",
     [] {
       return filled<ScalableCountingBloom>(
           {.keys = 20, .fpr = 0.01, .growth = {.tightening = 0.5}, .first_id = 5, .hash = kXxh3});
     }},
    {"scalable_counting_bloom_faithful_siphash",
     [] {
       return filled<ScalableCountingBloom>({.keys = 40,
                                             .fpr = 0.05,
                                             .growth = {.factor = 1, .tightening = 0.5},
                                             .layout = CountingLayout::partitioned,
                                             .hash = kSiphash});
     }},
    {"scalable_counting_bloom_dablooms_murmur3",
     [] {
       return filled<ScalableCountingBloom>({.keys = 40,
                                             .fpr = 0.05,
                                             .growth = {.factor = 1, .tightening = 0.5},
                                             .layout = CountingLayout::dablooms,
                                             .hash = kMurmur3});
     }},
}};

TEST(GrowingGolden, todays_code_makes_the_files) { expect_files(kGolden); }

TEST(GrowingGolden, todays_code_reads_the_files_of_every_version) {
  for (const Golden& golden : kGolden) {
    const Bytes bytes = read(path_of(golden.name));
    is_counting(golden) ? expect_answers<ScalableCountingBloom>(bytes, golden)
                        : expect_answers<ScalableBloom>(bytes, golden);
  }
}

TEST(GrowingGolden, DISABLED_write) { write_files(kGolden); }

}  // namespace
}  // namespace mankai::test::golden::growing
