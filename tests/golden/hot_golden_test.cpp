// Images of decayed-top and rotating-bloom, pinned byte for byte: what is on somebody's disk opens for ever. Writing
// the files anew is legitimate in one case only: see golden_test.cpp.
//
// To write the files: hot_golden_test --gtest_also_run_disabled_tests --gtest_filter='*write*', in tests/golden.

#include <gtest/gtest.h>
#include <xxhash.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/hot_keys.hpp"

namespace mankai::test {
namespace {

using Bytes = std::vector<std::byte>;

struct Golden {
  const char* name;  // of the file, without .mk
  Bytes (*make)();   // by today's code
  std::uint64_t xxh3;
};

const std::array<Golden, 5> kGolden = {{
    {"decayed_top_xxh3", [] { return filled_top(kXxh3).to_bytes(); }, 0x515768aad2076920U},
    {"decayed_top_siphash", [] { return filled_top(kSiphash).to_bytes(); }, 0x84f941b25e7687b7U},
    {"rotating_bloom_xxh3", [] { return filled_rotating(kXxh3).to_bytes(); }, 0xf68cf66da8cefcbaU},
    {"rotating_bloom_siphash", [] { return filled_rotating(kSiphash).to_bytes(); }, 0x848cca5268f47b50U},
    {"decayed_top_window", [] { return filled_top(kXxh3, CountRounding::strict, std::chrono::minutes(16)).to_bytes(); },
     0x1d465fcd47ff3078U},
}};

std::filesystem::path path_of(const Golden& golden) {
  return std::filesystem::path(MANKAI_GOLDEN_DIR) / (std::string(golden.name) + ".mk");
}

Bytes read(const Golden& golden) {
  std::ifstream file(path_of(golden), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Bytes bytes(text.size());
  std::transform(text.begin(), text.end(), bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
  return bytes;
}

TEST(HotGolden, todays_code_makes_the_files) {
  for (const Golden& golden : kGolden) {
    const Bytes bytes = read(golden);
    EXPECT_EQ(XXH3_64bits(bytes.data(), bytes.size()), golden.xxh3) << golden.name << ": the file changed";
    EXPECT_EQ(golden.make(), bytes) << golden.name;
  }
}

TEST(HotGolden, the_files_answer) {
  const auto top = DecayedTop::from_bytes(read(kGolden[0])).value();
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
  const auto rotating = RotatingBloom::from_bytes(read(kGolden[2])).value();
  for (std::uint64_t tick = 8; tick < 12; ++tick) {
    for (std::uint64_t i = 0; i < 30; ++i) {
      EXPECT_TRUE(rotating.may_contain(rotating.hasher()(tick * 1000 + i))) << tick;
    }
  }
}

TEST(HotGolden, DISABLED_write) {
  for (const Golden& golden : kGolden) {
    const Bytes bytes = golden.make();
    std::ofstream(path_of(golden), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    std::cout << golden.name << " 0x" << std::hex << XXH3_64bits(bytes.data(), bytes.size()) << "U\n" << std::dec;
  }
}

}  // namespace
}  // namespace mankai::test
