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
  for (const std::string_view bytes : {"HTTP/1.1 400 Bad Request\r\n", "$x\r\n", "*999999999999\r\n", ":\r\n"}) {
    RedisReplyReader reader;
    auto fed = reader.feed(bytes);
    auto reply = reader.next();
    ASSERT_FALSE(reply) << bytes;
    EXPECT_EQ(reply.error().code, ErrorCode::corrupt);
    EXPECT_FALSE(reader.next());
  }
}

TEST(RedisRequestTest, words_may_contain_anything) {
  const std::array<std::string_view, 3> words = {"SET", "", std::string_view("a\r\n\0b", 5)};
  EXPECT_EQ(request_of(words), std::string_view("*3\r\n$3\r\nSET\r\n$0\r\n\r\n$5\r\na\r\n\0b\r\n", 30));
}

}  // namespace
}  // namespace mankai
