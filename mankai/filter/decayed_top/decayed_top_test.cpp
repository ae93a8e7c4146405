// decayed-top beside exact counts that fade: what it says is never below the truth, the hottest keys are in its list,
// and it behaves where the table, the arena or the cells are too small.

#include "mankai/filter/decayed_top/decayed_top.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "mankai/filter/decayed_top/decayed_top_test_support.hpp"
#include "mankai/hot/exact_decayed_counts.hpp"
#include "tests/support/filter_request.hpp"
#include "tests/support/moving_memory.hpp"

namespace mankai::test {
namespace {

using std::chrono::seconds;

const Decay kTenth = Decay::of(0.9, seconds(60)).value();

DecayedTop make_top(DecayedTop::Options options) {
  options.hash = kXxh3;
  return DecayedTop::create(options).value();
}

double estimate(const DecayedTop& filter, std::string_view key) { return filter.estimate(filter.hasher()(key)).raw; }

// Keys of a Zipf distribution with exponent 1, by inverting its continuous form: key r with about 1 / (r ln n).
class Zipf {
 public:
  Zipf(std::uint64_t seed, double keys) : random_(seed), log_keys_(std::log(keys)) {}
  std::uint64_t next() {
    const double uniform = static_cast<double>(random_.number() >> 11) * 0x1p-53;
    return static_cast<std::uint64_t>(std::exp(uniform * log_keys_));
  }

 private:
  Random random_;
  double log_keys_;
};

// A filter and the truth.
struct Pair {
  DecayedTop filter;
  ExactDecayedCounts exact;

  explicit Pair(DecayedTop made) : filter(std::move(made)), exact(filter.decay().lambda()) {}

  void insert(std::string_view key, Time when, std::uint32_t count = 1) {
    test::insert(filter, key, when, count);
    for (; count != 0; --count) {
      exact.insert(key, tick_of(when, filter.epoch()));
    }
  }
  // Sums of doubles are right to 15 digits.
  void expect_no_undercount() const {
    for (const auto& [key, count] : exact.top(exact.size(), filter.tick())) {
      ASSERT_GE(estimate(filter, key) * (1 + 1e-12), count) << key;
    }
  }
};

TEST(DecayedTop, counts_fade_by_lambda_an_epoch) {
  auto filter = make_top({.bytes = 64 * kKiB, .decay = kTenth});
  for (int i = 0; i < 1000; ++i) {
    insert(filter, "/a", at(30));
  }
  insert(filter, "/b", at(59));
  EXPECT_NEAR(estimate(filter, "/a"), 1000, kMostExcess);
  filter.advance(Tick{10});
  EXPECT_NEAR(estimate(filter, "/a"), 1000 * std::pow(0.9, 10), kMostExcess);
  EXPECT_GE(estimate(filter, "/a"), 1000 * std::pow(filter.decay().lambda(), 10));
  const auto entries = filter.top(5);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].key, "/a");
  EXPECT_EQ(entries[1].key, "/b");
  EXPECT_EQ(entries[0].last_seen, at(30));
  EXPECT_EQ(entries[1].last_seen, at(59));
  EXPECT_DOUBLE_EQ(entries[0].count.rate, entries[0].count.raw * (1 - filter.decay().lambda()));
  EXPECT_EQ(filter.newest(), at(59));
  EXPECT_EQ(filter.tick(), Tick{10});
}

TEST(DecayedTop, pages_one_after_the_other_are_the_list) {
  auto filter = make_top({.bytes = 64 * kKiB, .decay = kTenth});
  Zipf zipf(1, 2000);
  for (int i = 0; i < 5000; ++i) {  // many keys have the same count
    insert(filter, key_of(zipf.next()), at(0));
  }
  const auto whole = filter.top(std::numeric_limits<std::size_t>::max());
  ASSERT_GT(whole.size(), 100U);
  for (const std::size_t most : {std::size_t{1}, std::size_t{7}, whole.size() - 1, whole.size() + 1}) {
    std::size_t skip = 0;
    for (auto page = filter.top(most); !page.empty(); page = filter.top(most, skip)) {
      ASSERT_LE(page.size(), most);
      for (std::size_t i = 0; i < page.size(); ++i) {
        ASSERT_EQ(page[i].key, whole[skip + i].key) << skip + i;
        ASSERT_EQ(page[i].count.raw, whole[skip + i].count.raw);
      }
      skip += page.size();
    }
    EXPECT_EQ(skip, whole.size());
  }
  EXPECT_TRUE(filter.top(5, whole.size()).empty());
  EXPECT_TRUE(filter.top(5, std::numeric_limits<std::size_t>::max()).empty());
  EXPECT_TRUE(filter.top(0, 1).empty());
}

TEST(DecayedTop, skipped_epochs_equal_single_ones) {
  auto skipping = make_top({.bytes = 16 * kKiB, .decay = kTenth});
  Zipf zipf(1, 5000);
  for (int i = 0; i < 20000; ++i) {
    insert(skipping, key_of(zipf.next()), at(i / 100));
  }
  auto stepping = DecayedTop::from_bytes(skipping.to_bytes()).value();
  for (const std::uint64_t more : {1U, 2U, 3U, 50U, 1000U, 100000U}) {
    const Tick then{skipping.tick().value + more};
    skipping.advance(then);
    for (std::uint64_t i = 0; i < std::min(more, std::uint64_t{2000}); ++i) {
      stepping.advance(Tick{stepping.tick().value + 1});
    }
    stepping.advance(then);
    ASSERT_EQ(skipping.to_bytes(), stepping.to_bytes()) << more;
  }
  skipping.advance(Tick{0});
  EXPECT_EQ(skipping.to_bytes(), stepping.to_bytes()) << "time does not go back";
}

// A Zipf stream with late events in any order and skipped epochs.
void expect_no_undercount_of_a_stream(std::uint64_t bytes, double lambda) {
  Pair pair(make_top({.bytes = bytes, .decay = Decay::of(lambda, seconds(10)).value()}));
  Zipf zipf(bytes, 3000);
  Random random(bytes + 1);
  std::int64_t now = 1000000;
  for (int i = 1; i <= 20000; ++i) {
    now += random.below(50) == 0 ? static_cast<std::int64_t>(random.below(40)) : 0;
    now += random.below(5000) == 0 ? 5000 : 0;
    const bool is_late = random.below(10) == 0;
    pair.insert(key_of(zipf.next()), at(now - (is_late ? static_cast<std::int64_t>(random.below(200)) : 0)));
    if (i % 4000 == 0) {
      pair.expect_no_undercount();
    }
  }
  EXPECT_GT(pair.filter.late_records(), 1000U);
  EXPECT_EQ(pair.filter.keys_inserted(), 20000U);
}

// Goal: the promise, against the exact model, in filters so small that everything collides, and one that is roomy.
TEST(DecayedTop, never_undercounts) {
  for (const std::uint64_t bytes : {std::uint64_t{3} * kKiB, 8 * kKiB, 64 * kKiB}) {
    for (const double lambda : {0.5, 0.9, 0.99, 1.0}) {
      expect_no_undercount_of_a_stream(bytes, lambda);
    }
  }
}

TEST(DecayedTop, a_count_at_once_is_as_many_events) {
  auto at_once = make_top({.bytes = 64 * kKiB, .decay = kTenth});
  auto single = at_once.create_like().value();
  Random random(5);
  for (int i = 0; i < 3000; ++i) {
    const std::string key = key_of(random.below(100));
    const Time when = at(static_cast<std::int64_t>(100000 + 10 * i - (random.below(4) == 0 ? 300 : 0)));
    const auto count = static_cast<std::uint32_t>(1 + random.below(40));
    insert(at_once, key, when, count);
    for (std::uint32_t j = 0; j < count; ++j) {
      insert(single, key, when);
    }
  }
  EXPECT_GT(at_once.late_records(), 1000U);
  EXPECT_EQ(at_once.keys_inserted(), single.keys_inserted());
  for (std::uint64_t number = 0; number < 100; ++number) {
    EXPECT_NEAR(estimate(at_once, key_of(number)), estimate(single, key_of(number)), kMostExcess);
  }
}

void expect_counts_at_once_never_too_low(std::uint64_t bytes, double lambda) {
  Pair pair(make_top({.bytes = bytes, .decay = Decay::of(lambda, seconds(10)).value()}));
  Zipf zipf(bytes, 2000);
  Random random(bytes + 7);
  std::int64_t now = 1000000;
  for (int i = 1; i <= 6000; ++i) {
    now += static_cast<std::int64_t>(random.below(3));
    const std::string key = key_of(zipf.next());
    const auto count = static_cast<std::uint32_t>(1 + random.below(random.below(50) == 0 ? 200 : 4));
    pair.insert(key, at(now - (random.below(10) == 0 ? 100 : 0)), count);
  }
  pair.expect_no_undercount();
}

// Goal: the promise, in filters so small that everything collides and the table changes hands all the time.
TEST(DecayedTop, counts_at_once_are_never_too_low) {
  for (const std::uint64_t bytes : {std::uint64_t{3} * kKiB, 16 * kKiB}) {
    for (const double lambda : {0.5, 0.99, 1.0}) {
      expect_counts_at_once_never_too_low(bytes, lambda);
    }
  }
}

// Goal: no count ends. Method: few places and many keys of the largest counts; then time passes.
TEST(DecayedTop, the_largest_counts_at_once_are_never_too_low) {
  auto filter = make_top({.bytes = 3 * kKiB, .decay = Decay::of(0.9, seconds(1)).value()});
  std::vector<double> truth(200);
  Random random(9);
  for (std::int64_t epoch = 0; epoch < 600; ++epoch) {
    filter.advance(Tick{static_cast<std::uint64_t>(epoch)});
    for (double& count : truth) {
      count *= filter.decay().lambda();
    }
    for (int i = 0; epoch < 20 && i < 100; ++i) {
      const std::uint64_t number = random.below(4) == 0 ? 0 : random.below(truth.size());
      insert(filter, key_of(number), at(epoch), DecayedTop::kMostAtOnce);
      truth[number] += static_cast<double>(DecayedTop::kMostAtOnce);
    }
    for (std::uint64_t number = 0; number < truth.size(); ++number) {
      ASSERT_GE(estimate(filter, key_of(number)) * (1 + 1e-12), truth[number]) << number << " in epoch " << epoch;
    }
    ASSERT_TRUE(epoch % 100 != 0 || DecayedTop::from_bytes(filter.to_bytes()).has_value());
  }
}

// Goal: exponents keep their range, and time has no end. Method: a short half-life and long pauses, so that the base is
// moved several times; a λ of nothing, where one epoch is 64 octaves.
TEST(DecayedTop, long_times_move_the_base_of_all_exponents) {
  for (const double lambda : {0.5, 1e-9, 0.0}) {
    Pair pair(make_top({.bytes = 8 * kKiB, .decay = Decay::of(lambda, seconds(1)).value()}));
    Zipf zipf(12, 500);
    std::int64_t now = 0;
    for (const std::int64_t pause : {0, 1, 5, 1000, 2'000'000, 0, 3, 1'500'000'000, 2}) {
      now += pause;
      for (int i = 0; i < 3000; ++i) {
        pair.insert(key_of(zipf.next()), at(now - (i % 10 == 0 ? i / 10 : 0)));
      }
      pair.expect_no_undercount();
      ASSERT_TRUE(DecayedTop::from_bytes(pair.filter.to_bytes()).has_value()) << lambda << " " << now;
    }
    EXPECT_LT(estimate(pair.filter, key_of(1)), 3000 * 2);
  }
}

TEST(DecayedTop, memory_may_be_moved_under_it) {
  auto filter = make_top({.bytes = 8 * kKiB, .decay = kTenth});
  for (std::uint64_t number = 0; number < 500; ++number) {
    insert(filter, key_of(number), at(6000), static_cast<std::uint32_t>(1 + number % 7));
  }
  auto other = DecayedTop::from_bytes(filter.to_bytes()).value();
  int moves = 0;
  filter.relocate({.move = move_away, .context = &moves});
  EXPECT_EQ(moves, 1);
  EXPECT_EQ(filter.to_bytes(), other.to_bytes());
  for (std::uint64_t number = 0; number < 800; ++number) {
    insert(filter, key_of(number), at(6600), 2);
    insert(other, key_of(number), at(6600), 2);
  }
  EXPECT_EQ(filter.to_bytes(), other.to_bytes());
  EXPECT_EQ(filter.top(1)[0].key, other.top(1)[0].key);
}

TEST(DecayedTop, all_of_time_may_pass_at_once) {
  for (const double lambda : {0.0, 1e-9, 0.5, 1 - 0x1p-14}) {
    auto filter = make_top({.bytes = 8 * kKiB, .decay = Decay::of(lambda, seconds(1)).value()});
    insert(filter, "/a", at(0), DecayedTop::kMostAtOnce);
    filter.advance(Tick{~std::uint64_t{0}});
    EXPECT_EQ(filter.tick().value, kMaxTick);
    EXPECT_LE(estimate(filter, "/a"), 1e-9);
    EXPECT_TRUE(filter.top(5).empty());
    EXPECT_FALSE(filter.may_contain(filter.hasher()(std::string_view("/a"))));
    EXPECT_TRUE(filter.observe(filter.hasher()(std::string_view("/b"))) == false);
    EXPECT_TRUE(DecayedTop::from_bytes(filter.to_bytes()).has_value());
  }
}

TEST(DecayedTop, late_events_count_for_what_is_left_of_them) {
  auto filter = make_top({.bytes = 64 * kKiB, .decay = kTenth});
  insert(filter, "/now", at(6000));
  insert(filter, "/late", at(6000 - 5 * 60));
  EXPECT_EQ(filter.late_records(), 1U);
  EXPECT_NEAR(estimate(filter, "/late"), std::pow(0.9, 5), kMostExcess);
  EXPECT_GE(estimate(filter, "/late"), std::pow(filter.decay().lambda(), 5));
  insert(filter, "/now", at(6000 - 60));
  EXPECT_EQ(filter.top(1)[0].last_seen, at(6000)) << "the latest, not the last";
  EXPECT_EQ(filter.newest(), at(6000));
  insert(filter, "/older", Time(seconds(-5)));
  EXPECT_EQ(filter.late_records(), 3U);
  EXPECT_GT(estimate(filter, "/older"), 0) << "before 1970 counts as 1970";
}

double recall(const Pair& pair, std::size_t most) {
  const auto truth = pair.exact.top(most, pair.filter.tick());
  std::set<std::string_view> listed;
  const auto entries = pair.filter.top(most);
  for (const auto& entry : entries) {
    listed.insert(entry.key);
  }
  const auto found = std::ranges::count_if(truth, [&](const auto& entry) { return listed.contains(entry.key); });
  return static_cast<double>(found) / static_cast<double>(truth.size());
}

// Goal: a log of old that is read after a new one counts for nothing, however often its keys come.
// Method: three years, and ages where a hit is worth less than a cell's unit, a little less, and a little more.
TEST(DecayedTop, many_late_events_worth_nothing_are_worth_nothing_together) {
  const Decay hour = Decay::of_half_life(std::chrono::hours(1)).value();
  constexpr std::int64_t kNow = 1'700'000'000;
  for (const std::int64_t hours_ago : {26'000, 48, 30, 20, 14, 12}) {
    Pair pair(make_top({.bytes = 64 * kKiB, .decay = hour}));
    for (int i = 0; i < 1000; ++i) {
      pair.insert("/new", at(kNow));
    }
    constexpr int kTimes = 200'000;
    for (int i = 0; i < kTimes; ++i) {
      pair.insert("/old", at(kNow - hours_ago * 3600));
    }
    pair.expect_no_undercount();
    EXPECT_EQ(pair.filter.top(1).at(0).key, "/new") << hours_ago;
    EXPECT_LE(estimate(pair.filter, "/old"), pair.exact.estimate("/old", pair.filter.tick()) + kTimes * 0x1p-28)
        << hours_ago;
  }
}

// Where the table is full of hotter keys, the cells count a whole unit for each; but not above the coldest place.
TEST(DecayedTop, late_events_lift_no_key_above_what_is_listed) {
  const Decay hour = Decay::of_half_life(std::chrono::hours(1)).value();
  constexpr std::int64_t kNow = 1'700'000'000;
  Pair pair(make_top({.bytes = 16 * kKiB, .decay = hour}));
  const auto places = pair.filter.names_capacity();
  for (std::uint64_t i = 0; i < 40 * places; ++i) {
    pair.insert(key_of(i % (4 * places)), at(kNow));
  }
  ASSERT_GE(pair.filter.names(), places);
  for (int i = 0; i < 500'000; ++i) {
    pair.insert("/old", at(kNow - std::int64_t{26'000} * 3600));
  }
  pair.expect_no_undercount();
  const double listed = pair.filter.top(places).at(places / 2).count.raw;
  EXPECT_GE(listed, 10);
  EXPECT_LE(estimate(pair.filter, "/old"), listed + 0.01);
}

// Goal: files in the wrong order give what they give in the right one, but for rounding. Method: 30 days of a log, the
// newest first, beside the exact model, which does not care for order.
TEST(DecayedTop, a_log_given_backwards_is_ranked_as_it_should_be) {
  const Decay hour = Decay::of_half_life(std::chrono::hours(1)).value();
  Pair pair(make_top({.bytes = 64 * kKiB, .decay = hour}));
  Zipf zipf(11, 2000);
  for (int day = 30; day-- > 0;) {
    for (int i = 0; i < 10'000; ++i) {
      // Each day has its own hot keys.
      pair.insert(key_of(zipf.next() + static_cast<std::uint64_t>(day) * 100), at(day * 86400 + i * 8));
    }
  }
  pair.expect_no_undercount();
  EXPECT_EQ(recall(pair, 20), 1);
  for (const auto& entry : pair.filter.top(20)) {
    const double truth = pair.exact.estimate(entry.key, pair.filter.tick());
    EXPECT_LE(entry.count.raw, truth + 0.01 * truth + 0.1) << entry.key;
  }
  double largest = 0;
  for (const auto& [key, count] : pair.exact.top(pair.exact.size(), pair.filter.tick())) {
    largest = std::max(largest, estimate(pair.filter, key) - count);
  }
  EXPECT_LT(largest, 3) << "of any key, also of those that share all their cells";
}

// The promise of balanced counts: half of the error of strict ones in the same memory, right on the average, and the
// same bytes if the same is done again.
TEST(DecayedTop, balanced_counts_have_the_smaller_error) {
  Pair strict(make_top({.bytes = 32 * kKiB, .decay = kTenth}));
  auto balanced = make_top({.bytes = 32 * kKiB, .rounding = CountRounding::balanced, .decay = kTenth});
  ASSERT_EQ(balanced.rounding(), CountRounding::balanced);
  auto again = balanced.create_like().value();
  EXPECT_FALSE(balanced.merge(strict.filter).has_value()) << "another rounding";
  Zipf zipf(14, 30000);
  for (int i = 0; i < 200'000; ++i) {
    const std::string key = key_of(zipf.next());
    strict.insert(key, at(i / 300));
    insert(balanced, key, at(i / 300));
    insert(again, key, at(i / 300));
    if (i % 10'000 == 0) {
      balanced = DecayedTop::from_bytes(balanced.to_bytes()).value();
    }
  }
  EXPECT_EQ(balanced.to_bytes(), again.to_bytes());
  double strict_error = 0;
  double error = 0;
  double excess = 0;
  double total = 0;
  for (const auto& [key, count] : strict.exact.top(strict.exact.size(), strict.filter.tick())) {
    strict_error += estimate(strict.filter, key) - count;
    error += std::abs(estimate(balanced, key) - count);
    excess += estimate(balanced, key) - count;
    total += count;
  }
  EXPECT_LT(error, 0.7 * strict_error);
  EXPECT_GT(excess, -0.05 * total);
  for (const auto& entry : balanced.top(20)) {
    const double truth = strict.exact.estimate(entry.key, strict.filter.tick());
    EXPECT_NEAR(entry.count.raw, truth, 0.01 * truth + 0.1) << entry.key;
  }
}

// Two halves of a stream at different clocks, against one filter of all of it.
TEST(DecayedTop, merged_filters_are_about_as_right_as_one) {
  for (const CountRounding rounding : {CountRounding::strict, CountRounding::balanced}) {
    Pair one(make_top({.bytes = 32 * kKiB, .rounding = rounding, .decay = kTenth}));
    auto even = one.filter.create_like().value();
    auto odd = one.filter.create_like().value();
    Zipf zipf(15, 20000);
    for (int i = 0; i < 200'000; ++i) {
      const std::string key = key_of(zipf.next());
      one.insert(key, at(i / 300));
      insert(i % 2 == 0 && i < 190'000 ? even : odd, key, at(i / 300));
    }
    ASSERT_LT(even.tick(), odd.tick());
    ASSERT_TRUE(even.merge(odd).has_value());
    double one_error = 0;
    double merged_error = 0;
    for (const auto& [key, count] : one.exact.top(one.exact.size(), one.filter.tick())) {
      one_error += std::abs(estimate(one.filter, key) - count);
      merged_error += std::abs(estimate(even, key) - count);
      ASSERT_TRUE(rounding == CountRounding::balanced || estimate(even, key) * (1 + 1e-12) >= count) << key;
    }
    EXPECT_LT(merged_error, 1.5 * one_error);
    EXPECT_EQ(even.names() > 0, true);
  }
}

TEST(DecayedTop, lists_the_hottest_keys_of_a_zipf_stream) {
  for (const std::uint64_t kibibytes : {64U, 256U}) {
    Pair pair(make_top({.bytes = kibibytes * kKiB, .decay = kTenth}));
    Zipf zipf(kibibytes, 100000);
    for (int i = 0; i < 300000; ++i) {
      pair.insert(key_of(zipf.next()), at(i / 500));
    }
    EXPECT_EQ(recall(pair, 20), 1) << kibibytes;
    EXPECT_GE(recall(pair, 100), kibibytes == 64 ? 0.95 : 0.99) << kibibytes;
    for (const auto& entry : pair.filter.top(20)) {
      const double truth = pair.exact.estimate(entry.key, pair.filter.tick());
      EXPECT_NEAR(entry.count.raw, truth, 0.01 * truth + 0.1) << entry.key;
    }
  }
}

TEST(DecayedTop, hot_keys_of_old_make_room_for_those_of_today) {
  Pair pair(make_top({.bytes = 64 * kKiB, .decay = kTenth}));
  for (int day = 0; day < 5; ++day) {
    for (int i = 0; i < 20000; ++i) {
      pair.insert("/" + std::to_string(day) + "/" + std::to_string(i % 40), at(day * 86400 + i / 20));
    }
  }
  EXPECT_EQ(recall(pair, 40), 1);
}

TEST(DecayedTop, equal_counts_are_listed_in_the_order_of_their_bytes) {
  auto filter = make_top({.bytes = 64 * kKiB, .decay = kTenth});
  for (const char* key : {"c", "a", "", "d", "b"}) {
    insert(filter, key, at(1));
  }
  std::string order;
  for (const auto& entry : filter.top(10)) {
    order += "[" + std::string(entry.key) + "]";
  }
  EXPECT_EQ(order, "[][a][b][c][d]");
  EXPECT_EQ(filter.top(2).size(), 2U);
  EXPECT_TRUE(filter.top(0).empty());
}

TEST(DecayedTop, above_lists_every_candidate_from_a_count_on) {
  auto filter = make_top({.bytes = 64 * kKiB, .decay = kTenth});
  for (int i = 0; i < 50; ++i) {
    for (int times = 0; times <= i; ++times) {
      insert(filter, key_of(static_cast<std::uint64_t>(i)), at(1));
    }
  }
  EXPECT_EQ(filter.above(41 + kMostExcess).size(), 9U);
  EXPECT_EQ(filter.above(41).size(), 10U);
  EXPECT_EQ(filter.above(40.5).size(), 10U);
  EXPECT_EQ(filter.above(40).size(), 11U);
  EXPECT_EQ(filter.above(0).size(), 50U);
  EXPECT_EQ(filter.above(-1).size(), 50U);
  EXPECT_EQ(filter.above(std::nan("")).size(), 50U);
  EXPECT_TRUE(filter.above(1e300).empty());
}

TEST(DecayedTop, long_keys_are_cut_and_remain_different) {
  auto filter = make_top({.bytes = 256 * kKiB, .decay = kTenth});
  const std::string stem(2000, 'x');
  insert(filter, stem + "1", at(1));
  insert(filter, stem + "2", at(1));
  insert(filter, stem + "2", at(1));
  insert(filter, stem.substr(0, DecayedTop::kMostKeyBytes), at(1));
  const auto entries = filter.top(5);
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_NEAR(entries[0].count.raw, 2, kMostExcess);
  EXPECT_TRUE(entries[0].is_cut);
  EXPECT_EQ(entries[0].key, stem.substr(0, DecayedTop::kMostKeyBytes));
  const auto cut = std::ranges::count_if(entries, [](const auto& entry) { return entry.is_cut; });
  EXPECT_EQ(cut, 2) << "a key just as long as is kept is whole";
  EXPECT_TRUE(DecayedTop::from_bytes(filter.to_bytes()).has_value());
}

// Goal: an arena much too small for the keys keeps the hottest ones, and nothing of the promise is lost.
// Method: keys of 100 to 900 bytes where room for 16 is planned, hot ones among them.
TEST(DecayedTop, an_arena_too_small_for_all_keeps_the_hottest) {
  Pair pair(make_top({.bytes = 128 * kKiB, .decay = kTenth}));
  Zipf zipf(3, 20000);
  for (int i = 0; i < 60000; ++i) {
    const std::uint64_t number = zipf.next();
    pair.insert(key_of(number) + std::string(100 + number % 800, 'k'), at(i / 500));
    if (i % 5000 == 0) {
      ASSERT_TRUE(DecayedTop::from_bytes(pair.filter.to_bytes()).has_value());
    }
  }
  pair.expect_no_undercount();
  EXPECT_LT(pair.filter.names(), pair.filter.names_capacity() / 2);
  EXPECT_EQ(recall(pair, 10), 1);
  EXPECT_GE(recall(pair, 20), 0.9);
}

TEST(DecayedTop, an_image_stays_within_its_bytes_and_comes_back) {
  for (const std::uint64_t bytes : {2500U, 4096U, 65536U, 100000U, 262144U, 1048576U}) {
    auto filter = make_top({.bytes = bytes, .decay = kTenth});
    EXPECT_LE(filter.image_bytes(), bytes);
    EXPECT_EQ(filter.image_bytes(), DecayedTop::image_bytes_of({.bytes = bytes, .decay = kTenth}).value());
    EXPECT_GE(filter.image_bytes(), bytes - 600) << "no more is lost than lines that do not divide by k";
    Zipf zipf(bytes, 2000);
    for (int i = 0; i < 5000; ++i) {
      insert(filter, key_of(zipf.next()), at(i));
    }
    const auto image = filter.to_bytes();
    auto again = DecayedTop::from_bytes(image);
    ASSERT_TRUE(again.has_value()) << again.error().detail;
    // Both go on alike, also what is not in the image but known from it.
    for (int i = 0; i < 5000; ++i) {
      const std::string key = key_of(zipf.next());
      insert(filter, key, at(4000 + i));
      insert(*again, key, at(4000 + i));
    }
    EXPECT_EQ(filter.to_bytes(), again->to_bytes());
  }
}

TEST(DecayedTop, batches_agree_with_single_calls) {
  auto batch = make_top({.bytes = 16 * kKiB, .decay = kTenth});
  auto singles = make_top({.bytes = 16 * kKiB, .decay = kTenth});
  Zipf zipf(5, 3000);
  Random random(6);
  for (int round = 0; round < 30; ++round) {
    std::vector<std::string> texts;
    std::vector<Time> times;
    for (std::uint64_t i = 0; i < random.below(400); ++i) {
      texts.push_back(key_of(zipf.next()));
      times.push_back(at(std::int64_t{round} * 100 + static_cast<std::int64_t>(random.below(200))));
    }
    const std::vector<std::string_view> keys(texts.begin(), texts.end());
    std::vector<Digest> digests(keys.size());
    batch.hasher()(std::span(keys), std::span(digests));
    batch.insert(digests, keys, times);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      singles.insert(digests[i], keys[i], times[i]);
    }
    std::vector<DecayedCount> counts(keys.size());
    batch.estimate(digests, counts);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(counts[i], singles.estimate(digests[i]));
    }
    ASSERT_EQ(batch.to_bytes(), singles.to_bytes());
  }
}

TEST(DecayedTop, merging_adds_counts_and_never_undercounts) {
  Pair left(make_top({.bytes = 16 * kKiB, .decay = kTenth}));
  auto right = left.filter.create_like().value();
  Zipf zipf(7, 4000);
  for (int i = 0; i < 30000; ++i) {
    left.insert(key_of(zipf.next()), at(i / 20));
    const std::string key = key_of(zipf.next() + 1);
    insert(right, key, at(i / 25));
    left.exact.insert(key, tick_of(at(i / 25), kTenth.epoch));
  }
  const auto before = right.to_bytes();
  auto other_way = DecayedTop::from_bytes(before).value();
  ASSERT_TRUE(other_way.merge(left.filter).has_value());
  ASSERT_TRUE(left.filter.merge(right).has_value());
  EXPECT_EQ(right.to_bytes(), before);
  EXPECT_EQ(left.filter.tick(), other_way.tick());
  EXPECT_EQ(left.filter.keys_inserted(), 60000U);
  EXPECT_EQ(left.filter.newest(), at(29999 / 20));
  left.expect_no_undercount();
  EXPECT_EQ(recall(left, 20), 1);
  ASSERT_TRUE(DecayedTop::from_bytes(left.filter.to_bytes()).has_value());
  const auto here = left.filter.top(20);
  const auto there = other_way.top(20);
  for (std::size_t i = 0; i < here.size(); ++i) {
    EXPECT_EQ(here[i].key, there[i].key);
    EXPECT_EQ(here[i].count, there[i].count);
  }
}

TEST(DecayedTop, filters_that_do_not_fit_are_not_merged) {
  auto filter = make_top({.bytes = 16 * kKiB, .decay = kTenth});
  EXPECT_FALSE(filter.merge(make_top({.bytes = 32 * kKiB, .decay = kTenth})).has_value());
  EXPECT_FALSE(filter.merge(make_top({.bytes = 16 * kKiB, .decay = Decay::of(0.8, seconds(60)).value()})).has_value());
  EXPECT_FALSE(filter
                   .merge(DecayedTop::create(
                              {.bytes = 16 * kKiB, .decay = kTenth, .hash = {.kind = HashKind::xxh3, .seed = {9}}})
                              .value())
                   .has_value());
}

TEST(DecayedTop, a_key_without_its_bytes_is_counted_and_never_listed) {
  auto filter = make_top({.bytes = 64 * kKiB, .decay = kTenth});
  const Digest digest = filter.hasher()(std::string_view("/a"));
  EXPECT_FALSE(filter.observe(digest));
  EXPECT_TRUE(filter.observe(digest));
  EXPECT_NEAR(filter.estimate(digest).raw, 2, kMostExcess);
  EXPECT_TRUE(filter.top(5).empty());
  insert(filter, "/a", at(3));
  EXPECT_NEAR(filter.top(5).at(0).count.raw, 3, kMostExcess);
  EXPECT_TRUE(filter.observe(digest));
  EXPECT_NEAR(filter.top(5).at(0).count.raw, 4, kMostExcess);
  filter.advance(Tick{7});
  EXPECT_TRUE(filter.observe(digest));
  EXPECT_EQ(filter.top(5).at(0).last_seen, at(std::int64_t{7} * 60))
      << "now is the start of the epoch where no event is later";
  EXPECT_TRUE(DecayedTop::from_bytes(filter.to_bytes()).has_value());
}

TEST(DecayedTop, digest_zero_is_a_key_like_any_other) {
  auto filter = make_top({.bytes = 16 * kKiB, .decay = kTenth});
  EXPECT_FALSE(filter.may_contain(Digest{0}));
  EXPECT_FALSE(filter.observe(Digest{0}));
  EXPECT_TRUE(filter.may_contain(Digest{0}));
  EXPECT_NEAR(filter.estimate(Digest{0}).raw, 1, kMostExcess);
}

TEST(DecayedTop, lambda_zero_forgets_at_once) {
  auto filter = make_top({.bytes = 16 * kKiB, .decay = Decay::of(0, seconds(1)).value()});
  insert(filter, "/a", at(1));
  insert(filter, "/late", at(0));
  EXPECT_EQ(filter.top(5).size(), 1U);
  insert(filter, "/b", at(2));
  ASSERT_EQ(filter.top(5).size(), 1U);
  EXPECT_EQ(filter.top(5)[0].key, "/b");
  EXPECT_TRUE(DecayedTop::from_bytes(filter.to_bytes()).has_value());
}

TEST(DecayedTop, clear_forgets_all_but_the_time) {
  auto filter = make_top({.bytes = 16 * kKiB, .decay = kTenth});
  const auto empty_like = [&] { return filter.create_like().value(); };
  for (int i = 0; i < 1000; ++i) {
    insert(filter, key_of(static_cast<std::uint64_t>(i)), at(i));
  }
  const Tick tick = filter.tick();
  filter.clear();
  EXPECT_EQ(filter.tick(), tick);
  EXPECT_EQ(filter.names(), 0U);
  EXPECT_EQ(filter.fill_ratio(), 0);
  auto expected = empty_like();
  expected.advance(tick);
  EXPECT_EQ(filter.to_bytes(), expected.to_bytes());
}

TEST(DecayedTop, impossible_requests_say_what_to_do) {
  const auto refused = [](const DecayedTop::Options& options) {
    const auto made = DecayedTop::create(options);
    return !made.has_value() && made.error().code == ErrorCode::invalid_argument && !made.error().detail.empty();
  };
  EXPECT_TRUE(refused({.bytes = 64 * kKiB})) << "no decay";
  EXPECT_FALSE(DecayedTop::image_bytes_of({.bytes = 64 * kKiB}).has_value());
  EXPECT_TRUE(refused({.decay = kTenth})) << "no size";
  EXPECT_TRUE(refused({.bytes = 100, .decay = kTenth}));
  EXPECT_TRUE(refused({.bytes = 64 * kKiB, .names = 1000, .decay = kTenth}));
  EXPECT_FALSE(refused({.bytes = 64 * kKiB, .names = 500, .decay = kTenth}));
  EXPECT_TRUE(refused({.fpr = 0, .bytes = 64 * kKiB, .decay = kTenth}));
  EXPECT_TRUE(refused({.keys = 1000, .fpr = 1, .decay = kTenth}));
  EXPECT_FALSE(refused({.bytes = 64 * kKiB, .decay = Decay::of(1 - 1e-9, seconds(1)).value()}));
  EXPECT_FALSE(refused({.keys = 1000, .decay = kTenth}));
}

// Old keys leave a full table, however long nothing was counted.
TEST(DecayedTop, hot_keys_after_a_pause_get_names) {
  for (const int half_lives : {20, 33, 34, 40, 1000, 3'000'000}) {
    DecayedTop filter =
        DecayedTop::create({.bytes = 65536, .decay = Decay::of(0.5, seconds(1)).value(), .hash = {}}).value();
    const auto insert = [&filter](const std::string& key, Time at) { filter.insert(filter.hasher()(key), key, at); };
    for (int i = 0; i < 20'000; ++i) {
      insert("old" + std::to_string(i), Time(seconds(1)));
    }
    for (int i = 0; i < 20'000; ++i) {
      insert("hot" + std::to_string(i % 20), Time(seconds(1 + half_lives)));
    }
    const auto top = filter.top(20);
    EXPECT_EQ(std::ranges::count_if(top, [](const auto& entry) { return entry.key.starts_with("hot"); }), 20)
        << half_lives;
  }
}

// The bases of their weights differ, and the count is far above what one insert adds.
TEST(DecayedTop, a_merge_of_high_counts_with_different_bases_is_not_too_low) {
  const Decay decay = Decay::of(std::ldexp(1, -16), seconds(1)).value();
  const auto create = [&decay] { return DecayedTop::create({.bytes = 65536, .decay = decay, .hash = {}}).value(); };
  DecayedTop early = create();
  DecayedTop late = create();
  const auto insert = [](DecayedTop& filter, const std::string& key, std::int64_t at, std::uint32_t count) {
    filter.insert(filter.hasher()(key), key, Time(seconds(at)), count);
  };
  constexpr std::int64_t kBase = 70'000;
  constexpr int kInserts = 1024;
  insert(early, "other", kBase, 1);
  insert(late, "other", kBase + 100, 1);
  for (int i = 0; i < kInserts; ++i) {
    insert(late, "key", kBase + 65'532, DecayedTop::kMostAtOnce);
  }
  ASSERT_TRUE(early.merge(late).has_value());
  EXPECT_GE(early.estimate(early.hasher()(std::string_view("key"))).raw, double{DecayedTop::kMostAtOnce} * kInserts);
}

}  // namespace
}  // namespace mankai::test
