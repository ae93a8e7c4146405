// decayed-top with a window beside an exact model of its panes.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mankai/filter/decayed_top/decayed_top_test_support.hpp"
#include "tests/support/filter_request.hpp"
#include "tests/support/moving_memory.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kPanes = DecayedTop::kPanesOfWindow;
constexpr seconds kPane{60};
constexpr seconds kWindow = kPane * kPanes;

DecayedTop make_window(std::uint64_t bytes, CountRounding rounding = CountRounding::strict) {
  return DecayedTop::create({.bytes = bytes, .rounding = rounding, .window = kWindow, .hash = kXxh3}).value();
}
double estimate_at(const DecayedTop& filter, std::string_view key, Time when = Time()) {
  return filter.estimate(filter.hasher()(key), when).raw;
}

/// All events, by key and pane.
class ExactPanes {
 public:
  void insert(const std::string& key, Time when, std::uint32_t count) {
    counts_[key][tick_of(when, kPane).value] += count;
  }
  void add(const ExactPanes& other) {
    for (const auto& [key, panes] : other.counts_) {
      for (const auto& [tick, count] : panes) {
        counts_[key][tick] += count;
      }
    }
  }
  /// Of the panes that are at least partly in the window, and of the oldest one a share.
  [[nodiscard]] double count(const std::string& key, Tick now, double share = 1) const {
    double sum = 0;
    for (const auto& [tick, count] : counts_.at(key)) {
      const std::uint64_t age = now.value - tick;
      sum += age > kPanes ? 0 : age == kPanes ? share * count : count;
    }
    return sum;
  }
  [[nodiscard]] std::vector<std::pair<double, std::string>> top(Tick now) const {
    std::vector<std::pair<double, std::string>> all;
    for (const auto& [key, panes] : counts_) {
      if (const double sum = count(key, now); sum > 0) {
        all.emplace_back(-sum, key);
      }
    }
    std::ranges::sort(all);
    return all;
  }
  [[nodiscard]] const auto& counts() const noexcept { return counts_; }

 private:
  std::map<std::string, std::map<std::uint64_t, double>> counts_;
};

struct WindowPair {
  DecayedTop filter;
  ExactPanes exact{};

  // An event of a pane that was cleared is dropped, also if a query goes back no further.
  void insert(const std::string& key, Time when, std::uint32_t count) {
    const Tick tick = tick_of(when, kPane);
    if (tick.value + kPanes >= filter.tick().value) {
      exact.insert(key, when, count);
    }
    test::insert(filter, key, when, count);
  }
  void expect_bounds(double most_excess) const {
    for (const auto& [key, panes] : exact.counts()) {
      const double truth = exact.count(key, filter.tick());
      ASSERT_GE(estimate_at(filter, key), truth) << key;
      ASSERT_LE(estimate_at(filter, key), truth + most_excess) << key;
      ASSERT_TRUE(truth == 0 || filter.may_contain(filter.hasher()(key)));
      const Time later = start_of({filter.tick().value + 3}, kPane);
      ASSERT_GE(estimate_at(filter, key, later), exact.count(key, {filter.tick().value + 3})) << key;
      ASSERT_LE(estimate_at(filter, key, later), exact.count(key, {filter.tick().value + 3}) + most_excess) << key;
    }
  }
};

// Goal: no sequence of events, late ones, jumps, merges and images counts less than the panes of the window, or an
// event of an older one. Method: random steps; with much memory both bounds are exact, with little the lower one is.
void expect_counts_of_the_window(std::uint64_t bytes, std::uint64_t keys, double most_excess) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Random random(seed);
    WindowPair one{make_window(bytes)};
    WindowPair other{make_window(bytes)};
    std::int64_t now = 100'000;
    for (int step = 0; step < 1500; ++step) {
      WindowPair& pair = random.below(4) == 0 ? other : one;
      switch (random.below(40)) {
        case 0: now += static_cast<std::int64_t>(random.below(20)) * kPane.count(); break;
        case 1: pair.filter.advance({tick_of(at(now), kPane).value + random.below(12)}); break;
        case 2: pair.filter = DecayedTop::from_bytes(pair.filter.to_bytes()).value(); break;
        case 3:
          ASSERT_TRUE(one.filter.merge(other.filter).has_value());
          one.exact.add(other.exact);
          other = {make_window(bytes)};
          break;
        default: {
          now += static_cast<std::int64_t>(random.below(20));
          const auto late = static_cast<std::int64_t>(random.below(5) == 0 ? random.below(720) : 0);
          pair.insert(key_of(random.below(keys)), at(now - late), 1 + static_cast<std::uint32_t>(random.below(3)));
        }
      }
      if (step % 50 == 0) {
        one.expect_bounds(most_excess);
        other.expect_bounds(most_excess);
        ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed << ", step " << step;
      }
    }
    if (most_excess < 1) {
      const auto expected = one.exact.top(one.filter.tick());
      const auto listed = one.filter.top(1000);
      ASSERT_EQ(listed.size(), expected.size());
      for (std::size_t i = 0; i < listed.size(); ++i) {
        ASSERT_EQ(listed[i].key, expected[i].second) << i;
        ASSERT_NEAR(listed[i].count.raw, -expected[i].first, kMostExcess);
        ASSERT_DOUBLE_EQ(listed[i].count.rate, listed[i].count.raw / kPanes);
      }
    }
  }
}

TEST(DecayedTopWindow, counts_the_panes_of_the_window) { expect_counts_of_the_window(256 * kKiB, 40, kMostExcess); }

TEST(DecayedTopWindow, never_undercounts_in_little_memory) { expect_counts_of_the_window(9 * kKiB, 1000, 1e9); }

TEST(DecayedTopWindow, an_event_expires_between_one_window_and_a_pane_more) {
  for (const std::int64_t second : {0, 1, 59}) {
    auto filter = make_window(64 * kKiB);
    const std::int64_t event = 6000 + second;
    insert(filter, "/a", at(event));
    EXPECT_EQ(estimate_at(filter, "/a", at(event) + kWindow), 1) << second;
    EXPECT_EQ(filter.top(5, 0, at(event) + kWindow).size(), 1U);
    EXPECT_EQ(estimate_at(filter, "/a", at(event) + kWindow + kPane), 0) << second;
    EXPECT_TRUE(filter.top(5, 0, at(event) + kWindow + kPane).empty());
    EXPECT_TRUE(filter.above(1, at(event) + kWindow + kPane).empty());
    filter.advance(tick_of(at(event) + kWindow, kPane));
    EXPECT_EQ(estimate_at(filter, "/a"), 1) << second;
    filter.advance(tick_of(at(event) + kWindow + kPane, kPane));
    EXPECT_EQ(estimate_at(filter, "/a"), 0) << second;
    EXPECT_EQ(filter.names(), 0U);
    EXPECT_EQ(filter.fill_ratio(), 0);
    EXPECT_EQ(filter.keys_estimate(), 0);
    EXPECT_EQ(filter.fpr_estimate(), 0);
  }
}

TEST(DecayedTopWindow, balanced_counts_have_the_share_of_the_oldest_pane) {
  auto filter = make_window(64 * kKiB, CountRounding::balanced);
  ExactPanes exact;
  for (std::int64_t i = 0; i < 1000; ++i) {
    insert(filter, "/a", at(6000 + i));
    exact.insert("/a", at(6000 + i), 1);
  }
  for (const std::int64_t second : {6999, 7000, 7019, 7020, 7021, 7050, 7200, 8000}) {
    const double share = 1 - static_cast<double>(second % 60) / 60;
    EXPECT_NEAR(estimate_at(filter, "/a", at(second)), exact.count("/a", tick_of(at(second), kPane), share), 0.01)
        << second;
  }
  EXPECT_NEAR(estimate_at(filter, "/a", at(7000)), 480, 0.1) << "one per second, of eight minutes";
}

TEST(DecayedTopWindow, an_event_before_the_window_is_late_and_dropped) {
  auto filter = make_window(64 * kKiB);
  insert(filter, "/a", at(60'000));
  insert(filter, "/b", at(60'000) - kWindow, 5);
  insert(filter, "/c", at(60'000) - kWindow - seconds(1), 7);
  EXPECT_EQ(filter.late_records(), 12U);
  EXPECT_EQ(filter.keys_inserted(), 13U);
  EXPECT_EQ(estimate_at(filter, "/b"), 5);
  EXPECT_EQ(estimate_at(filter, "/c"), 0);
  filter.advance({filter.tick().value + 1});
  EXPECT_EQ(estimate_at(filter, "/b"), 0);
  filter.advance({filter.tick().value + 100});
  EXPECT_EQ(filter.late_records(), 12U) << "cleared panes leave what was late";
}

TEST(DecayedTopWindow, a_key_of_several_panes_is_listed_once) {
  auto filter = make_window(64 * kKiB);
  for (std::int64_t pane = 0; pane < 12; ++pane) {
    insert(filter, "/a", at(60 * pane + 5), 2);
    insert(filter, "/b", at(60 * pane + 7), 2);
    insert(filter, key_of(static_cast<std::uint64_t>(pane)), at(60 * pane + 9), 3);
  }
  const auto entries = filter.top(100);
  ASSERT_EQ(entries.size(), 11U);
  EXPECT_EQ(entries[0].key, "/a");
  EXPECT_EQ(entries[0].count.raw, 18);
  EXPECT_EQ(entries[0].last_seen, at(60 * 11 + 5));
  EXPECT_EQ(entries[1].key, "/b");
  EXPECT_EQ(entries[2].count.raw, 3);
  EXPECT_EQ(filter.names(), 3U) << "of one pane";
  const auto page = filter.top(3, 2);
  ASSERT_EQ(page.size(), 3U);
  for (std::size_t i = 0; i < page.size(); ++i) {
    EXPECT_EQ(page[i].key, entries[2 + i].key);
  }
}

TEST(DecayedTopWindow, clear_relocate_and_all_of_time) {
  auto filter = make_window(32 * kKiB);
  for (std::int64_t i = 0; i < 2000; ++i) {
    insert(filter, key_of(static_cast<std::uint64_t>(i) % 300), at(6000 + i));
  }
  const auto before = filter.to_bytes();
  int moves = 0;
  filter.relocate({.move = move_away, .context = &moves});
  EXPECT_EQ(moves, 1);
  EXPECT_EQ(filter.to_bytes(), before);
  insert(filter, "/moved", at(8000));
  EXPECT_EQ(estimate_at(filter, "/moved"), 1);
  const Tick tick = filter.tick();
  filter.clear();
  EXPECT_EQ(filter.tick(), tick);
  EXPECT_EQ(filter.fill_ratio(), 0);
  EXPECT_TRUE(filter.top(5).empty());
  insert(filter, "/again", at(8000));
  filter.advance({kMaxTick});
  filter.advance({kMaxTick});
  EXPECT_EQ(estimate_at(filter, "/again"), 0);
  filter.insert(Digest{7});
  EXPECT_TRUE(filter.may_contain(Digest{7}));
  EXPECT_TRUE(DecayedTop::from_bytes(filter.to_bytes()).has_value());
}

TEST(DecayedTopWindow, a_window_is_a_part_of_the_shape) {
  const auto filter = make_window(64 * kKiB);
  EXPECT_EQ(filter.window(), kWindow);
  EXPECT_EQ(filter.decay(), (Decay{.lambda_q32 = kLambdaOne, .epoch = kPane}));
  EXPECT_LE(filter.image_bytes(), 64 * kKiB);
  EXPECT_GT(filter.image_bytes(), 63 * kKiB);
  EXPECT_EQ(DecayedTop::from_bytes(filter.to_bytes())->window(), kWindow);
  auto totals = DecayedTop::create({.bytes = 64 * kKiB, .decay = filter.decay(), .hash = kXxh3}).value();
  EXPECT_EQ(totals.window(), Duration());
  EXPECT_FALSE(totals.merge(filter).has_value());
  for (const Duration window : {Duration(-8), Duration(7), Duration(12), kLongestDuration + Duration(8)}) {
    const auto made = DecayedTop::create({.bytes = 64 * kKiB, .window = window});
    ASSERT_FALSE(made.has_value()) << window.count();
    EXPECT_NE(made.error().detail.find("multiple of 8 us"), std::string::npos);
  }
  EXPECT_TRUE(DecayedTop::create({.bytes = 64 * kKiB, .window = Duration(8)}).has_value());
  EXPECT_FALSE(DecayedTop::create({.bytes = 4000, .window = kWindow}).has_value()) << "nine panes do not fit";
}

}  // namespace
}  // namespace mankai::test
