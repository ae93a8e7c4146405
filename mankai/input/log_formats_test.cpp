// Each format's rules and the oddities of real logs, one line at a time.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mankai/input/log_parser.hpp"
#include "mankai/input/time_text.hpp"

namespace mankai {
namespace {

/// What a line is expected to say; "none" for what it does not.
struct Said {
  std::string time = "none";
  std::string client;
  std::string host;
  std::string method;
  std::string target;
  std::string referrer;
  std::string agent;
  std::string status = "none";
  std::string bytes = "none";

  friend bool operator==(const Said&, const Said&) = default;
  friend void PrintTo(const Said& said, std::ostream* out) {
    *out << said.time << '|' << said.client << '|' << said.host << '|' << said.method << '|' << said.target << '|'
         << said.referrer << '|' << said.agent << '|' << said.status << '|' << said.bytes;
  }
};

template <class Number>
std::string text_of(const std::optional<Number>& number) {
  return number ? std::to_string(*number) : "none";
}

Said said_by(const LogRecord& record) {
  return {.time = record.time ? format_time(*record.time) : "none",
          .client = std::string(record.client),
          .host = std::string(record.host),
          .method = std::string(record.method),
          .target = std::string(record.target),
          .referrer = std::string(record.referrer),
          .agent = std::string(record.agent),
          .status = text_of(record.status),
          .bytes = text_of(record.bytes)};
}

LogParser parser_of(LogFormat format) { return LogParser::create({.format = format, .names = {}}).value(); }

Said read(LogParser& parser, std::string_view line) {
  LogRecord record;
  EXPECT_EQ(parser.parse(line, record), LogLine::record) << line;
  return said_by(record);
}

Said read(LogFormat format, std::string_view line) {
  LogParser parser = parser_of(format);
  return read(parser, line);
}

LogLine kind(LogFormat format, std::string_view line) {
  LogParser parser = parser_of(format);
  LogRecord record;
  return parser.parse(line, record);
}

constexpr std::string_view kStamp = "[10/Oct/2000:13:55:36 -0700] ";

std::string combined(const std::string& rest) { return "192.0.2.1 - - " + std::string(kStamp) + rest; }

TEST(CombinedLog, common_and_combined) {
  const Said common = {.time = "2000-10-10T20:55:36Z",
                       .client = "192.0.2.1",
                       .host = "",
                       .method = "GET",
                       .target = "/a?b=c",
                       .referrer = "",
                       .agent = "",
                       .status = "200",
                       .bytes = "17"};
  EXPECT_EQ(read(LogFormat::combined, combined(R"("GET /a?b=c HTTP/1.1" 200 17)")), common);
  Said full = common;
  full.referrer = "http://r.example/";
  full.agent = "Agent (x; y) \"z\"";
  EXPECT_EQ(read(LogFormat::combined,
                 combined(R"("GET /a?b=c HTTP/1.1" 200 17 "http://r.example/" "Agent (x; y) "z"" "extra" 0.001)"))
                .referrer,
            full.referrer);
  EXPECT_EQ(read(LogFormat::combined, combined(R"("GET /a?b=c HTTP/1.1" 200 17 "-" "-")")), common);
  EXPECT_EQ(read(LogFormat::combined, combined(R"("GET /a?b=c HTTP/1.1" 200 17 "-" "-" "10.1.1.1" rt=0.1)")), common);
}

TEST(CombinedLog, who_asked_and_who_was_asked) {
  const auto who = [](const std::string& prefix) {
    const Said said = read(LogFormat::combined, prefix + " " + std::string(kStamp) + R"("GET / HTTP/1.1" 200 1)");
    return said.host + "|" + said.client;
  };
  EXPECT_EQ(who("192.0.2.1 - frank"), "|192.0.2.1");
  EXPECT_EQ(who("192.0.2.1 ident John Smith"), "|192.0.2.1");
  EXPECT_EQ(who("192.0.2.1 - [x] y"), "|192.0.2.1");
  EXPECT_EQ(who("2001:db8::1 - -"), "|2001:db8::1");
  EXPECT_EQ(who("::ffff:192.0.2.1 - -"), "|::ffff:192.0.2.1");
  EXPECT_EQ(who("host.example - -"), "|host.example");
  EXPECT_EQ(who("www.example.org:443 192.0.2.1 - -"), "www.example.org|192.0.2.1");
  EXPECT_EQ(who("www.example.org 2001:db8::1 - frank"), "www.example.org|2001:db8::1");
  EXPECT_EQ(who("[2001:db8::2]:80 192.0.2.1 - John Smith"), "[2001:db8::2]|192.0.2.1");
}

TEST(CombinedLog, requests) {
  const auto request = [](const std::string& text) {
    const Said said = read(LogFormat::combined, combined("\"" + text + "\" 400 0 \"-\" \"agent\""));
    EXPECT_EQ(said.time, "2000-10-10T20:55:36Z") << text;
    EXPECT_EQ(said.status, "400") << text;
    EXPECT_EQ(said.agent, "agent") << text;
    return said.method + "|" + said.target + "|" + said.host;
  };
  EXPECT_EQ(request("GET /x HTTP/1.0"), "GET|/x|");
  EXPECT_EQ(request("PROPFIND /x HTTP/2"), "PROPFIND|/x|");
  EXPECT_EQ(request("VERSION-CONTROL /x HTTP/1.1"), "VERSION-CONTROL|/x|");
  EXPECT_EQ(request("GET /a b c HTTP/1.1"), "GET|/a b c|");
  EXPECT_EQ(request("GET /HTTP/1.1 HTTP/1.1"), "GET|/HTTP/1.1|");
  EXPECT_EQ(request("GET /simple"), "GET|/simple|");
  EXPECT_EQ(request("GET /simple "), "GET|/simple|");
  EXPECT_EQ(request("OPTIONS * HTTP/1.0"), "OPTIONS|*|");
  EXPECT_EQ(request("GET http://u@www.example.org:8080/p?q HTTP/1.1"),
            "GET|http://u@www.example.org:8080/p?q|www.example.org");
  EXPECT_EQ(request("CONNECT www.example.org:443 HTTP/1.1"), "CONNECT|www.example.org:443|www.example.org");
  EXPECT_EQ(request(R"(GET /\"quoted\" HTTP/1.1)"), R"(GET|/\"quoted\"|)");
  EXPECT_EQ(request(R"(GET /a"b"c HTTP/1.1)"), R"(GET|/a"b"c|)");
  EXPECT_EQ(request(R"(GET /ends\\ HTTP/1.1)"), R"(GET|/ends\\|)");
  EXPECT_EQ(request(R"(GET /\x22\xC3 HTTP/1.1)"), R"(GET|/\x22\xC3|)");
  EXPECT_EQ(request("GET /\xff\xfe HTTP/1.1"), "GET|/\xff\xfe|");
}

TEST(CombinedLog, what_is_no_request_leaves_the_target_empty_and_the_rest_good) {
  for (const std::string request :
       {"-", "", " ", "GET", "GET ", "GET  HTTP/1.1", R"(\x16\x03\x01\x02)", "get /x HTTP/1.1", "POST /simple",
        "GET /a b", "quit", "SSH-2.0-Go", R"(\\)", "GET /x HTTQ/1.1 y"}) {
    const Said said = read(LogFormat::combined, combined("\"" + request + "\" 400 226 \"-\" \"agent\""));
    EXPECT_EQ(said.target + said.method, "") << request;
    EXPECT_EQ(said.time, "2000-10-10T20:55:36Z");
    EXPECT_EQ(said.client + said.status + said.bytes + said.agent, "192.0.2.1400226agent") << request;
  }
}

TEST(CombinedLog, times) {
  const auto line = [](const std::string& time) { return "192.0.2.1 - - [" + time + "] \"GET / HTTP/1.1\" 200 1"; };
  EXPECT_EQ(read(LogFormat::combined, line("29/Feb/2016:23:59:60 +0530")).time, "2016-02-29T18:30:00Z");
  EXPECT_EQ(read(LogFormat::combined, line("10/Oct/2000:13:55:36.789 -0700")).time, "2000-10-10T20:55:36.789Z");
  for (const char* const time :
       {"31/Feb/2016:00:00:00 +0000", "10/Oct/2000:25:00:00 +0000", "10/Oct/2000:13:60:00 +0000",
        "00/Oct/2000:13:00:00 +0000", "10/Okt/2000:13:00:00 +0000", "10/Oct/2000:13:00:00"}) {
    EXPECT_EQ(kind(LogFormat::combined, line(time)), LogLine::malformed_time) << time;
  }
}

TEST(CombinedLog, numbers) {
  EXPECT_EQ(read(LogFormat::combined, combined(R"("GET / HTTP/1.1" - -)")).status, "none");
  EXPECT_EQ(read(LogFormat::combined, combined(R"("GET / HTTP/1.1" 000 0)")).status, "none");
  EXPECT_EQ(read(LogFormat::combined, combined(R"("GET / HTTP/1.1" 200 999999999999999999)")).bytes,
            "999999999999999999");
  for (const char* const numbers : {"2x0 1", "x 1", "2000 1", "200 1x", "200 9999999999999999999", "200 -1", "--0 1"}) {
    EXPECT_EQ(kind(LogFormat::combined, combined("\"GET / HTTP/1.1\" " + std::string(numbers))),
              LogLine::malformed_number)
        << numbers;
  }
}

TEST(CombinedLog, what_is_cut_off_before_the_size_is_malformed_and_after_it_a_record) {
  const std::string line = combined(R"("GET / HTTP/1.1" 200 17 "http://r.example/" "some agent")");
  const std::size_t needed = line.find("17") + 1;
  for (std::size_t length = 1; length <= line.size(); ++length) {
    const LogLine outcome = kind(LogFormat::combined, line.substr(0, length));
    EXPECT_EQ(outcome == LogLine::record, length >= needed) << line.substr(0, length);
  }
  EXPECT_EQ(read(LogFormat::combined, line.substr(0, line.size() - 4)).agent, "some ag");
}

TEST(CombinedLog, other_lines) {
  EXPECT_EQ(kind(LogFormat::combined, ""), LogLine::skipped);
  EXPECT_EQ(kind(LogFormat::combined, "# a comment"), LogLine::skipped);
  for (const char* const line :
       {"-", "[", "192.0.2.1 [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.1\" 200 1",
        "[10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.1\" 200 1", "not a log at all", "\0\0\0"}) {
    EXPECT_NE(kind(LogFormat::combined, line), LogLine::record) << line;
  }
}

TEST(SquidLog, native_format) {
  const Said said = {.time = "2003-10-13T02:37:30.603Z",
                     .client = "10.0.0.7",
                     .host = "www.example.com",
                     .method = "GET",
                     .target = "http://www.example.com:8080/a?b",
                     .referrer = "",
                     .agent = "",
                     .status = "200",
                     .bytes = "1234"};
  EXPECT_EQ(read(LogFormat::squid,
                 "1066012650.603    310 10.0.0.7 TCP_MISS/200 1234 GET http://www.example.com:8080/a?b - "
                 "DIRECT/192.0.2.1 text/html"),
            said);
  const Said tunnel =
      read(LogFormat::squid, "1066012650.603 -1 ::1 TCP_TUNNEL/200 39 CONNECT a.example:443 u HIER/- -");
  EXPECT_EQ(tunnel.host + tunnel.target + tunnel.method, "a.examplea.example:443CONNECT");
}

TEST(SquidLog, oddities) {
  const Said aborted =
      read(LogFormat::squid, "1066012650.603 0 10.0.0.7 NONE/000 0 NONE error:invalid-request - NONE/- -");
  EXPECT_EQ(aborted.target + aborted.method + aborted.status, "none");
  for (const char* const line :
       {"1066012650 310 10.0.0.7 TCP_MISS/200 1234 GET http://a/ - - -",
        "1066012650.603 310 10.0.0.7 TCP_MISS/200 1234 GET", "1066012650.603 310 10.0.0.7 TCP_MISS 1234 GET http://a/",
        "x 310 10.0.0.7 TCP_MISS/200 1234 GET http://a/ - - -",
        "1066012650.603 x 10.0.0.7 TCP_MISS/200 1234 GET http://a/ - - -", "1066012650.603"}) {
    EXPECT_EQ(kind(LogFormat::squid, line), LogLine::malformed_shape) << line;
  }
  EXPECT_EQ(kind(LogFormat::squid, "1066012650.603 310 10.0.0.7 TCP_MISS/2x0 1234 GET http://a/"),
            LogLine::malformed_number);
  EXPECT_EQ(kind(LogFormat::squid, "9999999999999999999.603 310 10.0.0.7 TCP_MISS/200 1234 GET http://a/"),
            LogLine::malformed_time);
  EXPECT_EQ(kind(LogFormat::squid, ""), LogLine::skipped);
}

TEST(W3cLog, internet_information_services) {
  LogParser parser = parser_of(LogFormat::w3c);
  LogRecord record;
  EXPECT_EQ(parser.parse("2016-03-28 12:00:00 192.0.2.1 GET /a - 200", record), LogLine::malformed_shape)
      << "before any #Fields";
  for (const char* const directive :
       {"#Software: Microsoft Internet Information Services 10.0", "#Version: 1.0", "#Date: 2016-03-28 00:00:07",
        "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) "
        "sc-status sc-substatus sc-win32-status time-taken"}) {
    EXPECT_EQ(parser.parse(directive, record), LogLine::skipped);
  }
  const Said said = {.time = "2016-03-28T12:00:01Z",
                     .client = "192.0.2.1",
                     .host = "",
                     .method = "GET",
                     .target = "/default.aspx?id=3",
                     .referrer = "http://r.example/",
                     .agent = "Mozilla/5.0+(X)",
                     .status = "200",
                     .bytes = "none"};
  EXPECT_EQ(read(parser,
                 "2016-03-28 12:00:01 10.0.0.1 GET /default.aspx id=3 80 - 192.0.2.1 Mozilla/5.0+(X) http://r.example/ "
                 "200 0 0 15"),
            said);
  EXPECT_EQ(read(parser, "2016-03-28 12:00:01 10.0.0.1 GET /a - 80 - ::1 - - 200 0 0 15").target, "/a");
  EXPECT_EQ(parser.parse("2016-03-28 12:00:01 10.0.0.1 GET /a - 80 - ::1 - - 200 0 0", record),
            LogLine::malformed_shape);
  EXPECT_EQ(parser.parse("2016-02-30 12:00:01 10.0.0.1 GET /a - 80 - ::1 - - 200 0 0 1", record),
            LogLine::malformed_time);
  EXPECT_EQ(parser.parse("2016-03-28 12:61:01 10.0.0.1 GET /a - 80 - ::1 - - 200 0 0 1", record),
            LogLine::malformed_time);
  EXPECT_EQ(parser.parse("2016-03-28 12:00:01 10.0.0.1 GET /a - 80 - ::1 - - OK 0 0 1", record),
            LogLine::malformed_number);
}

TEST(W3cLog, fields_change_within_a_file_and_dates_may_be_in_directives_only) {
  LogParser parser = parser_of(LogFormat::w3c);
  LogRecord record;
  static_cast<void>(parser.parse("#Date: 2016-03-28 23:59:00", record));
  static_cast<void>(parser.parse("#Fields: time cs-uri-stem", record));
  EXPECT_EQ(read(parser, "23:59:59 /a").time, "2016-03-28T23:59:59Z");
  static_cast<void>(parser.parse("#Date: 2016-03-29 00:00:00", record));
  static_cast<void>(parser.parse("#Fields: cs-uri\tsc-status\tcs-host", record));
  const Said second = read(parser, "/b?c\t404\twww.example.org:80");
  EXPECT_EQ(second.time + second.target + second.status + second.host, "2016-03-29T00:00:00Z/b?c404www.example.org");
  static_cast<void>(parser.parse("#Fields: date cs-uri-stem", record));
  EXPECT_EQ(read(parser, "2016-04-01 /c").time, "2016-04-01T00:00:00Z");
  parser = parser_of(LogFormat::w3c);
  EXPECT_EQ(parser.parse("2016-04-01 /c", record), LogLine::malformed_shape);
}

TEST(W3cLog, tabs_quotes_and_empty_columns) {
  LogParser parser = parser_of(LogFormat::w3c);
  LogRecord record;
  static_cast<void>(parser.parse("#Fields: date time cs(User-Agent) cs-uri-stem cs(Referer)", record));
  const Said quoted = read(parser, R"(2016-03-28  12:00:00 "an ""agent"" x" /a "-")");
  EXPECT_EQ(quoted.agent + quoted.target + quoted.referrer, R"(an ""agent"" x/a)");
  const Said tabs = read(parser, "2016-03-28\t12:00:00\tan agent\t/a b\t");
  EXPECT_EQ(tabs.agent + tabs.target + tabs.referrer, "an agent/a b");
  EXPECT_EQ(parser.parse("2016-03-28\t12:00:00\tan agent\t/a b", record), LogLine::malformed_shape);
  EXPECT_EQ(read(parser, "2016-03-28 12:00:00 \"open /a -").target, "/a");
}

TEST(JsonLog, members_of_many_servers) {
  const std::vector<std::string> lines = {
      // nginx, with escape=json. NOLINTNEXTLINE(bugprone-suspicious-missing-comma): a line of two literals
      R"({"time_iso8601":"2016-03-28T14:00:00+02:00","remote_addr":"192.0.2.1","host":"a.example","request_method":"GET",)"
      R"("request_uri":"/x?y","http_referer":"http://r/","http_user_agent":"ua","status":"200","body_bytes_sent":"17"})",
      R"({"msec":"1459166400.000","remote_addr":"192.0.2.1","host":"a.example","request":"GET /x?y HTTP/1.1",)"
      R"("http_referer":"http://r/","http_user_agent":"ua","status":200,"bytes_sent":17})",
      // Caddy
      R"({"level":"info","ts":1459166400.0,"request":{"remote_ip":"192.0.2.1","client_ip":"192.0.2.1","method":"GET",)"
      R"("host":"a.example","uri":"/x?y","headers":{"User-Agent":["ua","ub"],"Referer":["http://r/"]}},"size":17,)"
      R"("status":200})",
      // Traefik
      R"({"ClientHost":"192.0.2.1","RequestHost":"a.example","RequestMethod":"GET","RequestPath":"/x?y",)"
      R"("DownstreamStatus":200,"DownstreamContentSize":17,"request_Referer":"http://r/","request_User-Agent":"ua",)"
      R"("StartUTC":"2016-03-28T11:59:59Z","time":"2016-03-28T12:00:00Z"})",
      // Elastic Common Schema, flat and nested
      R"({"@timestamp":"2016-03-28T12:00:00.000Z","source.ip":"192.0.2.1","url":{"original":"/x?y","domain":"a.example"},)"
      R"("http":{"request":{"method":"GET","referrer":"http://r/"},"response":{"status_code":200,"body":{"bytes":17}}},)"
      R"("user_agent":{"original":"ua"}})"};
  const Said expected = {.time = "2016-03-28T12:00:00Z",
                         .client = "192.0.2.1",
                         .host = "a.example",
                         .method = "GET",
                         .target = "/x?y",
                         .referrer = "http://r/",
                         .agent = "ua",
                         .status = "200",
                         .bytes = "17"};
  for (const std::string& line : lines) {
    EXPECT_EQ(read(LogFormat::json, line), expected) << line;
  }
  // Google Cloud logs whole URLs.
  const Said cloud =
      read(LogFormat::json, R"({"timestamp":"2016-03-28T12:00:00.123456789Z","httpRequest":{"requestMethod":"GET",)"
                            R"("requestUrl":"https://a.example/x?y","status":200,"responseSize":"17","userAgent":"ua",)"
                            R"("remoteIp":"192.0.2.1"}})");
  EXPECT_EQ(cloud.time + cloud.target + cloud.host + cloud.bytes,
            "2016-03-28T12:00:00.123456Zhttps://a.example/x?ya.example17");
}

TEST(JsonLog, members_named_by_option) {
  LogParser parser = LogParser::create({.format = LogFormat::json,
                                        .names = {.time = "when.at",
                                                  .client = {},
                                                  .host = {},
                                                  .method = {},
                                                  .target = "uri.0",
                                                  .referrer = {},
                                                  .agent = {},
                                                  .status = {},
                                                  .bytes = {}}})
                         .value();
  const Said said =
      read(parser, R"({"when":{"at":1459166400123},"time":"2000-01-01","uri":{"0":"/t"},"path":"/other"})");
  EXPECT_EQ(said.time + said.target, "2016-03-28T12:00:00.123Z/t");
  LogFieldNames twice;
  twice.time = twice.target = "x";
  EXPECT_EQ(LogParser::create({.format = LogFormat::json, .names = twice}).error().code, ErrorCode::invalid_argument);
}

TEST(JsonLog, texts_are_unescaped_and_views_live_through_a_batch) {
  const std::vector<std::string_view> lines = {R"({"uri":"\/caf\u00e9\t\"x\"","status":null})", R"({"uri":"/second"})"};
  LogParser parser = parser_of(LogFormat::json);
  std::vector<LogRecord> records(2);
  std::vector<LogLine> outcomes(2);
  parser.parse(lines, records, outcomes);
  EXPECT_EQ(records[0].target, "/caf\xc3\xa9\t\"x\"");
  EXPECT_EQ(records[1].target, "/second");
}

TEST(JsonLog, what_is_malformed) {
  const std::string deep = R"({"a":)";
  std::string deepest;
  for (int i = 0; i < 100'000; ++i) {
    deepest += "[";
  }
  std::string nested;
  for (int i = 0; i < 40; ++i) {
    nested += deep;
  }
  for (const std::string& line :
       {std::string("{"), std::string("[1]"), std::string("3"), std::string("\"x\""), std::string("{} x"),
        std::string(R"({"uri":"/x")"), std::string("{\"uri\":\"\xff\"}"), std::string("null"), deepest,
        R"({"a":)" + deepest, nested + "1" + std::string(40, '}'), std::string(R"({'uri':'/x'})")}) {
    EXPECT_EQ(kind(LogFormat::json, line), LogLine::malformed_shape) << line.substr(0, 100);
  }
  EXPECT_EQ(kind(LogFormat::json, R"({"time":"2016-02-31"})"), LogLine::malformed_time);
  EXPECT_EQ(kind(LogFormat::json, R"({"time":-5})"), LogLine::malformed_time);
  EXPECT_EQ(kind(LogFormat::json, R"({"time":"soon"})"), LogLine::malformed_time);
  EXPECT_EQ(kind(LogFormat::json, R"({"time":1e300})"), LogLine::malformed_time);
  EXPECT_EQ(kind(LogFormat::json, R"({"status":20.5})"), LogLine::malformed_number);
  EXPECT_EQ(read(LogFormat::json, R"({"time":1.4591664e9})").time, "2016-03-28T12:00:00Z");
  EXPECT_EQ(read(LogFormat::json, "{}"), Said());
}

TEST(KeysLog, a_key_a_line) {
  const auto key = [](const std::string& line) {
    const Said said = read(LogFormat::keys, line);
    return said.time + "|" + said.target;
  };
  EXPECT_EQ(key("/a"), "none|/a");
  EXPECT_EQ(key("two words"), "none|two words");
  EXPECT_EQ(key("#tag"), "none|#tag");
  EXPECT_EQ(key("404 not found"), "none|404 not found");
  EXPECT_EQ(key("1459166400 /a b"), "2016-03-28T12:00:00Z|/a b");
  EXPECT_EQ(key("804571201\t/a"), "1995-07-01T04:00:01Z|/a");
  EXPECT_EQ(key("1459166400.5 /a"), "2016-03-28T12:00:00.500Z|/a");
  EXPECT_EQ(key("1459166400123 /a"), "2016-03-28T12:00:00.123Z|/a");
  EXPECT_EQ(key("1459166400123456 /a"), "2016-03-28T12:00:00.123456Z|/a");
  EXPECT_EQ(key("14591664001 /a"), "none|14591664001 /a");  // 11 digits: of no unit
  EXPECT_EQ(key("1459166400"), "none|1459166400");
  EXPECT_EQ(key("1459166400/a"), "none|1459166400/a");
  EXPECT_EQ(key("12345678901234567890 /a"), "none|12345678901234567890 /a");
  EXPECT_EQ(key("2016-03-28T12:00:00Z /a"), "2016-03-28T12:00:00Z|/a");
  EXPECT_EQ(key("2016-03-28 12:00:00 /a"), "2016-03-28T12:00:00Z|/a");
  EXPECT_EQ(key("2016-03-28T14:00:00+02:00\t /a"), "2016-03-28T12:00:00Z| /a");
  EXPECT_EQ(key("2016-03-28 /a"), "2016-03-28T00:00:00Z|/a");
  EXPECT_EQ(key("2016-03-28.html"), "none|2016-03-28.html");
  EXPECT_EQ(key("2016-99-28.html"), "none|2016-99-28.html");
  EXPECT_EQ(kind(LogFormat::keys, "2016-02-31T12:00:00Z /a"), LogLine::malformed_time);
  EXPECT_EQ(kind(LogFormat::keys, "2016-02-30 /a"), LogLine::malformed_time);
  EXPECT_EQ(kind(LogFormat::keys, "1459166400 "), LogLine::malformed_shape);
  EXPECT_EQ(kind(LogFormat::keys, ""), LogLine::skipped);
}

}  // namespace
}  // namespace mankai
