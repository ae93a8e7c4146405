// The layered filter's bytes pinned forever; when regenerating is legitimate stands in golden_test.cpp.
//
// To write the files: golden_test --gtest_also_run_disabled_tests --gtest_filter='LayeredGolden.*write*'

#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <string>
#include <string_view>

#include "mankai/hash/path_mix.hpp"
#include "tests/golden/golden_test_support.hpp"
#include "tests/support/paths.hpp"

namespace mankai::test::golden::layered {
namespace {

struct Golden {
  const char* name;  // of the file, without .mk
  UrlLayering layering;
  double fpr;
  HashSpec hash;
  std::size_t max_levels;
  std::uint64_t strangers;  // XXH3 of the answers to 20000 paths that were never inserted, a byte each
};

// host-0/dir-0/page-0, …; one in five with a directory twice, one in seven without a page.
Path path(const Hasher& hash, int number) {
  const auto segment = [&hash](std::string_view what, int which) {
    return hash(std::string(what) + std::to_string(which));
  };
  Path path = {segment("host-", number % 9), segment("dir-", number % 13)};
  if (number % 5 == 0) {
    path.push_back(path.back());
  }
  if (number % 7 != 0) {
    path.push_back(segment("page-", number));
  }
  return path;
}

constexpr int kKeys = 100;

Bytes made(const Golden& golden) {
  auto filter = LayeredUrlBloom::create({.keys = kKeys,
                                         .fpr = golden.fpr,
                                         .layering = golden.layering,
                                         .max_levels = golden.max_levels,
                                         .hash = golden.hash})
                    .value();
  for (int i = 0; i < kKeys; ++i) {
    filter.insert(path(filter.hasher(), i));
  }
  return filter.to_bytes();
}

// Strangers that resemble members: their hosts, directories and repeats with other pages, and prefixes.
std::uint64_t answers_to_strangers(const LayeredUrlBloom& filter) {
  std::string answers;
  for (int i = 0; i < 20000; ++i) {
    answers += filter.may_contain(path(filter.hasher(), kKeys + i)) ? '\1' : '\0';
  }
  return XXH3_64bits(answers.data(), answers.size());
}

const std::array<Golden, 4> kGolden = {{
    {"layered_url_bloom", UrlLayering::repaired, 0.05, kXxh3, 8, 0x2e76fc955b2c9d2U},
    {"layered_url_bloom_siphash", UrlLayering::repaired, 0.01, kSiphash, 64, 0x91e7f829b55d4070U},
    {"layered_url_bloom_faithful", UrlLayering::faithful, 0.05, kXxh3, 8, 0xc5c5547056a4337dU},
    {"layered_url_bloom_two_levels", UrlLayering::repaired, 0.05, kXxh3, 2, 0xc3c0bf1ee1708f2dU},
}};

TEST(LayeredGolden, todays_code_makes_the_files) {
  for (const Golden& golden : kGolden) {
    EXPECT_EQ(made(golden), read(path_of(golden.name))) << golden.name;
  }
}

TEST(LayeredGolden, todays_code_reads_the_files_of_every_version) {
  for (const Golden& golden : kGolden) {
    const auto filter = LayeredUrlBloom::from_bytes(read(path_of(golden.name)));
    ASSERT_TRUE(filter.has_value()) << golden.name << ": " << filter.error().detail;
    EXPECT_EQ(filter->layering(), golden.layering);
    EXPECT_EQ(filter->max_levels(), golden.max_levels);
    EXPECT_EQ(filter->levels(), std::min<std::size_t>(4, golden.max_levels));
    for (int i = 0; i < kKeys; ++i) {
      EXPECT_TRUE(filter->may_contain(path(filter->hasher(), i))) << golden.name << ": " << i;
    }
    EXPECT_EQ(answers_to_strangers(*filter), golden.strangers) << golden.name;
  }
}

// The digests that stored filters of paths were made with.
TEST(LayeredGolden, the_mixes_of_paths_are_pinned) {
  EXPECT_EQ(chain(Digest{}, Digest{1}, 0).value, 0x3d946da898f8c87fU);
  EXPECT_EQ(chain(Digest{0x243f6a8885a308d3U}, Digest{0x13198a2e03707344U}, 7).value, 0x3bdd0dd7c8f1f25dU);
  EXPECT_EQ(at_level(Digest{1}, 0).value, 0xd48cc460f548a5d9U);
  EXPECT_EQ(at_level(Digest{0x13198a2e03707344U}, 63).value, 0x7fdf0c8619593ce8U);
}

TEST(LayeredGolden, DISABLED_write) {
  for (const Golden& golden : kGolden) {
    const Bytes bytes = made(golden);
    write(path_of(golden.name), bytes);
    std::cout << golden.name << " 0x" << std::hex << answers_to_strangers(LayeredUrlBloom::from_bytes(bytes).value())
              << "U\n"
              << std::dec;
  }
}

}  // namespace
}  // namespace mankai::test::golden::layered
