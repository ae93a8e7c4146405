// Real logs: every line is accounted for, and a sample says what a second, slower reading of it says.

#include <gtest/gtest.h>
#include <regex.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>

#include "mankai/input/line_reader.hpp"
#include "mankai/input/log_parser.hpp"
#include "tests/support/shared_data.hpp"

namespace mankai {
namespace {

struct RealLog {
  std::string_view file;
  std::uint64_t lines;
};

constexpr RealLog kLogs[] = {
    {"logs/almhuette-2020-12_2021-04.log.zst", 294'094}, {"logs/nasa-1995-07-01.sample.log.zst", 9'999},
    {"logs/nasa-1995-08-01.sample.log.zst", 9'999},      {"logs/ruet-oj-2017.log.zst", 15'789},
    {"logs/semicomplete-2015.log.zst", 10'000},          {"logs/wordpress-blog-2016.log.zst", 206'860},
};

constexpr std::uint64_t kSampleEvery = 40;

/// The format as a regular expression, which knows no exceptions: what it matches must be read so.
class Oracle {
 public:
  Oracle() {
    constexpr const char* kPattern =
        "^([^ ]+) [^ ]+ [^ ]+ \\[([^]]+)\\] \"([A-Z]+) ([^ \"]+) HTTP/[0-9.]+\" ([0-9]+) ([0-9]+|-)( .*)?$";
    EXPECT_EQ(regcomp(&regex_, kPattern, REG_EXTENDED), 0);
  }
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;
  ~Oracle() { regfree(&regex_); }

  [[nodiscard]] bool matches(const std::string& line) {
    line_ = line;
    return regexec(&regex_, line_.c_str(), groups_.size(), groups_.data(), 0) == 0;
  }
  [[nodiscard]] std::string group(std::size_t number) const {
    const regmatch_t& group = groups_.at(number);
    return line_.substr(static_cast<std::size_t>(group.rm_so), static_cast<std::size_t>(group.rm_eo - group.rm_so));
  }
  [[nodiscard]] std::int64_t seconds() const {
    std::tm time{};
    const std::string text = group(2);
    const char* const rest = strptime(text.c_str(), "%d/%b/%Y:%H:%M:%S", &time);
    EXPECT_NE(rest, nullptr) << text;
    int zone = 0;
    EXPECT_EQ(std::sscanf(rest, " %d", &zone), 1) << text;
    return timegm(&time) - (zone / 100 * 60 + zone % 100) * 60;
  }

 private:
  regex_t regex_{};
  std::string line_;
  std::array<regmatch_t, 8> groups_{};
};

class RealLogs : public testing::TestWithParam<RealLog> {};

void check_against(const Oracle& oracle, const LogRecord& record) {
  EXPECT_EQ(record.client, oracle.group(1));
  ASSERT_TRUE(record.time.has_value());
  EXPECT_EQ(record.time->time_since_epoch(), std::chrono::seconds(oracle.seconds()));
  EXPECT_EQ(record.method, oracle.group(3));
  EXPECT_EQ(record.target, oracle.group(4));
  EXPECT_EQ(record.status ? std::to_string(*record.status) : "none", oracle.group(5));
  EXPECT_EQ(record.bytes ? std::to_string(*record.bytes) : "-", oracle.group(6));
}

TEST_P(RealLogs, every_line_is_a_record_and_a_sample_says_what_a_regular_expression_says) {
  const auto path = test::shared_data(std::string(GetParam().file));
  MANKAI_SKIP_WITHOUT(path);
  auto reader = LineReader::create(Source::open(path).value()).value();
  LogParser parser = LogParser::create().value();
  Oracle oracle;
  std::uint64_t sampled = 0;
  std::uint64_t without_target = 0;
  for (auto batch = reader.next_batch().value(); !batch.empty(); batch = reader.next_batch().value()) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      LogRecord record;
      const LogLine outcome = parser.parse(batch[i], record);
      ASSERT_EQ(outcome, LogLine::record) << batch[i];
      without_target += record.target.empty() ? 1 : 0;
      if ((reader.first_line_number() + i) % kSampleEvery == 0 && oracle.matches(std::string(batch[i]))) {
        ++sampled;
        check_against(oracle, record);
        ASSERT_FALSE(HasFailure()) << batch[i];
      }
    }
  }
  std::printf("%s: %llu lines, %llu malformed, %llu without a target, %llu compared\n", path.filename().c_str(),
              static_cast<unsigned long long>(parser.counts().lines()),
              static_cast<unsigned long long>(parser.counts().malformed()),
              static_cast<unsigned long long>(without_target), static_cast<unsigned long long>(sampled));
  EXPECT_EQ(parser.format(), LogFormat::combined);
  EXPECT_EQ(parser.counts().lines(), GetParam().lines);
  EXPECT_EQ(without_target, 0U);
  EXPECT_GT(sampled, GetParam().lines / kSampleEvery * 99 / 100) << "the expression should match nearly all lines";
}

INSTANTIATE_TEST_SUITE_P(Files, RealLogs, testing::ValuesIn(kLogs));

}  // namespace
}  // namespace mankai
