#include "mankai/input/log_parser.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace mankai {
namespace {

constexpr std::string_view kCombined = R"x(192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 200 2326)x";
constexpr std::string_view kSquid = "1066012650.603 310 192.0.2.1 TCP_MISS/200 1234 GET http://a/ - DIRECT/- text/html";
constexpr std::string_view kJson = R"({"time":"2016-03-28","uri":"/a"})";
constexpr std::string_view kW3c = "#Fields: date time cs-uri-stem";

using Lines = std::vector<std::string_view>;

struct Outcome {
  LogFormat format;
  std::vector<LogLine> lines;
};

Outcome at_once(const Lines& lines) {
  LogParser parser = LogParser::create().value();
  std::vector<LogRecord> records(lines.size());
  Outcome outcome{.format = {}, .lines = std::vector<LogLine>(lines.size())};
  parser.parse(lines, records, outcome.lines);
  outcome.format = parser.format();
  return outcome;
}

Outcome one_by_one(const Lines& lines) {
  LogParser parser = LogParser::create().value();
  Outcome outcome;
  for (const std::string_view line : lines) {
    LogRecord record;
    outcome.lines.push_back(parser.parse(line, record));
  }
  outcome.format = parser.format();
  return outcome;
}

TEST(LogParser, automatic_finds_the_format_by_the_first_line_that_has_one) {
  const std::vector<std::pair<Lines, LogFormat>> cases = {{{kCombined}, LogFormat::combined},
                                                          {{kSquid}, LogFormat::squid},
                                                          {{kJson}, LogFormat::json},
                                                          {{"", kW3c}, LogFormat::w3c},
                                                          {{"/a", kCombined, kSquid}, LogFormat::combined},
                                                          {{"#Version: 1.0", kSquid}, LogFormat::w3c},
                                                          {{"/a", "/b"}, LogFormat::automatic},
                                                          {{}, LogFormat::automatic}};
  for (const auto& [lines, format] : cases) {
    EXPECT_EQ(at_once(lines).format, format);
    EXPECT_EQ(one_by_one(lines).format, format);
  }
}

TEST(LogParser, lines_before_the_one_that_decides) {
  const Lines lines = {"cut off\" 200 17", "", kCombined};
  EXPECT_EQ(at_once(lines).lines, (std::vector{LogLine::malformed_shape, LogLine::skipped, LogLine::record}));
  EXPECT_EQ(one_by_one(lines).lines, (std::vector{LogLine::record, LogLine::skipped, LogLine::record}));
}

TEST(LogParser, after_a_hundred_lines_of_no_format_it_is_keys_for_good) {
  Lines lines(LogParser::kUndecidedLinesMax - 1, "key");
  lines.emplace_back("");
  EXPECT_EQ(at_once(lines).format, LogFormat::automatic);
  lines.emplace_back("another");
  lines.push_back(kCombined);
  for (const Outcome& outcome : {at_once(lines), one_by_one(lines)}) {
    EXPECT_EQ(outcome.format, LogFormat::keys);
    EXPECT_EQ(outcome.lines.back(), LogLine::record);
  }
}

TEST(LogParser, counts_lines_by_what_they_are) {
  LogParser parser = LogParser::create().value();
  LogRecord record;
  EXPECT_EQ(parser.parse(kCombined, record), LogLine::record);
  EXPECT_EQ(parser.parse(kJson, record), LogLine::malformed_shape);
  EXPECT_EQ(parser.parse(kCombined, record), LogLine::record);
  EXPECT_EQ(parser.counts().lines(), 3U);
  EXPECT_EQ(parser.counts().malformed(), 1U);
  EXPECT_EQ(parser.counts().of(LogLine::record), 2U);
}

TEST(LogParser, another_parser_continues_with_the_format_and_the_directives) {
  LogParser first = LogParser::create().value();
  LogParser second = LogParser::create().value();
  LogRecord record;
  EXPECT_TRUE(first.depends_on_order());
  EXPECT_EQ(first.parse("#Fields: date time cs-uri-stem", record), LogLine::skipped);
  EXPECT_TRUE(first.depends_on_order());
  second.continue_after(first);
  EXPECT_EQ(second.parse("2026-07-02 00:00:00 /a", record), LogLine::record);
  EXPECT_EQ(record.target, "/a");
  first = LogParser::create().value();
  EXPECT_EQ(first.parse(kCombined, record), LogLine::record);
  EXPECT_FALSE(first.depends_on_order());
  second.continue_after(first);
  EXPECT_EQ(second.format(), LogFormat::combined);
}

TEST(LogParser, a_batch_says_what_single_lines_say) {
  const Lines lines = {kCombined, "", "x", kCombined,
                       "192.0.2.1 - - [31/Feb/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 1 2"};
  const std::vector<LogLine> expected = {LogLine::record, LogLine::skipped, LogLine::malformed_shape, LogLine::record,
                                         LogLine::malformed_time};
  EXPECT_EQ(at_once(lines).lines, expected);
  EXPECT_EQ(one_by_one(lines).lines, expected);
}

TEST(LogFormatNames, are_read_back) {
  for (const LogFormat format : {LogFormat::automatic, LogFormat::combined, LogFormat::squid, LogFormat::w3c,
                                 LogFormat::json, LogFormat::keys}) {
    EXPECT_EQ(parse_log_format(name(format)).value(), format);
  }
  EXPECT_EQ(parse_log_format("common").value(), LogFormat::combined);
  EXPECT_EQ(parse_log_format("auto").value(), LogFormat::automatic);
  EXPECT_EQ(parse_log_format("apache").error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace mankai
