#include "lab/traffic/log_generator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lab/traffic/random.hpp"
#include "mankai/input/log_parser.hpp"

namespace mankai {
namespace {

constexpr std::array kLogFormats = {LogFormat::combined, LogFormat::squid, LogFormat::w3c, LogFormat::json,
                                    LogFormat::keys};

struct Line {
  std::string text;
  GeneratedRecord truth;
};

std::vector<Line> generate_lines(const LogGeneratorOptions& options) {
  LogGenerator generator = LogGenerator::create(options).value();
  std::vector<Line> lines;
  while (generator.has_next()) {
    Line& line = lines.emplace_back();
    line.truth = generator.append_next(line.text);
  }
  return lines;
}

LogGeneratorOptions of_format(LogFormat format, std::uint64_t count) {
  LogGeneratorOptions options;
  options.format = format;
  options.count = count;
  return options;
}

/// The parser of a format after the generator's header.
LogParser parser_after_header(const LogGenerator& generator, LogFormat format) {
  LogParser parser = LogParser::create({.format = format, .names = {}}).value();
  std::string header;
  generator.append_header(header);
  LogRecord ignored;
  for (std::size_t begin = 0; begin < header.size();) {
    const std::size_t end = header.find('\n', begin);
    EXPECT_EQ(parser.parse(std::string_view(header).substr(begin, end - begin), ignored), LogLine::skipped);
    begin = end + 1;
  }
  return parser;
}

// May be regenerated only together with a note in the changelog: users rely on "same seed, same bytes".
TEST(LogGenerator, golden_lines_of_seed_1) {
  std::array<std::string, kLogFormats.size()> firsts;
  std::uint64_t digest = 0;
  for (std::size_t i = 0; i < kLogFormats.size(); ++i) {
    LogGeneratorOptions options = of_format(kLogFormats[i], 2'000);
    options.late_share = 0.1;
    options.malformed_share = 0.05;
    const std::vector<Line> lines = generate_lines(options);
    firsts[i] = lines.front().text;
    for (const Line& line : lines) {
      for (const char byte : line.text) {
        digest = detail::mix(digest ^ static_cast<unsigned char>(byte));
      }
    }
  }
  EXPECT_EQ(firsts[0],
            "10.104.228.78 - - [01/Jan/2024:00:00:00 +0000] \"GET /tutorials/phone-pilot-7530.png HTTP/1.1\" 200 831 "
            "\"https://www.laserdigital.example/tools/jazz/flower-fashion-200.html\" \"Mozilla/5.0 (iPad; CPU OS 16_6 "
            "like Mac OS X) "
            "AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.6 Mobile/15E148 Safari/604.1\"");
  EXPECT_EQ(firsts[1],
            "1704067200.011      1 10.104.228.78 TCP_MISS/200 831 GET "
            "http://www.plazapaint.example/tutorials/phone-pilot-7530.png - HIER_DIRECT/192.0.2.1 text/html");
  EXPECT_EQ(
      firsts[2],
      "2024-01-01 00:00:00 10.104.228.78 GET www.plazapaint.example /tutorials/phone-pilot-7530.png - 200 831 "
      "Mozilla/5.0+(iPad;+CPU+OS+16_6+like+Mac+OS+X)+AppleWebKit/605.1.15+(KHTML,+like+Gecko)+Version/16.6+Mobile/"
      "15E148+Safari/604.1 https://www.laserdigital.example/tools/jazz/flower-fashion-200.html");
  EXPECT_EQ(
      firsts[3],
      R"({"time":"2024-01-01T00:00:00.011Z","remote_addr":"10.104.228.78","host":"www.plazapaint.example",)"
      R"("request_method":"GET","request_uri":"/tutorials/phone-pilot-7530.png","status":200,"body_bytes_sent":831,)"
      R"("http_referer":"https://www.laserdigital.example/tools/jazz/flower-fashion-200.html","http_user_agent":)"
      R"x("Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.6 )x"
      R"(Mobile/15E148 Safari/604.1"})");
  EXPECT_EQ(firsts[4], "2024-01-01T00:00:00.011Z\t/tutorials/phone-pilot-7530.png");
  EXPECT_EQ(digest, 16525886969401842727U);
}

// Goal: every format's parser gets back what the generator says it wrote. Method: parse each line beside the truth.
TEST(LogGenerator, what_it_writes_every_parser_reads) {
  for (const LogFormat format : kLogFormats) {
    LogGeneratorOptions options = of_format(format, 10'000);
    options.late_share = 0.1;
    options.malformed_share = 0.1;
    options.rate = 3;
    LogGenerator generator = LogGenerator::create(options).value();
    LogParser parser = parser_after_header(generator, format);
    std::string line;
    std::string target;
    std::string client;
    while (generator.has_next()) {
      line.clear();
      const GeneratedRecord truth = generator.append_next(line);
      LogRecord record;
      const LogLine outcome = parser.parse(line, record);
      ASSERT_EQ(is_malformed(outcome), truth.is_malformed) << line;
      if (truth.is_malformed) {
        continue;
      }
      ASSERT_EQ(outcome, LogLine::record) << line;
      ASSERT_EQ(record.time, truth.time) << line;
      target.clear();
      generator.append_target(truth.path, target);
      ASSERT_EQ(record.target.substr(0, record.target.find('?')), target) << line;
      if (format == LogFormat::keys) {
        continue;
      }
      client.clear();
      generator.append_client(truth.client, client);
      ASSERT_EQ(record.client, client) << line;
      ASSERT_EQ(record.status, truth.status) << line;
      ASSERT_FALSE(record.method.empty()) << line;
      ASSERT_TRUE(format == LogFormat::combined || record.host.ends_with(".example")) << line;
    }
  }
}

TEST(LogGenerator, common_format_ends_after_the_size) {
  LogGeneratorOptions options = of_format(LogFormat::combined, 100);
  options.is_common = true;
  for (const Line& line : generate_lines(options)) {
    EXPECT_EQ(std::ranges::count(line.text, '"'), 2) << line.text;
  }
}

TEST(LogGenerator, the_seed_decides_and_a_longer_run_only_continues) {
  const auto texts = [](std::uint64_t count, std::uint64_t seed) {
    LogGeneratorOptions options = of_format(LogFormat::squid, count);
    options.seed = seed;
    options.late_share = options.malformed_share = 0.2;
    std::vector<std::string> result;
    for (const Line& line : generate_lines(options)) {
      result.push_back(line.text);
    }
    return result;
  };
  const std::vector<std::string> lines = texts(1'000, 5);
  EXPECT_EQ(lines, texts(1'000, 5));
  EXPECT_NE(lines, texts(1'000, 6));
  std::vector<std::string> longer = texts(2'000, 5);
  longer.resize(lines.size());
  EXPECT_EQ(lines, longer);
}

TEST(LogGenerator, paths_and_clients_have_names_of_their_own) {
  LogGeneratorOptions options = of_format(LogFormat::combined, 1);
  options.clients = 30'000;
  options.paths = 30'000;
  const LogGenerator generator = LogGenerator::create(options).value();
  std::set<std::string> names;
  for (std::uint64_t number = 0; number < 30'000; ++number) {
    std::string path;
    generator.append_target(number, path);
    names.insert(path);
    std::string client;
    generator.append_client(number, client);
    names.insert(client);
  }
  EXPECT_EQ(names.size(), 60'000U);
}

// Goal: a Poisson process. Method: mean and variance of the gaps of an exponential law, within 5 standard errors of
// n = 100 000 (the variance of an exponential's sample variance is 8 / n), and the share of gaps above the mean, 1 / e.
TEST(LogGenerator, requests_arrive_as_a_poisson_process) {
  constexpr double kCount = 100'000;
  constexpr double kRate = 0.5;
  LogGeneratorOptions options = of_format(LogFormat::json, static_cast<std::uint64_t>(kCount));
  options.rate = kRate;
  Time before = options.start;
  double sum = 0;
  double squares = 0;
  double above = 0;
  for (const Line& line : generate_lines(options)) {
    const double gap = std::chrono::duration<double>(line.truth.time - before).count() * kRate;
    before = line.truth.time;
    sum += gap;
    squares += gap * gap;
    above += gap > 1 ? 1 : 0;
  }
  EXPECT_NEAR(sum / kCount, 1, 5 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount - 1, 1, 5 * std::sqrt(20 / kCount));
  const double share = std::exp(-1);
  EXPECT_NEAR(above / kCount, share, 5 * std::sqrt(share * (1 - share) / kCount));
}

TEST(LogGenerator, shares_are_met_within_the_binomial_bound) {
  constexpr double kCount = 20'000;
  for (const double share : {0.0, 0.02, 0.5, 1.0}) {
    LogGeneratorOptions options = of_format(LogFormat::keys, static_cast<std::uint64_t>(kCount));
    options.late_share = share;
    options.malformed_share = share;
    double late = 0;
    double malformed = 0;
    for (const Line& line : generate_lines(options)) {
      late += line.truth.is_late ? 1 : 0;
      malformed += line.truth.is_malformed ? 1 : 0;
    }
    const double bound = 5 * std::sqrt(kCount * share * (1 - share));
    EXPECT_NEAR(late, kCount * share, bound);
    EXPECT_NEAR(malformed, kCount * share, bound);
  }
}

TEST(LogGenerator, late_records_are_late_by_no_more_than_was_asked) {
  LogGeneratorOptions options = of_format(LogFormat::json, 20'000);
  options.late_share = 0.3;
  options.late_by = std::chrono::seconds(10);
  Time newest = options.start;
  bool is_any_behind = false;
  for (const Line& line : generate_lines(options)) {
    if (!line.truth.is_late) {
      EXPECT_GE(line.truth.time, newest);
      newest = line.truth.time;
    }
    // Between a late record and the newest one before it lie at most the delay and a millisecond of rounding.
    EXPECT_GE(line.truth.time, newest - options.late_by - std::chrono::milliseconds(1));
    is_any_behind = is_any_behind || line.truth.time < newest;
  }
  EXPECT_TRUE(is_any_behind);
}

std::map<std::uint64_t, std::uint64_t> hits_of(const std::vector<Line>& lines, Time from, Time to) {
  std::map<std::uint64_t, std::uint64_t> hits;
  for (const Line& line : lines) {
    if (line.truth.time >= from && line.truth.time < to) {
      ++hits[line.truth.path];
    }
  }
  return hits;
}

std::uint64_t hottest(const std::map<std::uint64_t, std::uint64_t>& hits) {
  return std::ranges::max_element(hits, {}, [](const auto& entry) { return entry.second; })->first;
}

TEST(LogGenerator, what_is_hot_changes_with_the_drift_and_not_without) {
  for (const bool drifts : {true, false}) {
    LogGeneratorOptions options = of_format(LogFormat::combined, 100'000);
    options.rate = 1;
    options.drift = drifts ? std::chrono::hours(2) : Duration::zero();
    const std::vector<Line> lines = generate_lines(options);
    const auto early = hits_of(lines, options.start, options.start + std::chrono::hours(2));
    const auto late = hits_of(lines, options.start + std::chrono::hours(20), options.start + std::chrono::hours(22));
    EXPECT_EQ(hottest(early) != hottest(late), drifts);
    // Zipf's law over 10 000 ranks gives the first a share of 1 / 9.79 of a time without a change.
    const double share = static_cast<double>(late.at(hottest(late))) / 7'200;
    EXPECT_GT(share, drifts ? 0.03 : 0.08);
    EXPECT_LT(share, 0.13);
  }
}

TEST(LogGenerator, refuses_what_it_cannot_do) {
  const auto refuses = [](auto change) {
    LogGeneratorOptions options;
    change(options);
    const auto created = LogGenerator::create(options);
    return !created && created.error().code == ErrorCode::invalid_argument && !created.error().detail.empty();
  };
  using Options = LogGeneratorOptions;
  EXPECT_TRUE(refuses([](Options& options) { options.format = LogFormat::automatic; }));
  EXPECT_TRUE(refuses([](Options& options) { options.format = LogFormat::json, options.is_common = true; }));
  EXPECT_TRUE(refuses([](Options& options) { options.rate = 0; }));
  EXPECT_TRUE(refuses([](Options& options) { options.rate = std::nan(""); }));
  EXPECT_TRUE(refuses([](Options& options) { options.rate = 2e6; }));
  EXPECT_TRUE(refuses([](Options& options) { options.count = 2'000'000'000'000; }));
  EXPECT_TRUE(refuses([](Options& options) { options.count = 1'000'000'000, options.rate = 0.1; }));
  EXPECT_TRUE(refuses([](Options& options) { options.start = Time(Duration(-1)); }));
  EXPECT_TRUE(refuses([](Options& options) { options.paths = 0; }));
  EXPECT_TRUE(refuses([](Options& options) { options.clients = (1 << 24) + 1; }));
  EXPECT_TRUE(refuses([](Options& options) { options.zipf_exponent = -1; }));
  EXPECT_TRUE(refuses([](Options& options) { options.late_share = 1.1; }));
  EXPECT_TRUE(refuses([](Options& options) { options.malformed_share = -0.1; }));
  EXPECT_TRUE(refuses([](Options& options) { options.late_by = Duration::zero(); }));
  EXPECT_TRUE(refuses([](Options& options) { options.drift = Duration(1); }));
  EXPECT_FALSE(refuses([](Options&) {}));
}

}  // namespace
}  // namespace mankai
