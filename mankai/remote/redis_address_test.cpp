#include "mankai/remote/redis_address.hpp"

#include <gtest/gtest.h>

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
  EXPECT_EQ(parse_redis_address("rediss://a:6380/2?cacert=/etc/ca%3F.pem&cert=c.pem&certkey=k.pem"),
            (RedisAddress{.host = "a",
                          .port = 6380,
                          .database = 2,
                          .has_tls = true,
                          .ca_certificates = "/etc/ca?.pem",
                          .certificate = "c.pem",
                          .certificate_key = "k.pem"}));
  for (const std::string_view text :
       {"redis://a:6379", "redis://u@a:1/4", "redis://[::1]:6379", "rediss://a:6380", "unix:/run/redis.sock"}) {
    const auto address = parse_redis_address(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(to_text(*address), text);
  }
}

TEST(RedisAddressTest, what_is_none_is_refused) {
  for (const std::string_view text : {"",
                                      "a",
                                      "http://a",
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
  for (const std::string_view text :
       {"redis://user:secret@a", "redis://:secret@a", "redis://user:se@cret@a", "rediss://user:6379?secret@a"}) {
    const auto address = parse_redis_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().message().find("cret"), std::string::npos);
  }
}

TEST(RemoteAddressTest, server_key_and_options_are_read) {
  const RemoteAddress plain{.server = {.host = "a"}, .key = "crawled"};
  EXPECT_EQ(parse_remote_address("redis://a/crawled"), plain);
  const RemoteAddress whole{.server = {.host = "10.0.0.5", .port = 7000, .user = "bot", .password = "s/@x"},
                            .key = "a/b?c",
                            .shards = 64,
                            .timeout = std::chrono::minutes(2),
                            .wait = 2,
                            .type = RemoteType::cuckoo,
                            .keys = 10'000'000,
                            .fpr = 0.001,
                            .ttl = std::chrono::days(7)};
  EXPECT_EQ(
      parse_remote_address(
          "redis://bot:s%2F%40x@10.0.0.5:7000/a/b%3Fc?shards=64&ttl=7d&keys=10M&fpr=0.001&timeout=2m&wait=2&type=cf"),
      whole);
  const RemoteAddress unix{.server = {.socket = "/run/my redis", .database = 3, .user = "bot"}, .key = "k&k"};
  EXPECT_EQ(parse_remote_address("unix:/run/my%20redis?key=k%26k&db=3&user=bot"), unix);
  const RemoteAddress tls{.server = {.host = "::1",
                                     .has_tls = true,
                                     .ca_certificates = "ca.pem",
                                     .certificate = "c.pem",
                                     .certificate_key = "k.pem"},
                          .key = "k"};
  EXPECT_EQ(parse_remote_address("rediss://[::1]/k?cacert=ca.pem&cert=c.pem&certkey=k.pem"), tls);
}

TEST(RemoteAddressTest, what_is_invalid_is_refused) {
  for (const std::string_view text : {"redis://a",
                                      "redis://a/",
                                      "redis://a?shards=2",
                                      "redis:///k",
                                      "http://a/k",
                                      "unix:/run/redis.sock",
                                      "unix:redis.sock?key=k",
                                      "redis://a/k?shards=0",
                                      "redis://a/k?shards=4097",
                                      "redis://a/k?shards",
                                      "redis://a/k?key=l",
                                      "redis://a/k?cacert=f",
                                      "redis://a/k?user=u",
                                      "rediss://a/k?cert=f",
                                      "redis://a/k?fpr=1",
                                      "redis://a/k?fpr=0",
                                      "redis://a/k?keys=0",
                                      "redis://a/k?keys=x",
                                      "redis://a/k?ttl=never",
                                      "redis://a/k?db=x",
                                      "redis://a/k?color=red",
                                      "redis://a/k?wait=x",
                                      "redis://a/k?wait=101",
                                      "redis://a/k?keys=5&fpr=0.1&keys=6",
                                      "redis://a/k?type=hot",
                                      "redis://a/k?type=url&ttl=1h",
                                      "redis://a/k%2",
                                      "redis://a/k%zz",
                                      "redis://@a/k",
                                      "redis://a/k{1}?shards=2"}) {
    const auto address = parse_remote_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().code, ErrorCode::invalid_argument);
  }
}

TEST(RemoteAddressTest, messages_have_no_password) {
  const auto address = parse_remote_address("redis://bot:secret@a/k?shards=2");
  ASSERT_TRUE(address);
  EXPECT_EQ(to_text(*address), "redis://a:6379/k");
  EXPECT_EQ(parse_remote_address("redis://bot:secret@a:x/k").error().message().find("secret"), std::string::npos);
  EXPECT_EQ(parse_remote_address("redis://a/k?password=secret").error().message().find("secret"), std::string::npos);
  EXPECT_EQ(parse_remote_address("redis://a/k?password=12@secret").error().message().find("secret"), std::string::npos);
  EXPECT_EQ(parse_remote_address("redis://bot:secret?34@a/k").error().message().find("secret"), std::string::npos);
  EXPECT_EQ(parse_remote_address("unix:/s?key=k&pass=secret").error().message().find("secret"), std::string::npos);
  EXPECT_EQ(parse_remote_address("redis://bot:secret@a/k?color=red").error().message().find("secret"),
            std::string::npos);
}

}  // namespace
}  // namespace mankai
