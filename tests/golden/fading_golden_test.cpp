// Images of fading-fingerprints and recent-values, pinned byte for byte: what is on somebody's
// disk opens for ever. Writing the files anew is legitimate in one case only: see golden_test.cpp.
//
// To write the files: fading_golden_test --gtest_also_run_disabled_tests --gtest_filter='*write*', in tests/golden.

#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/fading_filters.hpp"

namespace mankai::test {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

constexpr FadingShape kBytesShape{.slots = 128, .k = 2, .bits = 8};
constexpr FadingShape kHalfBytesShape{.slots = 101, .k = 3, .bits = 4};
constexpr FadingShape kTwoBytesShape{.slots = 100, .k = 4, .bits = 16, .min_matches = 2};
constexpr FadingShape kFourBytesShape{.slots = 60, .k = 1, .bits = 32};

Bytes read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Bytes bytes(text.size());
  std::ranges::transform(text, bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
  return bytes;
}

struct Golden {
  const char* name;  // of the file
  Bytes (*make)();   // by today's code
  std::uint64_t xxh3;
};

const std::array<Golden, 6> kGolden = {{
    {"fading_8_xxh3.mk", [] { return filled_fading(kBytesShape).to_bytes(); }, 0xf2c4d1cbc1a24cfcU},
    {"fading_4_siphash.mk", [] { return filled_fading(kHalfBytesShape, kSiphash).to_bytes(); }, 0x551f792a199f3a9U},
    {"fading_16_two_matches_xxh3.mk", [] { return filled_fading(kTwoBytesShape).to_bytes(); }, 0x78606e8332368107U},
    {"fading_32_siphash.mk", [] { return filled_fading(kFourBytesShape, kSiphash).to_bytes(); }, 0x27fb97ab9b0f4bafU},
    {"recent_values_xxh3.mk", [] { return filled_values().to_bytes(); }, 0x67330e60375d3ba8U},
    {"recent_values_siphash.mk", [] { return filled_values(kSiphash).to_bytes(); }, 0x85b06a281d79c157U},
}};

fs::path path_of(const Golden& golden) { return fs::path(MANKAI_GOLDEN_DIR) / golden.name; }

TEST(FadingGolden, todays_code_makes_the_files) {
  for (const Golden& golden : kGolden) {
    const Bytes bytes = read(path_of(golden));
    EXPECT_EQ(XXH3_64bits(bytes.data(), bytes.size()), golden.xxh3) << golden.name << ": the file changed";
    EXPECT_EQ(golden.make(), bytes) << golden.name;
  }
}

// Each file's last key is the youngest, and known; what strangers get is not pinned here but by the bytes above.
TEST(FadingGolden, the_arrays_know_what_came_last) {
  const std::array<FadingShape, 4> shapes = {kBytesShape, kHalfBytesShape, kTwoBytesShape, kFourBytesShape};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const auto filter = FadingFingerprints::from_bytes(read(path_of(kGolden[i]))).value();
    EXPECT_EQ(filter.shape(), shapes[i]);
    const std::uint64_t events = shapes[i].slots / shapes[i].k;
    EXPECT_EQ(filter.keys_inserted(), events);
    const std::uint64_t last = (events - 1) / 7 * 5 + (events - 1) % 7;
    EXPECT_TRUE(filter.may_contain(filter.hasher()(last))) << kGolden[i].name;
  }
}

TEST(FadingGolden, the_values_answer) {
  for (const std::size_t i : {4U, 5U}) {
    const auto filter = RecentValues::from_bytes(read(path_of(kGolden[i]))).value();
    EXPECT_EQ(filter.keys_inserted(), 16U);
    const auto values = filter.get(filter.hasher()(std::uint64_t{3}));
    ASSERT_FALSE(values.empty());
    EXPECT_EQ(values.front().value, 4U) << "key 3 had 3, then 4";
  }
}

TEST(FadingGolden, DISABLED_write) {
  for (const Golden& golden : kGolden) {
    const Bytes bytes = golden.make();
    std::ofstream(path_of(golden), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    std::cout << golden.name << " 0x" << std::hex << XXH3_64bits(bytes.data(), bytes.size()) << "U\n" << std::dec;
  }
}

}  // namespace
}  // namespace mankai::test
