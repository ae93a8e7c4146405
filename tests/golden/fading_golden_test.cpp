// Images of fading-fingerprints and recent-values, pinned byte for byte: what is on somebody's
// disk opens for ever. Writing the files anew is legitimate in one case only: see golden_test.cpp.
//
// To write the files: golden_test --gtest_also_run_disabled_tests --gtest_filter='FadingGolden.*write*'

#include <gtest/gtest.h>

#include <array>

#include "tests/golden/golden_test_support.hpp"
#include "tests/support/fading_filters.hpp"

namespace mankai::test::golden::fading {
namespace {

constexpr FadingShape kBytesShape{.slots = 128, .k = 2, .bits = 8};
constexpr FadingShape kHalfBytesShape{.slots = 101, .k = 3, .bits = 4};
constexpr FadingShape kTwoBytesShape{.slots = 100, .k = 4, .bits = 16, .min_matches = 2};
constexpr FadingShape kFourBytesShape{.slots = 60, .k = 1, .bits = 32};

const std::array<Golden, 6> kGolden = {{
    {"fading_8_xxh3", [] { return filled_fading(kBytesShape).to_bytes(); }},
    {"fading_4_siphash", [] { return filled_fading(kHalfBytesShape, kSiphash).to_bytes(); }},
    {"fading_16_two_matches_xxh3", [] { return filled_fading(kTwoBytesShape).to_bytes(); }},
    {"fading_32_siphash", [] { return filled_fading(kFourBytesShape, kSiphash).to_bytes(); }},
    {"recent_values_xxh3", [] { return filled_values().to_bytes(); }},
    {"recent_values_siphash", [] { return filled_values(kSiphash).to_bytes(); }},
}};

TEST(FadingGolden, todays_code_makes_the_files) { expect_files(kGolden); }

// Each file's last key is the youngest, and known; what strangers get is not pinned here but by the bytes above.
TEST(FadingGolden, the_arrays_know_what_came_last) {
  const std::array<FadingShape, 4> shapes = {kBytesShape, kHalfBytesShape, kTwoBytesShape, kFourBytesShape};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const auto filter = FadingFingerprints::from_bytes(read(path_of(kGolden[i].name))).value();
    EXPECT_EQ(filter.shape(), shapes[i]);
    const std::uint64_t events = shapes[i].slots / shapes[i].k;
    EXPECT_EQ(filter.keys_inserted(), events);
    const std::uint64_t last = (events - 1) / 7 * 5 + (events - 1) % 7;
    EXPECT_TRUE(filter.may_contain(filter.hasher()(last))) << kGolden[i].name;
  }
}

TEST(FadingGolden, the_values_answer) {
  for (const std::size_t i : {4U, 5U}) {
    const auto filter = RecentValues::from_bytes(read(path_of(kGolden[i].name))).value();
    EXPECT_EQ(filter.keys_inserted(), 16U);
    const auto values = filter.get(filter.hasher()(std::uint64_t{3}));
    ASSERT_FALSE(values.empty());
    EXPECT_EQ(values.front().value, 4U) << "key 3 had 3, then 4";
  }
}

TEST(FadingGolden, DISABLED_write) { write_files(kGolden); }

}  // namespace
}  // namespace mankai::test::golden::fading
