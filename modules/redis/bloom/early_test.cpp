// Items that are hashed before their key is open: the digests are those of the filter that the key has then, whatever
// it had before.

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

#include "modules/redis/bloom/early.hpp"

namespace mankai::redis {
namespace {

constexpr std::string_view kItem = "item";
constexpr std::uint64_t kMany = 1'000'000;  // keys of a filter beyond the near caches

ScalableBloom make(std::uint64_t seed, std::uint64_t keys = kMany, HashKind kind = kDefaultHash) {
  return ScalableBloom::create({.keys = keys, .hash = {.kind = kind, .seed = {seed, 0}}}).value();
}

void expect_digest_of(const ScalableBloom& filter, std::string_view key) {
  const EarlyHash early(key, {&kItem, 1});
  EXPECT_EQ(early.digest(filter.hasher(), kItem), filter.hasher()(kItem));
  early.keep(filter);
}

TEST(EarlyHash, digest_is_the_filters) {
  const ScalableBloom first = make(1);
  const ScalableBloom second = make(2);
  const ScalableBloom other_kind = make(1, kMany, HashKind::xxh3);
  const ScalableBloom small = make(3, 100);
  for (int round = 0; round < 2; ++round) {
    for (const ScalableBloom* filter : {&first, &first, &second, &other_kind, &small, &first}) {
      expect_digest_of(*filter, "key");
      expect_digest_of(*filter, "");
    }
  }
}

TEST(EarlyHash, the_second_command_on_a_key_hashes_early) {
  const ScalableBloom filter = make(1);
  expect_digest_of(filter, "again");
  const EarlyHash early("again", {&kItem, 1});
  // Asked for another item, it answers with the digest that it has.
  EXPECT_EQ(early.digest(filter.hasher(), "another item"), filter.hasher()(kItem));
}

TEST(EarlyHash, filters_that_are_gone_are_not_read) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    expect_digest_of(make(seed), "key");
  }
}

TEST(EarlyHash, grown_filters_are_kept) {
  ScalableBloom filter =
      ScalableBloom::create({.keys = 1000, .fpr = 0.01, .growth = {.factor = 2}, .hash = {.seed = {1, 1}}}).value();
  for (std::uint64_t key = 0; key < kMany; ++key) {
    filter.insert(Digest{key * 0x9e3779b97f4a7c15U});
  }
  ASSERT_GT(filter.slice_count(), std::size_t{4});
  expect_digest_of(filter, "grown");
  expect_digest_of(filter, "grown");
}

TEST(EarlyHash, several_items_or_none_have_no_early_digest) {
  const ScalableBloom filter = make(1);
  const std::string_view items[] = {"one", "two"};
  for (const EarlyHash& early : {EarlyHash(), EarlyHash("key", {}), EarlyHash("key", items)}) {
    early.keep(filter);
    EXPECT_EQ(early.digest(filter.hasher(), "two"), filter.hasher()("two"));
  }
}

}  // namespace
}  // namespace mankai::redis
