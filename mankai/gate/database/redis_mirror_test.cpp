#include "mankai/gate/database/redis_mirror.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

namespace mankai {
namespace {

TEST(RedisAddressTest, what_is_read_is_written_back) {
  EXPECT_EQ(parse_redis_address("redis://shop.example"), (RedisAddress{.host = "shop.example"}));
  EXPECT_EQ(parse_redis_address("redis://gate@10.0.0.5:7000/3"),
            (RedisAddress{.host = "10.0.0.5", .port = 7000, .database = 3, .user = "gate"}));
  EXPECT_EQ(parse_redis_address("redis://[::1]"), (RedisAddress{.host = "::1"}));
  EXPECT_EQ(parse_redis_address("redis://[fe80::1]:7000/"), (RedisAddress{.host = "fe80::1", .port = 7000}));
  EXPECT_EQ(parse_redis_address("unix:/run/redis.sock"), (RedisAddress{.socket = "/run/redis.sock"}));
  for (const std::string_view text :
       {"redis://a:6379", "redis://u@a:1/4", "redis://[::1]:6379", "unix:/run/redis.sock"}) {
    const auto address = parse_redis_address(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(to_text(*address), text);
  }
}

TEST(RedisAddressTest, what_is_none_is_refused) {
  for (const std::string_view text : {"",
                                      "a",
                                      "http://a",
                                      "rediss://a",
                                      "redis:",
                                      "redis://",
                                      "redis://:6379",
                                      "redis://a:",
                                      "redis://a:0",
                                      "redis://a:x",
                                      "redis://a:65536",
                                      "redis://a/x",
                                      "redis://a/-1",
                                      "redis://a/1/2",
                                      "redis://@a",
                                      "redis://[::1",
                                      "redis://[::1]x",
                                      "redis://[::1]:",
                                      "redis://[]",
                                      "unix:",
                                      "unix:redis.sock"}) {
    const auto address = parse_redis_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().code, ErrorCode::invalid_argument);
  }
}

// Goal: what others would see on a command line is neither taken nor repeated.
TEST(RedisAddressTest, a_password_is_refused_and_not_repeated) {
  for (const std::string_view text : {"redis://user:secret@a", "redis://:secret@a", "redis://user:se@cret@a"}) {
    const auto address = parse_redis_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().message().find("cret"), std::string::npos);
  }
}

}  // namespace
}  // namespace mankai
