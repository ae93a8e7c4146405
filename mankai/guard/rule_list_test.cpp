#include "mankai/guard/rule_list.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/guard/detail/csv.hpp"
#include "mankai/guard/rule.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {
namespace {

using Lines = std::vector<std::string_view>;

// A list, read.
struct Read {
  std::vector<std::string> blocks;
  std::vector<std::string> allows;
  std::vector<std::uint64_t> skipped_lines;
  RuleListCounts counts;
  RuleListFormat format{};

  [[nodiscard]] std::uint64_t skipped(RuleSkip reason) const { return counts.skipped_for(reason); }
};

Read read_list(const Lines& lines, const RuleListOptions& options = {}) {
  auto reader = RuleListReader::create(options, lines).value();
  Read all;
  const auto take = [&] {
    while (const auto read = reader.next()) {
      for (const std::string_view rule : read->rules) {
        (read->is_exception ? all.allows : all.blocks).emplace_back(rule);
      }
      if (read->skipped) {
        all.skipped_lines.push_back(read->line);
      }
    }
  };
  for (const std::string_view line : lines) {
    reader.add(line);
    take();
  }
  reader.finish();
  take();
  all.counts = reader.counts();
  all.format = reader.format();
  EXPECT_EQ(all.counts.lines, lines.size());
  EXPECT_EQ(all.counts.rules, all.blocks.size());
  EXPECT_EQ(all.counts.exceptions, all.allows.size());
  return all;
}

// What one line of a format gives: its rules with blanks between them, "@@" before those of exceptions, or the reason.
std::string one(RuleListFormat format, std::string_view line) {
  auto reader = RuleListReader::create({.format = format}, {}).value();
  reader.add(line);
  const RuleLine read = reader.next().value();
  std::string said;
  for (const std::string_view rule : read.rules) {
    said.append(said.empty() ? "" : " ").append(read.is_exception ? "@@" : "").append(rule);
  }
  if (read.skipped) {
    said.append(said.empty() ? "" : " ").append("<").append(describe(*read.skipped)).append(">");
  }
  said.append(reader.counts().widened != 0 ? " wider" : "").append(reader.counts().narrowed != 0 ? " narrower" : "");
  return said;
}

std::string skipped(RuleSkip reason) { return "<" + std::string(describe(reason)) + ">"; }

struct Case {
  std::string_view line;
  std::string expected;
};

void expect_all(RuleListFormat format, const std::vector<Case>& cases) {
  for (const Case& each : cases) {
    EXPECT_EQ(one(format, each.line), each.expected) << each.line;
  }
}

TEST(RuleList, lines_of_hosts_files) {
  for (const RuleListFormat format : {RuleListFormat::lines, RuleListFormat::adblock}) {
    expect_all(format,
               {
                   {"0.0.0.0 ads.example", "ads.example"},
                   {"127.0.0.1\tads.example www.ads.example  # both", "ads.example www.ads.example"},
                   {":: ads.example", "ads.example"},
                   {"::1 ads.example#comment", "ads.example"},
                   {"  0 ads.example\r", "ads.example"},
                   {"# 0.0.0.0 ads.example", ""},
                   {"", ""},
                   {"   ", ""},
                   {"127.0.0.1 localhost", skipped(RuleSkip::local_name)},
                   {"127.0.0.1 LOCALHOST.localdomain ads.example", "ads.example " + skipped(RuleSkip::local_name)},
                   {"0.0.0.0 0.0.0.0", skipped(RuleSkip::local_name)},
                   {"255.255.255.255 broadcasthost", skipped(RuleSkip::local_name)},
                   {"fe80::1%lo0 localhost", skipped(RuleSkip::local_name)},
                   {"10.0.0.7 intranet.example", skipped(RuleSkip::other_address)},
                   {"2001:db8::7 intranet.example", skipped(RuleSkip::other_address)},
                   {"0.0.0.0", skipped(RuleSkip::local_name)},
                   {"127.0.0.1 # alone", skipped(RuleSkip::local_name)},
                   {"localhost", skipped(RuleSkip::local_name)},
                   {"0.0.0.0 ads.example/path", skipped(RuleSkip::not_a_host)},
                   {"0.0.0.0 _dmarc.ads-1.example", "_dmarc.ads-1.example"},
                   {"0.0.0.0 b\xc3\xbc"
                    "cher.example",
                    "b\xc3\xbc"
                    "cher.example"},
               });
  }
}

TEST(RuleList, lines_of_domains_and_filters) {
  expect_all(RuleListFormat::lines, {
                                        {"ads.example", "ads.example"},
                                        {"  Ads.Example.  ", "Ads.Example."},
                                        {"ads.example # why", "ads.example"},
                                        {".ads.example", "ads.example"},
                                        {"*.ads.example", "ads.example wider"},
                                        {"com", "com"},
                                        {"192.0.2.7", "192.0.2.7"},
                                        {"192.0.2.7/x", "192.0.2.7/x"},
                                        {"2001:db8::7", "2001:db8::7"},
                                        {"[2001:db8::7]", "[2001:db8::7]"},
                                        {"192.0.2.0/24", skipped(RuleSkip::network)},
                                        {"192.0.2.1-192.0.2.9", skipped(RuleSkip::network)},
                                        {"2001:db8::/32", skipped(RuleSkip::network)},
                                        {"2001:db8::7%eth0", skipped(RuleSkip::not_a_host)},
                                        {"! comment", ""},
                                        {"! a.example##.ad", ""},
                                        {"; comment", ""},
                                        {"## heading ##", ""},
                                        {"##.ad", ""},
                                        {"[heading]", ""},
                                        {"ads.*", skipped(RuleSkip::wildcard)},
                                        {"*.*.example", skipped(RuleSkip::wildcard)},
                                        {"*", skipped(RuleSkip::wildcard)},
                                        {".", skipped(RuleSkip::no_host)},
                                        {"ads.example other.example", skipped(RuleSkip::not_a_host)},
                                        {"ads.example/path$image", "ads.example/path$image"},
                                        {"http://ads.example/x#y##z", skipped(RuleSkip::fragment)},
                                        {"\"ads.example\",", skipped(RuleSkip::not_a_host)},
                                        {std::string_view("a\0b", 3), skipped(RuleSkip::not_a_host)},
                                        {"||ads.example/x^$all", "ads.example/x narrower"},
                                        {"@@||ads.example^", "@@ads.example"},
                                        {"ads.example##.ad", skipped(RuleSkip::element_hiding)},
                                    });
}

// The list of the issue, and what urlhaus-filter's lists have.
TEST(RuleList, one_list_may_mix_lines_of_every_kind) {
  const Lines lines = {"! Title: mixed",    "0.0.0.0 a.example",  "b.example",     "192.0.2.7",
                       "192.0.2.8:60905/i", "http://c.example/x", "||d.example^",  "||e.example/x/y^$all",
                       "f.example/z # why", "*.g.example",        "h.example$all", "@@||good.a.example^"};
  const std::vector<std::string> blocks = {"a.example",          "b.example", "192.0.2.7",     "192.0.2.8:60905/i",
                                           "http://c.example/x", "d.example", "e.example/x/y", "f.example/z",
                                           "g.example",          "h.example"};
  for (const RuleListFormat format : {RuleListFormat::automatic, RuleListFormat::adblock}) {
    const Read read = read_list(lines, {.format = format});
    EXPECT_EQ(read.format, RuleListFormat::adblock);
    EXPECT_EQ(read.blocks, blocks);
    EXPECT_EQ(read.allows, std::vector<std::string>{"good.a.example"});
    EXPECT_EQ(read.counts.all_skipped(), 0U);
  }
  // Also where the first lines have no filter.
  Lines late(kRuleListFirstLines + 1, "b.example");
  late.emplace_back("||d.example^");
  EXPECT_EQ(read_list(late).blocks.back(), "d.example");
}

TEST(RuleList, urls) {
  expect_all(RuleListFormat::urls, {
                                       {"http://ads.example/x?y", "http://ads.example/x?y"},
                                       {"ads.example/x", "ads.example/x"},
                                       {"ads.example", "ads.example"},
                                       {"//ads.example/x", "//ads.example/x"},
                                       {"https://u:p@ads.example:8443/x", "https://u:p@ads.example:8443/x"},
                                       {"http://192.0.2.7:60905/i", "http://192.0.2.7:60905/i"},
                                       {"http://[2001:db8::7]:80/i", "http://[2001:db8::7]:80/i"},
                                       {"ads.example:8080", "ads.example:8080"},
                                       {"2001:db8::7", "2001:db8::7"},
                                       {"2001:db8::7/x", skipped(RuleSkip::not_a_host)},
                                       {"192.0.2.0/24", skipped(RuleSkip::network)},
                                       {"192.0.2.0/24 ; SBL1", skipped(RuleSkip::network)},
                                       {"192.0.2.0/33", "192.0.2.0/33"},
                                       {"2001:db8::/128", skipped(RuleSkip::network)},
                                       {"http://192.0.2.0/24", "http://192.0.2.0/24"},
                                       {"ads.example/*", skipped(RuleSkip::wildcard)},
                                       {"ads.example/x/*/?y", skipped(RuleSkip::wildcard)},
                                       {"ads.example/a*b", "ads.example/a*b"},
                                       {"*.ads.example/x", "ads.example/x wider"},
                                       {".ads.example/x", "ads.example/x"},
                                       {"http://ads.example/#", "http://ads.example/"},
                                       {"http://ads.example/#/login", skipped(RuleSkip::fragment)},
                                       {"http://ads.example/ # why", "http://ads.example/"},
                                       {"# http://ads.example/", ""},
                                       {"/path/alone", skipped(RuleSkip::no_host)},
                                       {"?q", skipped(RuleSkip::no_host)},
                                       {"http:///x", skipped(RuleSkip::no_host)},
                                       {"http://:80/", skipped(RuleSkip::no_host)},
                                       {"http://*.ads.example/", skipped(RuleSkip::wildcard)},
                                       {"http://ads.example/a b", skipped(RuleSkip::not_a_host)},
                                       {"ads.example malware", skipped(RuleSkip::not_a_host)},
                                       {"mailto:a@ads.example", "mailto:a@ads.example"},
                                       {"http://[::1/", skipped(RuleSkip::not_a_host)},
                                       {"http://a\\b/", skipped(RuleSkip::not_a_host)},
                                   });
}

TEST(RuleList, adblock_rules_that_a_guard_says_as_well) {
  expect_all(RuleListFormat::adblock,
             {
                 {"||ads.example^", "ads.example"},
                 {"||ads.example^*", "ads.example"},
                 {"||ads.example/", "ads.example/"},
                 {"||ads.example/*", "ads.example/"},
                 {"||ads.example^$all", "ads.example"},
                 {"||com^", "com"},
                 {"||192.0.2.7^", "192.0.2.7"},
                 {"||[2001:db8::7]^", "[2001:db8::7]"},
                 {"||ads.example/x/", "ads.example/x/ narrower"},
                 {"||ads.example/x/$match-case", "ads.example/x/"},
                 {"||ads.example/12/", "ads.example/12/"},
                 {"||ads.example/12/*", "ads.example/12/"},
                 {"||ads.example/x^", "ads.example/x narrower"},
                 {"||ads.example/x^$match-case", "ads.example/x narrower"},  // ';', '&' and others behind it
                 {"||ads.example/12?3|", "ads.example/12?3"},
                 {"||ads.example/12|", "ads.example/12 wider"},
                 {"||ads.example:8080^", "ads.example:8080 wider"},
                 {"|http://ads.example/12|", "http://ads.example/12 wider"},
                 {"|https://ads.example^", "https://ads.example wider"},
                 {"@@||ads.example^", "@@ads.example"},
                 {"@@||ads.example/x^", "@@ads.example/x narrower"},
                 {"||ads.example/12$34/", "ads.example/12$34/"},
             });
}

TEST(RuleList, adblock_lines_without_rules) {
  expect_all(RuleListFormat::adblock,
             {{"! comment", ""}, {"! a##b", ""}, {"[Adblock Plus 2.0]", ""}, {"", ""}, {"# comment", ""}, {"#", ""}});
}

TEST(RuleList, adblock_rules_that_a_guard_cannot_say) {
  const auto expect = [](RuleSkip reason, const Lines& lines) {
    for (const std::string_view line : lines) {
      EXPECT_EQ(one(RuleListFormat::adblock, line), skipped(reason)) << line;
      EXPECT_EQ(one(RuleListFormat::adblock, "@@" + std::string(line)), skipped(reason)) << line;
    }
  };
  expect(RuleSkip::element_hiding, {"##.ad", "ads.example##.ad", "a.example,b.example#@#.ad", "a.example#?#div",
                                    "a.example#$#x", "a.example#@?#div", "a.example##+js(x)"});
  expect(RuleSkip::request_options,
         {"||ads.example^$third-party", "||ads.example^$script,image", "||ads.example^$domain=a.example|b.example",
          "||ads.example^$~script", "||ads.example^$all,third-party", "||ads.example^$match-case,popup",
          "ads.example$script"});
  expect(RuleSkip::options,
         {"||ads.example^$document", "||ads.example^$important", "||ads.example^$badfilter",
          "||ads.example^$generichide", "||ads.example^$script,document", "||ads.example^$redirect=x"});
  expect(RuleSkip::regex, {"/banner[0-9]+/", "/x$/", "/ads/"});
  expect(RuleSkip::wildcard,
         {"||*.ads.example^", "||ads.*^", "||ads.example/*/x^", "|http*://ads.example^", "a*b", "*"});
  expect(RuleSkip::unanchored,
         {"-banner-", "/ads/x", "://ads.", "-160x600.", "_ads", ".com/ads/", "ads.example^x", "banner"});
  expect(RuleSkip::open_end,
         {"||ads.example", "||ads.", "||ads.example/ads", "||ads.example/x?", "||ads.example/x?y=1",
          "||ads.example/x?y=1^", "||ads.example*", "|http://ads.example", "|http://ads.example/x"});
  expect(RuleSkip::other_pattern,
         {"||ads.example|", "||ads.example^|", "||ads.example/|", "||ads.example/^", "||ads.example/x^|",
          "||ads.example/x/^", "||ads.example^x", "||ads.example^x^y|", "||a|b^", "||.ads.example^", "|ads.example^",
          "||http://ads.example^", "||ads.example?x|"});
  expect(RuleSkip::no_host, {"||^", "||/x/", "|http:///x/"});
}

// Wider is the safe side of a rule; an exception would let through what the list blocks.
TEST(RuleList, adblock_exceptions_are_never_read_wider) {
  for (const std::string_view line :
       {"||ads.example/12|", "||ads.example:8080^", "|http://ads.example/12|", "|https://ads.example^"}) {
    EXPECT_TRUE(one(RuleListFormat::adblock, line).ends_with(" wider")) << line;
    EXPECT_EQ(one(RuleListFormat::adblock, "@@" + std::string(line)), skipped(RuleSkip::too_wide)) << line;
    auto allow_list =
        RuleListReader::create({.format = RuleListFormat::adblock, .column = {}, .is_allow_list = true}, {}).value();
    allow_list.add(line);
    EXPECT_EQ(allow_list.next()->skipped, RuleSkip::too_wide) << line;
  }
}

TEST(RuleList, everything_in_a_list_of_exceptions_is_one) {
  for (const auto& [format, lines] :
       std::vector<std::pair<RuleListFormat, Lines>>{{RuleListFormat::lines, {"a.example", "*.b.example"}},
                                                     {RuleListFormat::lines, {"0.0.0.0 a.example b.example"}},
                                                     {RuleListFormat::adblock, {"||a.example^", "@@||b.example^"}}}) {
    const Read read = read_list(lines, {.format = format, .column = {}, .is_allow_list = true});
    EXPECT_EQ(read.allows, (std::vector<std::string>{"a.example", "b.example"}));
    EXPECT_TRUE(read.blocks.empty());
  }
}

// Guards know no ports: an exception for one would be for all.
TEST(RuleList, exceptions_for_a_port_are_skipped_in_every_list) {
  const Lines lines = {"http://a.example:8080/", "a.example:8443/x",          "https://b.example/x",
                       "http://c.example:80/x",  "https://u:8080@d.example/", "[2001:db8::7]"};
  const Read allowed = read_list(lines, {.format = RuleListFormat::urls, .column = {}, .is_allow_list = true});
  EXPECT_EQ(allowed.allows, (std::vector<std::string>{"https://b.example/x", "http://c.example:80/x",
                                                      "https://u:8080@d.example/", "[2001:db8::7]"}));
  EXPECT_EQ(allowed.skipped(RuleSkip::too_wide), 2U);
  EXPECT_EQ(read_list(lines, {.format = RuleListFormat::urls}).blocks.size(), lines.size());
  const Lines hidden = {"a.example%3A8080", "http://u:81\\@a.example/", "http://a.example:81\\@b.example", "b.example"};
  const Read seen = read_list(hidden, {.format = RuleListFormat::urls, .column = {}, .is_allow_list = true});
  EXPECT_EQ(seen.skipped(RuleSkip::too_wide), 3U);
  const Lines csv = {"url,why", "http://a.example:8080/,x", "http://b.example/,x"};
  EXPECT_EQ(read_list(csv, {.column = {}, .is_allow_list = true}).skipped(RuleSkip::too_wide), 1U);
}

// Goal: what a server says instead of a list is none. Words that are top levels, and numbers, which are addresses, are
// taken as ever.
TEST(RuleList, one_word_is_a_rule_where_it_is_a_top_level) {
  for (const std::string_view word :
       {"Unauthorized", "OK", "Forbidden", "error.", "http://forbidden/x", "http://Not%46ound/"}) {
    const Read read = read_list({word});
    EXPECT_TRUE(read.blocks.empty()) << word;
    EXPECT_EQ(read.skipped(RuleSkip::single_label), 1U) << word;
  }
  for (const std::string_view word : {"zip", "ZIP", ".com", "*.zip", "xn--p1ai", "\xd1\x80\xd1\x84", "3232235777",
                                      "https://zip/", "evil%2eexample/x", "[2001:db8::7]"}) {
    EXPECT_EQ(read_list({word}, {.format = RuleListFormat::urls}).counts.rules, 1U) << word;
  }
  EXPECT_EQ(one(RuleListFormat::lines, "0.0.0.0 ads.example intranet zip"),
            "ads.example zip " + skipped(RuleSkip::single_label));
  EXPECT_EQ(one(RuleListFormat::adblock, "||zip^"), "zip");
  EXPECT_EQ(one(RuleListFormat::adblock, "||banner^"), skipped(RuleSkip::single_label));
}

// A comment prevents the fast path.
TEST(RuleList, names_are_read_as_with_a_comment) {
  constexpr std::array<std::string_view, 14> kPieces = {".",    ".", ".",   "a",         "b-",          "_", "1",
                                                        "0x7f", "A", "com", "localhost", "localdomain", "-", "example"};
  Random random(5);
  for (int drawn = 0; drawn < 20'000; ++drawn) {
    std::string name;
    for (std::uint64_t piece = random.below(7); piece < 7; ++piece) {
      name += kPieces[random.below(kPieces.size())];
    }
    const Read fast = read_list({name}, {.format = RuleListFormat::lines});
    const Read slow = read_list({name + " # comment"}, {.format = RuleListFormat::lines});
    ASSERT_EQ(fast.blocks, slow.blocks) << name;
    ASSERT_EQ(fast.counts.skipped, slow.counts.skipped) << name;
    ASSERT_EQ(fast.counts.widened, slow.counts.widened) << name;
    const auto rule = GuardRule::parse(name);
    const auto again = GuardRule::parse("http://user@" + name);
    ASSERT_EQ(rule.has_value(), again.has_value()) << name;
    ASSERT_TRUE(!rule || *rule == *again) << name;
  }
}

TEST(RuleList, csv_by_name_number_and_guess) {
  const Lines lines = {"id,Date Added,URL,tags",
                       R"("1","2025-04-21","http://ads.example/x","a,b")",
                       R"(2,2025-04-21, "http://b.example/""q""" ,c)",
                       "3,2025-04-21,,d",
                       "4,2025-04-21",
                       R"(5,"2025,http://c.example/)",
                       R"(6,x,"http://d.example/"y,z)",
                       "",
                       "# comment"};
  for (const std::string column : {"", "url", "URL", "3"}) {
    const Read read = read_list(lines, {.format = RuleListFormat::csv, .column = column});
    EXPECT_EQ(read.blocks, (std::vector<std::string>{"http://ads.example/x", "http://b.example/\"q\""})) << column;
    EXPECT_EQ(read.skipped(RuleSkip::missing_column), 2U);
    EXPECT_EQ(read.skipped(RuleSkip::bad_quotes), 2U);
    EXPECT_EQ(read.counts.without_rules, 3U);
  }
  EXPECT_EQ(read_list(lines).format, RuleListFormat::csv);
}

// Goal: who writes one field of a list must not write its rules.
TEST(RuleList, csv_lines_in_quotes_are_no_rules) {
  const Read read = read_list(
      {"comment,url", "\"hello\r", "http://victim.example/,\",http://a.example/\r", "\"\"\"\",http://b.example/"});
  EXPECT_EQ(read.blocks, (std::vector<std::string>{"http://a.example/", "http://b.example/"}));
  EXPECT_EQ(read.counts.without_rules, 2U);
  // Nor do they choose the format, at the beginning of a list without a heading.
  for (const std::string_view injected : {"||victim.example^", "http://victim.example/,", "0.0.0.0 victim.example"}) {
    Lines many = {"1,\"hello"};
    many.insert(many.end(), 2 * kRuleListFirstLines, injected);
    many.insert(many.end(), {"\",http://a.example/", "2,x,http://b.example/"});
    EXPECT_EQ(read_list(many, {.column = "3"}).blocks,
              (std::vector<std::string>{"http://a.example/", "http://b.example/"}))
        << injected;
    many.front() = "http://a.example/,\"hello";
    many.back() = "http://b.example/,x";
    many[many.size() - 2] = "\"";
    EXPECT_EQ(read_list(many, {.format = RuleListFormat::csv}).blocks,
              (std::vector<std::string>{"http://a.example/", "http://b.example/"}))
        << injected;
  }
}

TEST(RuleList, csv_quotes_that_are_never_closed_do_not_take_the_rest_of_the_list) {
  Lines lines = {"url,why", "http://a.example/,\"x", "http://b.example/,x", "# comment", "http://c.example/,x"};
  const std::vector<std::string> rest = {"http://b.example/", "http://c.example/"};
  Read read = read_list(lines);
  EXPECT_EQ(read.blocks, rest);
  EXPECT_EQ(read.skipped(RuleSkip::bad_quotes), 1U);
  EXPECT_EQ(read.skipped_lines, std::vector<std::uint64_t>{2});
  // Closed by the quote of another field.
  lines.insert(lines.end(), {"http://d.example/,\"y\"", "http://e.example/,\"y\""});
  read = read_list(lines);
  EXPECT_EQ(read.blocks, (std::vector<std::string>{"http://b.example/", "http://c.example/", "http://d.example/",
                                                   "http://e.example/"}));
  EXPECT_EQ(read.skipped_lines, std::vector<std::uint64_t>{2});
}

TEST(RuleList, csv_records_are_bounded) {
  const std::string filler(kCsvRecordBytesMax / 16, 'x');
  Lines lines = {"url,why", "http://a.example/,\"x"};
  lines.insert(lines.end(), 15, filler);
  lines.insert(lines.end(), {"\"", "http://b.example/,x"});
  EXPECT_EQ(read_list(lines).blocks, (std::vector<std::string>{"http://a.example/", "http://b.example/"}));
  lines.insert(lines.begin() + 2, filler);
  const Read read = read_list(lines);
  EXPECT_EQ(read.blocks.back(), "http://b.example/");
  EXPECT_EQ(read.skipped(RuleSkip::long_record), 1U);
  EXPECT_EQ(read.skipped_lines.front(), 2U);
}

// A list in which every line opens quotes anew costs no more than another.
TEST(RuleList, csv_lines_are_read_twice_at_most) {
  const Lines lines(kCsvRecordBytesMax / 4, "x\",y,\"z");
  Read read = read_list(lines, {.format = RuleListFormat::csv, .column = "1"});
  EXPECT_GE(read.skipped(RuleSkip::long_record), 1U);
}

TEST(RuleList, csv_rules_have_one_line) {
  EXPECT_EQ(read_list({"url,why", "\"http://a.example/", "b\",x"}).skipped(RuleSkip::bad_quotes), 1U);
}

TEST(RuleList, csv_whose_heading_is_a_comment) {
  const Lines urlhaus = {"################", "# Database dump #", "#", "# id,dateadded,url,threat",
                         R"("1","2025-04-21 12:35:06","http://192.0.2.7:60905/bin sh","malware")"};
  for (const std::string column : {"", "url", "3"}) {
    EXPECT_EQ(read_list(urlhaus, {.column = column}).blocks,
              (std::vector<std::string>{"http://192.0.2.7:60905/bin sh"}));
  }
  const Lines tabs = {"#date\tdomain", "2020-10-14\tads.example", "2020-10-15\tb.example"};
  for (const std::string column : {"", "domain", "2"}) {
    EXPECT_EQ(read_list(tabs, {.column = column}).blocks, (std::vector<std::string>{"ads.example", "b.example"}));
  }
}

TEST(RuleList, csv_without_a_heading) {
  const Lines lines = {"1;ads.example", "2;b.example"};
  EXPECT_EQ(read_list(lines).blocks, (std::vector<std::string>{"ads.example", "b.example"}));
  EXPECT_EQ(read_list(lines, {.column = "2"}).blocks, (std::vector<std::string>{"ads.example", "b.example"}));
}

TEST(RuleList, csv_without_that_column_is_an_error_that_names_those_there_are) {
  for (const Lines& lines : {Lines{"id,link", "1,2"}, Lines{"# id,link", "1,2"}}) {
    const auto reader = RuleListReader::create({.format = RuleListFormat::csv, .column = "url"}, lines);
    ASSERT_FALSE(reader.has_value());
    EXPECT_EQ(reader.error().code, ErrorCode::invalid_argument);
    EXPECT_TRUE(reader.error().detail.contains("'url'") && reader.error().detail.contains("id, link"))
        << reader.error().detail;
  }
  EXPECT_FALSE(RuleListReader::create({.column = "url"}, Lines{"a,b", "a.example,2"}).has_value());
  EXPECT_FALSE(RuleListReader::create({.format = RuleListFormat::csv}, Lines{"a,b", "1,2"}).has_value());
  EXPECT_TRUE(RuleListReader::create({.format = RuleListFormat::csv, .column = "url"}, {}).has_value());
}

TEST(RuleList, only_csv_has_columns) {
  const auto expect = [](const std::string& column, RuleListFormat format, const Lines& lines) {
    const Read read = read_list(lines, {.column = column});
    EXPECT_EQ(read.format, format) << lines.back() << ' ' << column;
    EXPECT_EQ(read.blocks, std::vector<std::string>{"good.example"}) << lines.back() << ' ' << column;
  };
  for (const std::string column : {"url", "1", "2", "3"}) {
    expect(column, RuleListFormat::lines, {"# my own, kept by hand", "good.example"});
    expect(column, RuleListFormat::lines, {"0.0.0.0 good.example # a, b, c"});
    expect(column, RuleListFormat::adblock, {"[Adblock]", "||good.example^"});
  }
  // What has the column is CSV, also where it does not look so.
  expect("seen", RuleListFormat::csv, {"n;seen", "1;good.example"});
  expect("seen", RuleListFormat::csv, {"seen", "good.example"});
  expect("seen", RuleListFormat::csv, {"# n,seen", "1,good.example"});
  expect("1", RuleListFormat::csv, {"good.example,http://x.example/"});
  expect("2", RuleListFormat::csv, {"http://x.example/,good.example"});
}

TEST(RuleList, comments_do_not_help_to_tell_the_format) {
  Lines lines(2 * kRuleListFirstLines, "# nothing");
  lines.insert(lines.end(), 2 * kRuleListFirstLines, "");
  lines.insert(lines.end(), {"0.0.0.0 ads.example", "0.0.0.0 b.example"});
  const Read read = read_list(lines);
  EXPECT_EQ(read.format, RuleListFormat::lines);
  EXPECT_EQ(read.blocks, (std::vector<std::string>{"ads.example", "b.example"}));
  EXPECT_FALSE(RuleListReader::says_something(" ! x"));
  EXPECT_TRUE(RuleListReader::says_something(" x"));
}

// Read as CSV, a list in one line would be a guard of one rule.
TEST(RuleList, json_is_refused) {
  const std::vector<std::vector<std::string_view>> lists = {
      {R"(["a.example","b.example"])"},
      {"\xef\xbb\xbf [ \"a.example\", \"b.example\" ]"},
      {"", "[", "  \"a.example\",", "  \"b.example\"", "]"},
      {R"({"deny":["a.example","b.example"]})"},
      {"{", "  \"deny\": ["},
      {R"([{"url":"http://a.example/"},{"url":"http://b.example/"}])"},
      {R"({"url":"http://a.example/"})", R"({"url":"http://b.example/"})"},
      {R"([["a.example",1]])"},
      {R"([1, "a.example","b.example"])"},
      {R"([null,"a.example"])"},
  };
  for (const auto& lines : lists) {
    const auto reader = RuleListReader::create({}, lines);
    ASSERT_FALSE(reader.has_value()) << lines[0];
    EXPECT_EQ(reader.error().code, ErrorCode::invalid_argument);
    EXPECT_TRUE(reader.error().detail.starts_with("is JSON")) << reader.error().detail;
  }
  const std::vector<std::vector<std::string_view>> others = {
      {"[Adblock Plus 2.0]", "||a.example^"}, {"[$app=x]||a.example^"}, {"[2001:db8::7]"}, {"{a}.example"}, {"[]"}, {}};
  for (const auto& lines : others) {
    EXPECT_TRUE(RuleListReader::create({}, lines).has_value());
  }
  const auto addresses = RuleListReader::create({}, std::vector<std::string_view>{R"([2001:db8::7],"x")"});
  ASSERT_FALSE(addresses.has_value());
  EXPECT_FALSE(addresses.error().detail.starts_with("is JSON"));
  // Strings on lines of their own can be read as CSV by those who ask for it.
  EXPECT_TRUE(RuleListReader::create({.format = RuleListFormat::csv, .column = "1"}, lists[2]).has_value());
}

TEST(RuleList, the_format_is_what_the_first_lines_look_like) {
  const auto expect = [](RuleListFormat format, const Lines& lines) {
    EXPECT_EQ(read_list(lines).format, format) << lines.front();
  };
  expect(RuleListFormat::lines, {"# Title", "127.0.0.1 localhost", "0.0.0.0 ads.example"});
  expect(RuleListFormat::lines, {"127.0.0.1\tads.example"});
  expect(RuleListFormat::lines, {"0.0.0.0 ads.example # x, y"});
  expect(RuleListFormat::lines, {"## Title ##", "ads.example", "b.example"});
  expect(RuleListFormat::lines, {"# nothing at all"});
  expect(RuleListFormat::lines, {"ads.example", "http://b.example/a,b;c"});
  expect(RuleListFormat::lines, {"http://b.example/a,b;c"});
  expect(RuleListFormat::csv, {"a.example,malware", "b.example,malware"});
  expect(RuleListFormat::csv, {"url,threat", "http://b.example/x,malware"});
  expect(RuleListFormat::csv, {"url,threat", "||b.example^,malware"});
  expect(RuleListFormat::adblock, {"! Title", "-banner-", "||ads.example^"});
  expect(RuleListFormat::adblock, {"[Adblock Plus 2.0]", "ads.example"});
  expect(RuleListFormat::adblock, {"ads.example", "b.example##.ad"});
}

TEST(RuleList, a_byte_order_mark_is_no_part_of_a_rule) {
  EXPECT_EQ(read_list({"\xef\xbb\xbf"
                       "ads.example"})
                .blocks,
            (std::vector<std::string>{"ads.example"}));
  EXPECT_EQ(read_list({"\xef\xbb\xbf"
                       "url,x",
                       "ads.example,1"})
                .blocks,
            (std::vector<std::string>{"ads.example"}));
}

TEST(RuleList, refused_rules_are_counted_so) {
  auto reader = RuleListReader::create({.format = RuleListFormat::urls}, {}).value();
  reader.add("mailto:a@ads.example");
  const RuleLine read = reader.next().value();
  ASSERT_EQ(read.rules.size(), 1U);
  reader.refuse(read);
  EXPECT_EQ(reader.counts().rules, 0U);
  EXPECT_EQ(reader.counts().skipped_for(RuleSkip::refused), 1U);
  EXPECT_EQ(reader.counts().all_skipped(), 1U);
}

TEST(RuleList, formats_have_names) {
  for (const RuleListFormat format : kRuleListFormats) {
    EXPECT_EQ(rule_list_format(name(format)).value(), format);
  }
  const auto unknown = rule_list_format("xml");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().code, ErrorCode::not_found);
}

TEST(CsvRow, ends_of_lines) {
  using enum detail::RowEnd;
  EXPECT_EQ(detail::end_of_row("a,b", ',', false), complete);
  EXPECT_EQ(detail::end_of_row("a,b", ',', true), open);
  EXPECT_EQ(detail::end_of_row(R"(a"b,c)", ',', false), complete);
  EXPECT_EQ(detail::end_of_row(R"(a, "b""c" ,d)", ',', false), complete);
  EXPECT_EQ(detail::end_of_row(R"(a,"b)", ',', false), open);
  EXPECT_EQ(detail::end_of_row(R"(a,"b""")", ',', false), complete);
  EXPECT_EQ(detail::end_of_row(R"(a,"b"")", ',', false), open);
  EXPECT_EQ(detail::end_of_row(R"(a,"b"c)", ',', false), wrong);
  EXPECT_EQ(detail::end_of_row(R"(a",b)", ',', true), complete);
  EXPECT_EQ(detail::end_of_row(R"(a",b,"c)", ',', true), open);
  EXPECT_EQ(detail::end_of_row(R"(a"b)", ',', true), wrong);
  EXPECT_EQ(detail::end_of_row("\"\r", ',', true), complete);
}

TEST(CsvRow, fields_and_dividers) {
  using Fields = std::vector<std::string>;
  EXPECT_EQ(detail::csv_fields(R"(a,"b,c", "d""e" ,,f )", ','), (Fields{"a", "b,c", "d\"e", "", "f"}));
  EXPECT_EQ(detail::csv_fields("", ','), (Fields{""}));
  EXPECT_EQ(detail::csv_fields("a\t\tb", '\t'), (Fields{"a", "", "b"}));
  EXPECT_EQ(detail::divider_of(R"("a,b";c)"), ';');
  EXPECT_EQ(detail::divider_of("a;b,c\td"), '\t');
  EXPECT_EQ(detail::divider_of("a;b,c"), ',');
  EXPECT_EQ(detail::divider_of("a"), ',');
}

}  // namespace
}  // namespace mankai::test
