// Every block list of the shared data set, as it came: what it is taken for, and what each of its lines gives.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "mankai/guard/rule_list.hpp"
#include "mankai/input/line_reader.hpp"
#include "mankai/input/source.hpp"
#include "tests/guard/shared_lists.hpp"

namespace mankai::test {
namespace {

struct Expected {
  std::string file;
  RuleListFormat format;
  std::uint64_t lines;
  std::uint64_t rules;
  std::uint64_t exceptions;
  std::uint64_t without_rules;
  std::uint64_t widened;
  std::uint64_t narrowed;
  std::vector<std::pair<RuleSkip, std::uint64_t>> skipped = {};
};

void expect_list(const Expected& expected) {
  RuleListFormat format{};
  const auto counts = read_shared(shared_data("blocklists/" + expected.file), {},
                                  [&](const RuleListReader& reader, const RuleLine&) { format = reader.format(); });
  SCOPED_TRACE(expected.file);
  for (const auto& [reason, skipped] : expected.skipped) {
    EXPECT_EQ(counts.skipped_for(reason), skipped) << describe(reason);
  }
  EXPECT_EQ(name(format), name(expected.format));
  EXPECT_EQ(counts.lines, expected.lines);
  EXPECT_EQ(counts.rules, expected.rules);
  EXPECT_EQ(counts.exceptions, expected.exceptions);
  EXPECT_EQ(counts.without_rules, expected.without_rules);
  EXPECT_EQ(counts.widened, expected.widened);
  EXPECT_EQ(counts.narrowed, expected.narrowed);
  // No list here has a line with more than one name.
  EXPECT_EQ(counts.rules + counts.exceptions + counts.without_rules + counts.all_skipped(), counts.lines);
}

TEST(RealLists, are_read_as_what_they_are) {
  MANKAI_SKIP_WITHOUT(shared_data("blocklists"));
  using enum RuleListFormat;
  for (const Expected& each : std::vector<Expected>{
           {"blp-phishing-nl.txt.zst", lines, 190228, 190215, 0, 13, 0, 0},
           {"blp-tracking-nl.txt.zst", lines, 143889, 143876, 0, 13, 0, 0},
           {"easylist-debian.txt.zst",
            adblock,
            76536,
            43100,
            12,
            277,
            0,
            741,
            {{RuleSkip::element_hiding, 23807},
             {RuleSkip::request_options, 7138},
             {RuleSkip::options, 990},
             {RuleSkip::regex, 23},
             {RuleSkip::wildcard, 149},
             {RuleSkip::unanchored, 367},
             {RuleSkip::open_end, 670},
             {RuleSkip::other_pattern, 1},
             {RuleSkip::single_label, 2}}},
           {"maltrail-domains-a.txt.zst", lines, 581301, 581301, 0, 0, 0, 0},
           {"maltrail-url-trails.tsv.zst",
            csv,
            167088,
            73494,
            0,
            1,
            0,
            0,
            {{RuleSkip::no_host, 92495}, {RuleSkip::fragment, 3}, {RuleSkip::network, 1095}}},
           {"matomo-referrer-spammers.txt", lines, 2347, 2347, 0, 0, 0, 0},
           {"polkadot-phishing-dated.tsv.zst", csv, 56413, 56412, 0, 1, 0, 0},
           {"urlhaus-online-2025-04-21.csv.zst", csv, 11126, 11125, 0, 1, 0, 0},
       }) {
    expect_list(each);
  }
}

// JSON is no format of a list: that is said at once.
TEST(RealLists, json_is_no_list) {
  const auto path = shared_data("blocklists/polkadot-phishing-all.json.zst");
  MANKAI_SKIP_WITHOUT(path);
  auto lines = LineReader::create(Source::open(path).value()).value();
  const auto reader = RuleListReader::create({}, lines.next_batch().value());
  ASSERT_FALSE(reader.has_value());
  EXPECT_EQ(reader.error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace mankai::test
