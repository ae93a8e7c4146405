#include "mankai/remote/shards.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace mankai {
namespace {

// The values of docs/redis/shards.md, made with Python's zlib.crc32.
TEST(ShardsTest, shard_is_crc_32_modulo_the_number) {
  EXPECT_EQ(shard_of("123456789", 1U << 31U), 0xcbf43926U % (1U << 31U));
  EXPECT_EQ(shard_of("", 64), 0U);
  EXPECT_EQ(shard_of("https://example.com/", 64), 20U);
  EXPECT_EQ(shard_of("https://example.com/", 3), 1U);
  EXPECT_EQ(shard_of(std::string_view("\0\xff", 2), 64), 50U);
  EXPECT_EQ(shard_key("crawled", 12), "crawled{12}");
}

TEST(ShardsTest, items_of_all_lengths_have_the_crc_32_of_single_bits) {
  std::string item;
  for (int length = 0; length < 100; ++length) {
    std::uint32_t crc = ~0U;
    for (const char letter : item) {
      crc ^= static_cast<unsigned char>(letter);
      for (int bit = 0; bit < 8; ++bit) {
        crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
      }
    }
    EXPECT_EQ(shard_of(item, ~0U), ~crc % ~0U) << length;
    item.push_back(static_cast<char>(37 * length));
  }
}

// Chi-squared with 63 degrees of freedom: its mean is 63 and its deviation 11.2; five deviations more are 119.
TEST(ShardsTest, shards_are_balanced) {
  constexpr std::uint32_t kShards = 64;
  constexpr int kItems = 64'000;
  std::vector<int> counts(kShards);
  for (int i = 0; i < kItems; ++i) {
    ++counts[shard_of("https://example.com/item?id=" + std::to_string(i), kShards)];
  }
  double chi = 0;
  for (const int count : counts) {
    chi += std::pow(count - 1000.0, 2) / 1000.0;
  }
  EXPECT_LT(chi, 119);
}

// The values of `CLUSTER KEYSLOT` in Redis 7.0.
TEST(ShardsTest, slots_are_those_of_redis) {
  EXPECT_EQ(slot_of("123456789"), 0x31c3U);
  EXPECT_EQ(slot_of("foo"), 12182U);
  EXPECT_EQ(slot_of("x{foo}y{bar}"), 12182U);
  EXPECT_EQ(slot_of("{}foo"), slot_of("{}foo"));
  EXPECT_NE(slot_of("{}foo"), 12182U);
  EXPECT_EQ(slot_of("foo{"), slot_of("foo{"));
  EXPECT_EQ(slot_of("crawled{0}"), slot_of("0"));
  EXPECT_EQ(slot_of(""), 0U);
}

// Number of shards on each of three equal primaries, as docs/redis/shards.md says.
TEST(ShardsTest, sixty_four_shards_are_even_on_three_primaries) {
  std::array<int, 3> primaries{};
  for (std::uint32_t shard = 0; shard < 64; ++shard) {
    ++primaries.at(slot_of(shard_key("a", shard)) * 3U / kRedisSlots);
  }
  EXPECT_EQ(primaries, (std::array{21, 22, 21}));
}

}  // namespace
}  // namespace mankai
