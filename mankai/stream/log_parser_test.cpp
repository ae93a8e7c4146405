#include "mankai/stream/log_parser.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mankai/stream/line_reader.hpp"
#include "mankai/stream/time_text.hpp"

namespace mankai {
namespace {

struct Parsed {
  LogLine line{};
  LogRecord record;
};

Parsed parse(LogParser& parser, std::string_view line) {
  Parsed parsed;
  parsed.line = parser.parse(line, parsed.record);
  return parsed;
}

LogParser parser_for(LogFormat format) { return LogParser::create({.format = format, .names = {}}).value(); }

std::string time_of(const LogRecord& record) { return record.time ? format_time(*record.time) : "none"; }

TEST(LogParser, combined_line_of_the_apache_manual) {
  LogParser parser = parser_for(LogFormat::combined);
  const Parsed parsed =
      parse(parser, R"x(127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326 )x"
                    R"x("http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)")x");
  ASSERT_EQ(parsed.line, LogLine::record);
  EXPECT_EQ(time_of(parsed.record), "2000-10-10T20:55:36Z");
  EXPECT_EQ(parsed.record.client, "127.0.0.1");
  EXPECT_EQ(parsed.record.host, "");
  EXPECT_EQ(parsed.record.method, "GET");
  EXPECT_EQ(parsed.record.target, "/apache_pb.gif");
  EXPECT_EQ(parsed.record.referrer, "http://www.example.com/start.html");
  EXPECT_EQ(parsed.record.agent, "Mozilla/4.08 [en] (Win98; I ;Nav)");
  EXPECT_EQ(parsed.record.status, 200U);
  EXPECT_EQ(parsed.record.bytes, 2326U);
}

}  // namespace
}  // namespace mankai
