#include "mankai/remote/redis_reply.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

namespace mankai {
namespace {

using Type = RedisReply::Type;

RedisReply only_reply(std::string_view bytes) {
  RedisReplyReader reader;
  EXPECT_TRUE(reader.feed(bytes));
  auto reply = reader.next();
  EXPECT_TRUE(reply && *reply) << bytes;
  return reply && *reply ? **reply : RedisReply{};
}

TEST(RedisReplyTest, each_type_is_read) {
  EXPECT_EQ(only_reply(":-12\r\n").integer, -12);
  EXPECT_EQ(only_reply("+OK\r\n").text, "OK");
  EXPECT_EQ(only_reply("$5\r\na\r\nbc\r\n").text, "a\r\nbc");
  EXPECT_EQ(only_reply("-ERR no\r\n").error(), "ERR no");
  EXPECT_EQ(only_reply("$-1\r\n").type, Type::nil);
  EXPECT_EQ(only_reply("*0\r\n").type, Type::array);
}

TEST(RedisReplyTest, arrays_are_read_with_their_members) {
  const RedisReply reply = only_reply("*3\r\n*2\r\n:1\r\n+a\r\n*2\r\n:2\r\n*1\r\n$1\r\nb\r\n-ERR x\r\n");
  ASSERT_EQ(reply.members.size(), 3U);
  EXPECT_EQ(reply.members[0].members[0].integer, 1);
  EXPECT_EQ(reply.members[0].members[1].text, "a");
  EXPECT_EQ(reply.members[1].members[1].members[0].text, "b");
  EXPECT_EQ(reply.error(), "ERR x");
}

TEST(RedisReplyTest, maps_are_read_by_name) {
  const RedisReply reply = only_reply("*4\r\n+Size\r\n:7\r\n+Rate\r\n$3\r\n0.5\r\n");
  EXPECT_EQ(reply.number_of("Size"), 7U);
  EXPECT_EQ(reply.text_of("Rate"), "0.5");
  EXPECT_FALSE(reply.number_of("Rate"));
  EXPECT_FALSE(reply.text_of("Other"));
}

TEST(RedisReplyTest, replies_may_arrive_byte_by_byte) {
  std::string bytes = "*2000\r\n";
  for (int i = 0; i < 2000; ++i) {
    bytes += ":" + std::to_string(i) + "\r\n";
  }
  bytes += "+OK\r\n";
  RedisReplyReader reader;
  std::vector<RedisReply> replies;
  for (const char byte : bytes) {
    ASSERT_TRUE(reader.feed({&byte, 1}));
    auto reply = reader.next();
    ASSERT_TRUE(reply);
    if (*reply) {
      replies.push_back(**std::move(reply));
    }
  }
  ASSERT_EQ(replies.size(), 2U);
  ASSERT_EQ(replies[0].members.size(), 2000U);
  EXPECT_EQ(replies[0].members[1999].integer, 1999);
  EXPECT_EQ(replies[1].text, "OK");
}

TEST(RedisReplyTest, other_bytes_are_corrupt) {
  for (const std::string_view bytes :
       {"HTTP/1.1 400 Bad Request\r\n", "$x\r\n", "*999999999999\r\n", ":\r\n", "*-2\r\n", "$-2\r\n"}) {
    RedisReplyReader reader;
    auto fed = reader.feed(bytes);
    auto reply = reader.next();
    ASSERT_FALSE(reply) << bytes;
    EXPECT_EQ(reply.error().code, ErrorCode::corrupt);
    EXPECT_FALSE(reader.next());
  }
}

// What the reader says about bytes that are no valid reply.
std::string failure_of(std::string_view bytes, std::size_t max_bytes = kMaxReplyBytes) {
  RedisReplyReader reader;
  const auto fed = reader.feed(bytes);
  auto reply = fed ? reader.next(max_bytes) : std::unexpected(fed.error());
  if (reply) {
    return *reply ? "a reply" : "incomplete";
  }
  EXPECT_EQ(reply.error().code, ErrorCode::corrupt);
  EXPECT_FALSE(reader.feed("x")) << "nothing is stored after an error";
  EXPECT_FALSE(reader.next());
  return reply.error().detail;
}

std::string repeated(std::string_view bytes, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) {
    all += bytes;
  }
  return all;
}

TEST(RedisReplyTest, announced_sizes_beyond_the_limit_are_refused_at_once) {
  constexpr std::string_view kLarge = "larger than any reply to this command";
  for (const std::string_view bytes :
       {"$1000001\r\n", "*1000000\r\n", "*2\r\n:1\r\n$1000000\r\n", "*2\r\n:1\r\n*1000000\r\n"}) {
    EXPECT_NE(failure_of(bytes, 1'000'000).find(kLarge), std::string::npos) << bytes;
  }
  EXPECT_NE(failure_of("$9223372036854775807\r\n").find(kLarge), std::string::npos);
  EXPECT_NE(failure_of("*2147483647\r\n").find(kLarge), std::string::npos);
  EXPECT_EQ(failure_of("$1000000\r\nabc", 1'000'100), "incomplete");
}

TEST(RedisReplyTest, values_and_texts_of_one_reply_share_the_limit) {
  const std::string texts = "*100\r\n" + repeated("$1000\r\n" + std::string(1000, 'x') + "\r\n", 100);
  EXPECT_EQ(failure_of(texts, 100 * (1000 + sizeof(RedisReply)) + sizeof(RedisReply)), "a reply");
  EXPECT_NE(failure_of(texts, 100 * (1000 + sizeof(RedisReply))), "a reply");
  const std::string nested = "*100\r\n" + repeated("*100\r\n" + repeated("+\r\n", 100), 100);
  EXPECT_EQ(failure_of(nested, 10'101 * sizeof(RedisReply)), "a reply");
  EXPECT_NE(failure_of(nested, 10'100 * sizeof(RedisReply)), "a reply");
}

TEST(RedisReplyTest, the_limit_is_that_of_each_reply) {
  RedisReplyReader reader;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(reader.feed("*2\r\n$4\r\nname\r\n:1\r\n$5\r\nother\r\n"));
    for (const std::size_t values : {3U, 1U}) {
      const auto reply = reader.next(values * sizeof(RedisReply) + 5);
      ASSERT_TRUE(reply && *reply);
    }
  }
}

TEST(RedisReplyTest, lines_without_an_end_are_refused) {
  constexpr int kBytes = 1 << 17;
  for (const std::string_view start : {"+", "-", ":", "$", "*", "*2\r\n:1\r\n+"}) {
    EXPECT_NE(failure_of(std::string(start) + repeated("1", kBytes)), "incomplete") << start;
    EXPECT_NE(failure_of(std::string(start) + repeated("\r", kBytes)), "incomplete") << start;
  }
  EXPECT_EQ(failure_of("-ERR " + repeated("x", 1000)), "incomplete");
}

TEST(RedisReplyTest, deep_nesting_is_refused) {
  EXPECT_EQ(failure_of(repeated("*1\r\n", 8) + ":1\r\n"), "a reply");
  EXPECT_NE(failure_of(repeated("*1\r\n", 9) + ":1\r\n").find("nested"), std::string::npos);
  EXPECT_NE(failure_of(repeated("*1\r\n", 100'000)).find("nested"), std::string::npos);
}

TEST(RedisReplyTest, types_of_version_3_are_refused) {
  for (const std::string_view bytes : {"_\r\n", "#t\r\n", ",1.5\r\n", "(12\r\n", "%1\r\n+a\r\n:1\r\n", "~1\r\n:1\r\n",
                                       "=5\r\ntxt:a\r\n", ">1\r\n+a\r\n", "|1\r\n+a\r\n:1\r\n"}) {
    EXPECT_NE(failure_of(bytes).find("is this a Redis server?"), std::string::npos) << bytes;
  }
}

TEST(RedisRequestTest, words_may_contain_anything) {
  const std::array<std::string_view, 3> words = {"SET", "", std::string_view("a\r\n\0b", 5)};
  EXPECT_EQ(request_of(words), std::string_view("*3\r\n$3\r\nSET\r\n$0\r\n\r\n$5\r\na\r\n\0b\r\n", 30));
}

}  // namespace
}  // namespace mankai
