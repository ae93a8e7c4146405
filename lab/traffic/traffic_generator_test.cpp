#include "lab/traffic/traffic_generator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lab/traffic/random.hpp"
#include "mankai/input/log_parser.hpp"
#include "mankai/url/canonical_url.hpp"
#include "mankai/url/ladders.hpp"

namespace mankai {
namespace {

constexpr std::array kTrafficFormats = {TrafficFormat::tsv, TrafficFormat::json, TrafficFormat::combined};

std::vector<TrafficEvent> day_of(const TrafficOptions& options) {
  TrafficGenerator generator = TrafficGenerator::create(options).value();
  std::vector<TrafficEvent> events;
  for (TrafficEvent event; generator.next(event);) {
    events.push_back(event);
  }
  return events;
}

std::vector<TrafficEvent> of_kind(const std::vector<TrafficEvent>& events, TrafficKind kind) {
  std::vector<TrafficEvent> found;
  std::ranges::copy_if(events, std::back_inserter(found), [kind](const auto& event) { return event.kind == kind; });
  return found;
}

std::string canonical(const std::string& url) {
  return std::string(url::canonicalize(url, url::UrlRules::safe_browsing).value().text());
}

/// The rules of a list, asked exactly: every host of the URL with every prefix of its path at a slash.
class ExactRules {
 public:
  ExactRules(const TrafficGenerator& generator, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      std::string rule;
      generator.append_rule(i, rule);
      EXPECT_TRUE(rules_.insert(rule).second) << rule;
    }
  }

  [[nodiscard]] bool blocks(const std::string& raw) const {
    const url::CanonicalUrl url = url::canonicalize(raw, url::UrlRules::safe_browsing).value();
    std::vector<std::string_view> hosts;
    url::append_hosts(url, url::HostLadder::uncapped, hosts);
    return std::ranges::any_of(hosts, [&](std::string_view host) { return is_listed(std::string(host), url.path()); });
  }

  [[nodiscard]] const std::set<std::string>& all() const { return rules_; }

 private:
  [[nodiscard]] bool is_listed(const std::string& host, std::string_view path) const {
    for (std::size_t end = 0; end < path.size(); end = std::min(path.find('/', end + 1), path.size())) {
      if (rules_.contains(host + std::string(path.substr(0, end)))) {
        return true;
      }
    }
    return rules_.contains(host + std::string(path));
  }

  std::set<std::string> rules_;
};

// May be regenerated only together with a note in the changelog: users rely on "same seed, same bytes".
TEST(TrafficGenerator, golden_day_of_seed_1) {
  std::uint64_t digest = 0;
  std::uint64_t lines = 0;
  std::array<std::string, kTrafficFormats.size()> firsts;
  for (const TrafficEvent& event : day_of({.events = 5'000, .products = 500, .rules = 100, .hosts = 50})) {
    for (std::size_t i = 0; i < kTrafficFormats.size(); ++i) {
      std::string line;
      if (!append_line(event, kTrafficFormats[i], line)) {
        continue;
      }
      ++lines;
      firsts[i] = firsts[i].empty() ? line : firsts[i];
      for (const char byte : line) {
        digest = detail::mix(digest ^ static_cast<unsigned char>(byte));
      }
    }
  }
  EXPECT_EQ(firsts[0], "2024-01-01T00:04:08.815Z\tfetch\t-\thttps://news.famouspoem.com/forum/101");
  EXPECT_EQ(firsts[1],
            R"({"time":"2024-01-01T00:04:08.815Z","event":"fetch","url":"https://news.famouspoem.com/forum/101"})");
  EXPECT_EQ(firsts[2], R"(10.39.10.236 - - [01/Jan/2024:00:04:33 +0000] "GET /r/SSa8HU HTTP/1.1" 302 0 "-" "-")");
  EXPECT_EQ(lines, 12'904U);
  EXPECT_EQ(digest, 13'748'781'832'181'792'445U);
}

TEST(TrafficGenerator, a_day_is_in_order_and_of_the_size_and_shares_that_are_promised) {
  constexpr std::uint64_t kEvents = 200'000;
  const TrafficOptions options{.events = kEvents};
  const std::vector<TrafficEvent> events = day_of(options);
  EXPECT_NEAR(static_cast<double>(events.size()), kEvents, kEvents * 0.03);
  EXPECT_TRUE(std::ranges::is_sorted(events, {}, &TrafficEvent::time));
  EXPECT_GE(events.front().time, options.start);
  EXPECT_LT(events.back().time, options.start + std::chrono::hours(24));
  const std::map<TrafficKind, double> shares = {{TrafficKind::page, 0.59},
                                                {TrafficKind::basket, 0.01},
                                                {TrafficKind::redirect, 0.15},
                                                {TrafficKind::fetch, 0.25}};
  for (const auto& [kind, share] : shares) {
    const auto count = static_cast<double>(of_kind(events, kind).size());
    EXPECT_NEAR(count / kEvents, share, 0.05 * share + 0.006) << name(kind);
  }
}

TEST(TrafficGenerator, evenings_are_busier_than_nights) {
  const TrafficOptions options{.events = 100'000};
  std::array<std::uint64_t, 24> pages{};
  for (const TrafficEvent& event : of_kind(day_of(options), TrafficKind::page)) {
    ++pages.at(static_cast<std::size_t>((event.time - options.start) / std::chrono::hours(1)));
  }
  EXPECT_GT(pages[20], 6 * pages[4]);
  EXPECT_GT(pages[4], 0U);
}

TEST(TrafficGenerator, a_basket_holds_what_was_put_in_until_it_is_emptied) {
  std::map<std::string, std::uint64_t> baskets;
  std::set<std::string> shoppers;
  std::set<std::string> buyers;
  const std::vector<TrafficEvent> events = day_of({.events = 200'000});
  for (const TrafficEvent& event : events) {
    if (event.kind == TrafficKind::page) {
      shoppers.insert(event.who);
    }
    if (event.kind != TrafficKind::basket) {
      continue;
    }
    ASSERT_TRUE(shoppers.contains(event.who)) << "a basket belongs to somebody who looked at a page";
    std::uint64_t& items = baskets[event.who];
    ASSERT_EQ(event.items, event.items == 0 ? 0 : items + 1);
    ASSERT_NE(event.items, items) << "an empty basket is not emptied";
    items = event.items;
    buyers.insert(event.who);
  }
  const double share = static_cast<double>(buyers.size()) / static_cast<double>(shoppers.size());
  EXPECT_NEAR(share, 0.045, 0.01) << "one visit of twenty, some of which end before anything is in it";
  const auto pages = static_cast<double>(of_kind(events, TrafficKind::page).size());
  EXPECT_NEAR(pages / static_cast<double>(shoppers.size()), 12 / 0.8, 0.6) << "12 pages a visit, every fifth a return";
}

TEST(TrafficGenerator, what_is_hot_changes_and_a_sale_comes_and_goes) {
  const TrafficOptions options{.events = 200'000};
  const TrafficGenerator generator = TrafficGenerator::create(options).value();
  std::string sale;
  generator.append_sale_path(sale);
  std::map<std::string, std::uint64_t> morning;
  std::map<std::string, std::uint64_t> evening;
  std::array<std::uint64_t, 2> in_sale{};
  std::uint64_t outside = 0;
  for (const TrafficEvent& event : of_kind(day_of(options), TrafficKind::page)) {
    const bool is_in_sale =
        event.time >= generator.sale_start() && event.time < generator.sale_start() + TrafficGenerator::kSaleLength;
    in_sale[0] += is_in_sale ? 1 : 0;
    in_sale[1] += is_in_sale && event.what == sale ? 1 : 0;
    outside += !is_in_sale && event.what == sale ? 1 : 0;
    const auto hour = (event.time - options.start) / std::chrono::hours(1);
    if (event.what.starts_with("/product/") && event.what != sale) {
      ++(hour < 12 ? morning : evening)[event.what];
    }
  }
  EXPECT_NEAR(static_cast<double>(in_sale[1]) / static_cast<double>(in_sale[0]), 0.31, 0.03);
  EXPECT_LT(outside, in_sale[1] / 20);
  const auto hottest = std::ranges::max_element(morning, {}, [](const auto& entry) { return entry.second; });
  EXPECT_LT(evening[hottest->first], hottest->second / 2);
}

TEST(TrafficGenerator, links_lead_to_one_place_and_some_of_them_into_the_block_list) {
  const TrafficOptions options{.events = 200'000, .rules = 5'000};
  const TrafficGenerator generator = TrafficGenerator::create(options).value();
  const ExactRules rules(generator, options.rules);
  std::map<std::uint64_t, std::string> targets;
  std::map<std::string, std::uint64_t> codes;
  for (const TrafficEvent& event : of_kind(day_of(options), TrafficKind::redirect)) {
    EXPECT_EQ(canonical(event.what), event.what);
    EXPECT_EQ(targets.try_emplace(event.number, event.what).first->second, event.what);
    EXPECT_EQ(codes.try_emplace(event.who, event.number).first->second, event.number);
    EXPECT_EQ(event.who.size(), 6U);
  }
  EXPECT_EQ(codes.size(), targets.size());
  const auto blocked = std::ranges::count_if(targets, [&](const auto& link) { return rules.blocks(link.second); });
  EXPECT_NEAR(static_cast<double>(blocked) / static_cast<double>(targets.size()), 3.0 / 64, 0.01);
}

TEST(TrafficGenerator, rules_are_canonical_and_stay_when_the_day_grows) {
  const TrafficGenerator small = TrafficGenerator::create({.events = 1'000, .rules = 10}).value();
  const TrafficGenerator large = TrafficGenerator::create({.events = 90'000, .rules = 3'000}).value();
  const ExactRules rules(large, 3'000);
  for (const std::string& rule : rules.all()) {
    const std::string url = "http://" + rule + (rule.contains('/') ? "" : "/");
    EXPECT_EQ(canonical(url), url);
    EXPECT_TRUE(rules.blocks(url));
  }
  std::string a;
  std::string b;
  small.append_rule(9, a);
  large.append_rule(9, b);
  EXPECT_EQ(a, b);
}

TEST(TrafficGenerator, a_fetch_has_a_number_whatever_its_spelling) {
  std::map<std::string, std::uint64_t> numbers;
  std::set<std::string> spellings;
  const std::vector<TrafficEvent> fetches = of_kind(day_of({.events = 100'000}), TrafficKind::fetch);
  std::size_t respelled = 0;
  for (const TrafficEvent& event : fetches) {
    const std::string key = canonical(event.what);
    EXPECT_EQ(numbers.try_emplace(key, event.number).first->second, event.number) << event.what;
    spellings.insert(event.what);
    respelled += key != event.what ? 1 : 0;
  }
  std::set<std::uint64_t> distinct;
  std::ranges::transform(fetches, std::inserter(distinct, distinct.end()), &TrafficEvent::number);
  EXPECT_EQ(distinct.size(), numbers.size());
  EXPECT_GT(spellings.size(), numbers.size());
  EXPECT_NEAR(static_cast<double>(respelled) / static_cast<double>(fetches.size()), 0.25, 0.02);
  EXPECT_NEAR(static_cast<double>(distinct.size()) / static_cast<double>(fetches.size()), 0.6, 0.02);
}

TEST(TrafficGenerator, its_access_log_is_read_by_the_parser_of_logs) {
  LogParser parser = LogParser::create({.format = LogFormat::combined, .names = {}}).value();
  for (const TrafficEvent& event : day_of({.events = 5'000})) {
    std::string line;
    const bool is_logged = append_line(event, TrafficFormat::combined, line);
    ASSERT_EQ(is_logged, event.kind == TrafficKind::page || event.kind == TrafficKind::redirect);
    LogRecord record;
    if (is_logged) {
      ASSERT_EQ(parser.parse(line, record), LogLine::record) << line;
      EXPECT_EQ(record.target, event.kind == TrafficKind::page ? event.what : "/r/" + event.who);
      EXPECT_EQ(record.time, std::chrono::floor<std::chrono::seconds>(event.time));
    }
  }
}

TEST(TrafficGenerator, another_seed_gives_another_day_and_the_smallest_options_do) {
  const std::vector<TrafficEvent> a = day_of({.events = 1'000, .seed = 1});
  const std::vector<TrafficEvent> b = day_of({.events = 1'000, .seed = 2});
  EXPECT_NE(a.front().what, b.front().what);
  EXPECT_GT(day_of({.events = 1'000, .products = 1, .rules = 1, .hosts = 1}).size(), 500U);
}

TEST(TrafficGenerator, options_outside_their_ranges_are_refused) {
  constexpr std::uint64_t kTooMany = 10'000'001;
  const std::array<TrafficOptions, 9> wrong = {{{.events = 999},
                                                {.events = 1'000'000'001},
                                                {.start = Time(std::chrono::seconds(-1))},
                                                {.products = 0},
                                                {.products = kTooMany},
                                                {.rules = 0},
                                                {.rules = kTooMany},
                                                {.hosts = 0},
                                                {.hosts = kTooMany}}};
  for (const TrafficOptions& options : wrong) {
    const auto generator = TrafficGenerator::create(options);
    ASSERT_FALSE(generator);
    EXPECT_EQ(generator.error().code, ErrorCode::invalid_argument);
  }
}

}  // namespace
}  // namespace mankai
