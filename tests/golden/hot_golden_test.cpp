// Images of decayed-top and rotating-bloom, pinned byte for byte: what is on somebody's disk opens for ever. Writing
// the files anew is legitimate in one case only: see golden_test.cpp.
//
// To write the files: golden_test --gtest_also_run_disabled_tests --gtest_filter='HotGolden.*write*'

#include <gtest/gtest.h>

#include <array>

#include "tests/golden/golden_test_support.hpp"
#include "tests/support/hot_keys.hpp"

namespace mankai::test::golden::hot {
namespace {

const std::array<Golden, 5> kGolden = {{
    {"decayed_top_xxh3", [] { return filled_top(kXxh3).to_bytes(); }},
    {"decayed_top_siphash", [] { return filled_top(kSiphash).to_bytes(); }},
    {"rotating_bloom_xxh3", [] { return filled_rotating(kXxh3).to_bytes(); }},
    {"rotating_bloom_siphash", [] { return filled_rotating(kSiphash).to_bytes(); }},
    {"decayed_top_window",
     [] { return filled_top(kXxh3, CountRounding::strict, std::chrono::minutes(16)).to_bytes(); }},
}};

TEST(HotGolden, todays_code_makes_the_files) { expect_files(kGolden); }

TEST(HotGolden, the_files_answer) {
  const auto top = DecayedTop::from_bytes(read(path_of(kGolden[0].name))).value();
  const auto filled = filled_top(kXxh3);
  const auto expected = filled.top(100);
  const auto entries = top.top(100);
  ASSERT_EQ(entries.size(), expected.size());
  ASSERT_GE(entries.size(), 5U);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(entries[i].key, expected[i].key);
    EXPECT_EQ(entries[i].count, expected[i].count);
    EXPECT_EQ(entries[i].last_seen, expected[i].last_seen);
  }
  EXPECT_EQ(top.late_records(), 36U);
  const auto rotating = RotatingBloom::from_bytes(read(path_of(kGolden[2].name))).value();
  for (std::uint64_t tick = 8; tick < 12; ++tick) {
    for (std::uint64_t i = 0; i < 30; ++i) {
      EXPECT_TRUE(rotating.may_contain(rotating.hasher()(tick * 1000 + i))) << tick;
    }
  }
}

TEST(HotGolden, DISABLED_write) { write_files(kGolden); }

}  // namespace
}  // namespace mankai::test::golden::hot
