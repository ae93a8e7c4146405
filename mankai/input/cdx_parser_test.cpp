#include "mankai/input/cdx_parser.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mankai/input/time_text.hpp"

namespace mankai {
namespace {

CdxCapture parse(CdxParser& parser, std::string_view line) {
  CdxCapture capture;
  parser.parse({&line, 1}, {&capture, 1});
  return capture;
}

void expect_capture(CdxParser& parser, std::string_view line, std::string_view url, std::string_view time) {
  const CdxCapture capture = parse(parser, line);
  EXPECT_EQ(capture.what, CdxLine::capture) << line;
  EXPECT_EQ(capture.url, url);
  EXPECT_EQ(capture.time.has_value() ? format_time(*capture.time) : "", time);
}

TEST(CdxParser, columns_are_those_of_the_legend) {
  CdxParser parser;
  EXPECT_EQ(parse(parser, " CDX N b a m s k r M S V g").what, CdxLine::heading);
  expect_capture(parser, "com,example)/ 20160919180353 http://example.com:80/ text/html 200 ABC - - 1043 333 a.warc.gz",
                 "http://example.com:80/", "2016-09-19T18:03:53Z");
  EXPECT_EQ(parse(parser, "\tCDX\ta\tN\tb").what, CdxLine::heading);
  expect_capture(parser, "http://b.example/x\tkey\t20200229000000", "http://b.example/x", "2020-02-29T00:00:00Z");
  EXPECT_EQ(parse(parser, " CDX N g").what, CdxLine::heading);
  EXPECT_EQ(parse(parser, "com,example)/ a.warc.gz").what, CdxLine::malformed);
  parser = CdxParser();
  expect_capture(parser, "com,example)/ 20210229000000 http://example.com/ text/html", "http://example.com/", "");
  expect_capture(parser, "com,example)/ 20160919180353123 http://example.com/", "http://example.com/",
                 "2016-09-19T18:03:53Z");
}

TEST(CdxParser, objects_have_the_url_as_a_member) {
  CdxParser parser;
  EXPECT_EQ(parse(parser, "!OpenWayback-CDXJ 1.0").what, CdxLine::heading);
  EXPECT_EQ(parse(parser, "!meta {\"url\": \"http://no.example/\"}").what, CdxLine::heading);
  expect_capture(
      parser,
      R"(com,example)/ 20160919180353 {"x": {"url": "no"}, "y": ["no", {"url": 1}], "url": "http:\/\/e\u00e9.example/"})",
      "http://eé.example/", "2016-09-19T18:03:53Z");
  for (const std::string_view wrong : {R"(k 20160919180353 {"url": 5})", R"(k 20160919180353 {"url": ""})",
                                       R"(k 20160919180353 {)", R"(k 20160919180353 {"uri": "http://a.example/"})",
                                       R"(k 20160919180353 {"url": "a"} more)", "", "k", "k - -"}) {
    const CdxCapture capture = parse(parser, wrong);
    EXPECT_EQ(capture.what, CdxLine::malformed) << wrong;
    EXPECT_TRUE(capture.url.empty());
  }
}

TEST(CdxParser, a_batch_keeps_the_texts_of_all_its_lines) {
  std::vector<std::string> lines;
  for (int i = 0; i < 5000; ++i) {
    lines.push_back("k 20160919180353 {\"url\": \"http://example/" + std::to_string(i) + "\"}");
  }
  const std::vector<std::string_view> views(lines.begin(), lines.end());
  std::vector<CdxCapture> captures(views.size());
  CdxParser parser;
  for (int round = 0; round < 2; ++round) {
    parser.parse(views, captures);
    for (std::size_t i = 0; i < captures.size(); ++i) {
      ASSERT_EQ(captures[i].url, "http://example/" + std::to_string(i));
    }
  }
}

TEST(CdxParser, a_file_is_told_by_its_first_line) {
  EXPECT_TRUE(looks_like_cdx(" CDX N b a"));
  EXPECT_TRUE(looks_like_cdx("!OpenWayback-CDXJ 1.0"));
  EXPECT_TRUE(looks_like_cdx("com,example)/ 20160919180353 {\"url\": \"http://example.com/\"}"));
  for (const std::string_view line : {
           "com,example)/ 20160919180353 http://example.com/ text/html 200 ABC - - 1234 5678 a.warc.gz",
           "com,example)/ 20160919180353 http://example.com/ unk - ABC - - - 5678 a.warc.gz",
           "com,example)/ 20160919180353 http://example.com/ text/html 200 ABC - - 5678 a.arc.gz",
           "com,example)/ 20160919180353 http://example.com/ text/html 200 ABC - 5678 a.arc.gz",
           "com,example)/ 20160919180353 http://example.com/ text/html 200 ABC 1234",
           "dns:example.com 20160919180353 dns:example.com text/dns - ABC - - 12 34 a.warc.gz",
       }) {
    EXPECT_TRUE(looks_like_cdx(line)) << line;
  }
  for (const std::string_view line : {
           "",
           " ",
           "a",
           "CDX",
           " CDX",
           "CDX N b a",
           "http://a.example/ 20160919180353 x",
           "a b {",
           "1CDX1",
           "a 20160919180353 http://a/ b 200 c",
           "a 20160919180353 http://a/ b 200 c - 1",
           "a 2016091918035 http://a/ b 200 c 1",
           "a 20160919180353 path b 200 c 1",
           "a 20160919180353 http://a/ b GET c 1",
           "a 20160919180353 http://a/ b 2000 c 1",
           "a 20160919180353 http://a/ b 200 c agent",
           "a 20160919180353 http://a/ b 200 c - - 1 2 f g",
           "a 20160919180353 http://a/ b 200 c - - 1 f g",
       }) {
    EXPECT_FALSE(looks_like_cdx(line)) << line;
  }
}

}  // namespace
}  // namespace mankai
