// time-decaying-counts against an exact model: for each key the sum of λ^age, with λ as the filter computes with it.

#include "mankai/filter/time_decaying_counts/time_decaying_counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "tests/support/cut_cells.hpp"
#include "tests/support/filter_request.hpp"
#include "tests/support/outcomes.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {
namespace {

using Options = TimeDecayingCounts::Options;

constexpr DecayPolicy kPolicies[] = {DecayPolicy::fixed_point, DecayPolicy::floor, DecayPolicy::ceil,
                                     DecayPolicy::stochastic};
constexpr IncrementRule kRules[] = {IncrementRule::all, IncrementRule::minimum};
// The model adds and multiplies doubles: its own rounding, relative.
constexpr double kModelError = 1e-11;

Decay decay_of(double lambda) { return Decay::of(lambda, Duration(1'000'000)).value(); }

TimeDecayingCounts made(Options options) {
  options.hash = kXxh3;
  auto filter = TimeDecayingCounts::create(options);
  EXPECT_TRUE(filter.has_value()) << filter.error().detail;
  return std::move(*filter);
}

// A filter and the truth about the keys 0 to count - 1.
class Checked {
 public:
  Checked(const Options& options, std::size_t count, std::uint64_t seed)
      : filter_(made(options)), lambda_(filter_.decay().lambda()), truth_(count), counts_(count), random_(seed) {
    for (std::size_t key = 0; key < count; ++key) {
      digests_.push_back(filter_.hasher()(std::uint64_t{key}));
    }
  }

  // Some keys come, the low numbers more often; a few of them late.
  void insert(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t key = random_.below(1 + random_.below(truth_.size()));
      if (random_.below(8) == 0) {
        const std::uint64_t age = std::min<std::uint64_t>(random_.below(6), filter_.tick().value);
        filter_.insert_late(digests_[key], Tick{filter_.tick().value - age});
        truth_[key] += std::pow(lambda_, static_cast<double>(age));
      } else {
        filter_.insert(digests_[key]);
        truth_[key] += 1;
      }
    }
  }
  void advance(std::uint64_t epochs) {
    filter_.advance(Tick{filter_.tick().value + epochs});
    const double share = std::pow(lambda_, static_cast<double>(epochs));
    for (double& truth : truth_) {
      truth *= share;
    }
  }
  // Takes in the other's truth as it is by now.
  void merge(const Checked& other) {
    const double behind = static_cast<double>(filter_.tick().value) - static_cast<double>(other.filter_.tick().value);
    ASSERT_TRUE(filter_.merge(other.filter_).has_value());
    for (std::size_t key = 0; key < truth_.size(); ++key) {
      truth_[key] = truth_[key] * std::pow(lambda_, std::max(0.0, -behind)) +
                    other.truth_[key] * std::pow(lambda_, std::max(0.0, behind));
    }
  }

  // Returns by how much the worst estimate is below the truth, and how many are.
  struct Below {
    double most = 0;
    std::size_t count = 0;
  };
  Below below() {
    filter_.estimate(digests_, counts_);
    Below found;
    for (std::size_t key = 0; key < truth_.size(); ++key) {
      if (counts_[key].raw < truth_[key] * (1 - kModelError)) {
        ++found.count;
        found.most = std::max(found.most, truth_[key] - counts_[key].raw);
      }
    }
    return found;
  }

  [[nodiscard]] const TimeDecayingCounts& filter() const { return filter_; }
  [[nodiscard]] double truth() const {
    double sum = 0;
    for (const double each : truth_) {
      sum += each;
    }
    return sum;
  }
  [[nodiscard]] double estimated() {
    filter_.estimate(digests_, counts_);
    double sum = 0;
    for (const DecayedCount& count : counts_) {
      sum += count.raw;
    }
    return sum;
  }

 private:
  TimeDecayingCounts filter_;
  double lambda_;
  std::vector<Digest> digests_;
  std::vector<double> truth_;
  std::vector<DecayedCount> counts_;
  Random random_;
};

constexpr std::size_t kStrictKeys = 2000;

// Returns how many questions were asked.
std::uint64_t expect_strict(const Options& options) {
  Checked checked(options, kStrictKeys, options.keys);
  std::uint64_t checks = 0;
  for (std::uint64_t round = 0; round < 160; ++round) {
    checked.insert(300);
    checked.advance(1 + round % 3 * (round % 2));
    const Checked::Below below = checked.below();
    EXPECT_EQ(below.count, 0U) << "by " << below.most << " lambda " << options.decay.lambda() << " round " << round;
    checks += kStrictKeys;
  }
  EXPECT_EQ(checked.filter().saturations(), 0U);
  return checks;
}

// Goal: no estimate is ever too low. Method: filters with room, where a rounded cell shows, and one that is far too
// small; after every few inserts and ticks all keys are asked for: more than 1e7 questions in all.
TEST(TimeDecayingCounts, a_strict_count_is_never_too_low_in_ten_million_checks) {
  std::uint64_t checks = 0;
  for (const DecayPolicy policy : {DecayPolicy::fixed_point, DecayPolicy::ceil}) {
    for (const double lambda : {0.3, 0.9, 0.989228, 0.9999}) {
      for (const IncrementRule rule : kRules) {
        Options options{.k = 4, .decay = decay_of(lambda), .width_bits = 32, .policy = policy, .rule = rule};
        options.keys = 50;
        checks += expect_strict(options);
        options.keys = 20000;
        checks += expect_strict(options);
      }
    }
  }
  EXPECT_GE(checks, 10'000'000U);
}

// With room, a fixed-point count is also no more than 1/64 and a rounding above the truth.
TEST(TimeDecayingCounts, a_strict_count_is_near_the_truth_where_there_is_room) {
  for (const double lambda : {0.5, 0.9, 0.989228}) {
    Checked checked({.keys = 20000, .fpr = 1e-9, .decay = decay_of(lambda)}, 1000, 3);
    for (int round = 0; round < 300; ++round) {
      checked.insert(200);
      checked.advance(1);
    }
    const double above = checked.estimated() - checked.truth();
    EXPECT_GE(above, 0);
    EXPECT_LE(above, 1000 * (1.0 / 64 + 1.0 / 64));
  }
}

// The paper's claim 1 says that a decayed count is never too low; its cells are integers, cut down in every epoch.
TEST(TimeDecayingCounts, floor_counts_too_low_by_at_most_what_the_text_says) {
  for (const double lambda : {0.5, 0.9, 0.99}) {
    std::size_t low = 0;
    for (const IncrementRule rule : kRules) {
      Checked checked(
          {.keys = 20000, .fpr = 1e-6, .decay = decay_of(lambda), .policy = DecayPolicy::floor, .rule = rule}, 1000, 4);
      for (int round = 0; round < 200; ++round) {
        checked.insert(300);
        checked.advance(1);
        const Checked::Below below = checked.below();
        low += below.count;
        // A late insert, already cut when it comes, is one more rounding for each of them.
        ASSERT_LE(below.most, 1 / (1 - lambda) + 100);
      }
    }
    EXPECT_GT(low, 1000U) << lambda;
  }
}

TEST(TimeDecayingCounts, a_lone_key_under_floor_loses_up_to_one_an_epoch) {
  auto filter = made({.keys = 100, .decay = decay_of(0.9), .policy = DecayPolicy::floor});
  const Digest key{1};
  filter.insert(key, 1000);
  double truth = 1000;
  double most = 0;
  for (std::uint64_t tick = 1; tick <= 100; ++tick) {
    filter.advance(Tick{tick});
    truth *= filter.decay().lambda();
    most = std::max(most, truth - filter.estimate(key).raw);
    ASSERT_LE(truth - filter.estimate(key).raw, 10 + 1e-9) << tick;
  }
  EXPECT_GT(most, 4) << "claim 1 of the paper would have it at 0";
  EXPECT_EQ(filter.estimate(key).raw, 0);
}

// Keys that share no cell with another, each inserted so often at tick 0; late, or in time.
std::vector<Digest> insert_apart(TimeDecayingCounts& filter, std::uint32_t times, std::uint64_t age, bool is_late) {
  std::vector<Digest> keys;
  for (const Digest key : Random(filter.width_bits()).digests(20000)) {
    if (!filter.may_contain(key)) {
      keys.push_back(key);
      filter.insert(key, times);
    }
  }
  if (is_late) {
    filter.clear();
    filter.advance(Tick{age});
    for (std::size_t i = 0; i < keys.size() * times; ++i) {
      filter.insert_late(keys[i / times], Tick{0});
    }
  }
  return keys;
}

void expect_mean(const TimeDecayingCounts& filter, const std::vector<Digest>& keys, double expected) {
  double sum = 0;
  double squares = 0;
  for (const Digest key : keys) {
    const double raw = filter.estimate(key).raw;
    sum += raw;
    squares += raw * raw;
  }
  const auto count = static_cast<double>(keys.size());
  const double mean = sum / count;
  EXPECT_NEAR(mean, expected, 4 * std::sqrt((squares / count - mean * mean) / count)) << filter.width_bits();
}

// One cell a key and no cell of two keys: the smallest of several would be too low in the mean.
TEST(TimeDecayingCounts, stochastic_rounding_is_right_in_the_mean) {
  constexpr std::uint32_t kTimes = 5;
  constexpr std::uint64_t kAge = 9;
  for (const std::uint32_t width : {8U, 16U, 32U}) {
    for (const bool is_late : {false, true}) {
      auto filter = made({.bytes = std::size_t{1} << 22,
                          .k = 1,
                          .decay = decay_of(0.8),
                          .width_bits = width,
                          .policy = DecayPolicy::stochastic});
      const std::vector<Digest> keys = insert_apart(filter, kTimes, kAge, is_late);
      filter.advance(Tick{kAge});
      expect_mean(filter, keys, kTimes * std::pow(filter.decay().lambda(), kAge));
    }
  }
}

void expect_skipping_is_stepping(const Options& options) {
  auto skipping = made(options);
  auto stepping = made(options);
  Random random(options.width_bits);
  for (const std::uint64_t epochs : {1U, 2U, 5U, 40U, 1U, 3000U, 7U}) {
    for (const Digest digest : random.digests(200)) {
      skipping.insert(digest, 3);
      stepping.insert(digest, 3);
    }
    const std::uint64_t then = skipping.tick().value + epochs;
    skipping.advance(Tick{then});
    while (stepping.tick().value < then) {
      stepping.advance(Tick{stepping.tick().value + 1});
    }
    ASSERT_EQ(skipping.to_bytes(), stepping.to_bytes())
        << name(options.policy) << options.width_bits << ' ' << options.decay.lambda();
  }
}

// Whatever the policy, rule and width, and for draws, too: they depend on the tick, not on the call.
TEST(TimeDecayingCounts, skipping_epochs_is_taking_each) {
  for (const DecayPolicy policy : kPolicies) {
    for (const std::uint32_t width : {8U, 16U, 32U}) {
      for (const double lambda : {0.0, 0.5, 0.97, 1.0}) {
        expect_skipping_is_stepping({.keys = 300,
                                     .decay = decay_of(lambda),
                                     .width_bits = width,
                                     .policy = policy,
                                     .rule = kRules[width % 3 % 2],
                                     .forced = true});
      }
    }
  }
}

TEST(TimeDecayingCounts, time_does_not_go_back_and_never_ends) {
  auto filter = made({.keys = 10, .decay = decay_of(0.9)});
  filter.advance(Tick{1000});
  filter.insert(Digest{3});
  const auto before = filter.to_bytes();
  filter.advance(Tick{1000});
  filter.advance(Tick{5});
  EXPECT_EQ(filter.to_bytes(), before);
  filter.advance(Tick{~std::uint64_t{0}});
  EXPECT_EQ(filter.tick(), Tick{kMaxTick});
  EXPECT_LE(filter.estimate(Digest{3}).raw, 1.0 / 64);
  EXPECT_TRUE(TimeDecayingCounts::from_bytes(filter.to_bytes()).has_value());
}

TEST(TimeDecayingCounts, lambda_0_forgets_at_once_and_lambda_1_never) {
  for (const DecayPolicy policy : kPolicies) {
    auto zero = made({.keys = 10, .decay = decay_of(0), .policy = policy});
    auto one = made({.keys = 10, .decay = decay_of(1), .policy = policy});
    for (int i = 0; i < 1000; ++i) {
      zero.insert(Digest{9});
      one.insert(Digest{9});
    }
    EXPECT_EQ(zero.estimate(Digest{9}), (DecayedCount{.raw = 1000, .rate = 1000, .is_saturated = false}));
    zero.advance(Tick{1});
    one.advance(Tick{1'000'000'000});
    EXPECT_EQ(zero.estimate(Digest{9}), DecayedCount{});
    EXPECT_FALSE(zero.may_contain(Digest{9}));
    EXPECT_EQ(one.estimate(Digest{9}), (DecayedCount{.raw = 1000, .rate = 0, .is_saturated = false}));
    EXPECT_EQ(zero.stuck_count(), 0);
    EXPECT_EQ(one.stuck_count(), std::numeric_limits<double>::infinity());
    zero.insert_late(Digest{9}, Tick{0});
    one.insert_late(Digest{9}, Tick{0});
    EXPECT_EQ(zero.estimate(Digest{9}).raw, 0);
    EXPECT_EQ(one.estimate(Digest{9}).raw, 1001);
  }
}

// A cell is cut at its largest value; that is counted, and said of every key that it may concern for as long as it
// matters, and of no other.
TEST(TimeDecayingCounts, what_saturates_is_counted_and_said_and_does_not_wrap) {
  for (const IncrementRule rule : kRules) {
    for (const std::uint32_t width : {8U, 16U}) {
      auto filter = made({.keys = 1000,
                          .fpr = 1e-9,
                          .k = 4,
                          .decay = decay_of(0.5),
                          .width_bits = width,
                          .policy = DecayPolicy::ceil,
                          .rule = rule});
      const Digest hot = mix_integer(1, 2);
      const Digest cold = mix_integer(3, 4);
      const auto largest = static_cast<std::uint32_t>(filter.largest_count());
      filter.insert(cold);
      filter.insert(hot, largest);
      EXPECT_EQ(filter.saturations(), 0U);
      EXPECT_FALSE(filter.estimate(hot).is_saturated);
      filter.insert(hot);
      filter.insert(hot, ~std::uint32_t{0});
      EXPECT_EQ(filter.saturations(), 2U * filter.probes_per_key());
      EXPECT_EQ(filter.estimate(hot).raw, largest);
      EXPECT_TRUE(filter.estimate(hot).is_saturated);
      EXPECT_FALSE(filter.estimate(cold).is_saturated);
      filter.advance(Tick{3});
      EXPECT_EQ(filter.estimate(hot).raw, (largest + 7) / 8);
      EXPECT_TRUE(filter.estimate(hot).is_saturated);
      filter.insert(cold, 5);
      EXPECT_FALSE(filter.estimate(cold).is_saturated);
      EXPECT_TRUE(TimeDecayingCounts::from_bytes(filter.to_bytes()).value().estimate(hot).is_saturated);
      filter.advance(Tick{100});
      EXPECT_FALSE(filter.estimate(hot).is_saturated);
      EXPECT_EQ(filter.saturations(), 2U * filter.probes_per_key());
    }
  }
}

// A key that is not said to be saturated is not too low, however often others were cut.
TEST(TimeDecayingCounts, an_estimate_that_saturation_made_too_low_says_so) {
  auto filter = made({.keys = 300, .decay = decay_of(0.9), .width_bits = 16, .fraction_bits = 10});
  std::vector<double> truth(400);
  Random random(8);
  std::uint64_t too_low = 0;
  for (std::uint64_t tick = 1; tick <= 200; ++tick) {
    for (int i = 0; i < 400; ++i) {
      const std::size_t key = random.below(1 + random.below(truth.size()));
      filter.insert(Digest{mix_integer(key, 1).value}, tick % 20 == 0 ? 40 : 1);
      truth[key] += tick % 20 == 0 ? 40 : 1;
    }
    for (std::size_t key = 0; key < truth.size(); ++key) {
      const DecayedCount count = filter.estimate(Digest{mix_integer(key, 1).value});
      const bool is_low = count.raw < truth[key] * (1 - kModelError);
      too_low += is_low ? 1U : 0U;
      ASSERT_TRUE(count.is_saturated || !is_low) << key << ": " << count.raw << " of " << truth[key];
    }
    filter.advance(Tick{tick});
    for (double& each : truth) {
      each *= filter.decay().lambda();
    }
  }
  EXPECT_GT(too_low, 0U);
}

// What a cell has lost may be far more than what it holds, and is missing when that has faded.
TEST(TimeDecayingCounts, what_is_cut_again_and_again_says_so_until_nothing_is_missing) {
  for (const IncrementRule rule : kRules) {
    for (const double lambda : {0.5, 0.8}) {
      auto filter = made(
          {.keys = 60, .fpr = 0.05, .decay = decay_of(lambda), .width_bits = 16, .rule = rule, .fraction_bits = 9});
      const auto insert = [](TimeDecayingCounts& into, Digest digest, std::uint64_t times) {
        into.insert(digest, static_cast<std::uint32_t>(times));
      };
      expect_that_low_estimates_say_so(filter, {.burst = 100'000}, insert);
    }
  }
}

TEST(TimeDecayingCounts, inserted_late_is_inserted_in_time_up_to_rounding) {
  for (const double lambda : {0.2, 0.9, 0.9999}) {
    for (const std::uint64_t age : {0U, 1U, 2U, 3U, 17U, 64U, 1000U, 4000000000U}) {
      const Options options{.keys = 10, .decay = decay_of(lambda)};
      auto in_time = made(options);
      auto late = made(options);
      in_time.insert(Digest{5});
      in_time.advance(Tick{age});
      late.advance(Tick{age});
      late.insert_late(Digest{5}, Tick{0});
      const double unit = std::ldexp(1, -static_cast<int>(late.fraction_bits()));
      const double truth = std::pow(late.decay().lambda(), static_cast<double>(age));
      EXPECT_GE(late.estimate(Digest{5}).raw, truth * (1 - kModelError));
      EXPECT_LE(late.estimate(Digest{5}).raw, truth + 2 * unit);
      EXPECT_LE(std::abs(in_time.estimate(Digest{5}).raw - late.estimate(Digest{5}).raw), 1.0 / 64 + unit);
      EXPECT_EQ(late.keys_inserted(), 1U);
    }
  }
}

TEST(TimeDecayingCounts, late_under_the_other_policies_rounds_as_they_do) {
  for (const DecayPolicy policy : {DecayPolicy::floor, DecayPolicy::ceil}) {
    auto filter = made({.keys = 10, .decay = decay_of(0.9), .policy = policy});
    filter.advance(Tick{10});
    filter.insert_late(Digest{5}, Tick{9});
    EXPECT_EQ(filter.estimate(Digest{5}).raw, policy == DecayPolicy::ceil ? 1 : 0);
    filter.insert_late(Digest{5}, Tick{10});
    filter.insert_late(Digest{5}, Tick{99});  // has not begun: as now
    EXPECT_EQ(filter.estimate(Digest{5}).raw, policy == DecayPolicy::ceil ? 3 : 2);
    EXPECT_EQ(filter.tick(), Tick{10});
  }
}

void expect_merged(IncrementRule rule, std::uint64_t behind, bool is_mine_behind) {
  const Options options{.keys = 3000, .fpr = 1e-4, .decay = decay_of(0.95), .rule = rule};
  Checked mine(options, 1000, 1);
  Checked theirs(options, 1000, 2);
  for (int round = 0; round < 20; ++round) {
    mine.insert(500);
    theirs.insert(500);
    mine.advance(1);
    theirs.advance(1);
  }
  (is_mine_behind ? theirs : mine).advance(behind);
  const auto before = theirs.filter().to_bytes();
  const std::uint64_t keys = mine.filter().keys_inserted() + theirs.filter().keys_inserted();
  mine.merge(theirs);
  EXPECT_EQ(mine.filter().tick(), Tick{20 + behind});
  EXPECT_EQ(mine.filter().keys_inserted(), keys);
  EXPECT_EQ(theirs.filter().to_bytes(), before);
  EXPECT_EQ(mine.below().count, 0U);
  EXPECT_LE(mine.estimated() - mine.truth(), 1000 * 3.0 / 64);
  mine.advance(5);
  EXPECT_EQ(mine.below().count, 0U);
}

TEST(TimeDecayingCounts, a_merge_counts_both_also_where_one_is_behind) {
  for (const IncrementRule rule : kRules) {
    for (const std::uint64_t behind : {0U, 1U, 30U}) {
      for (const bool is_mine_behind : {false, true}) {
        expect_merged(rule, behind, is_mine_behind);
      }
    }
  }
}

TEST(TimeDecayingCounts, a_merge_saturates_and_refuses_another_decay) {
  const Options options{.keys = 10, .decay = decay_of(0.5), .policy = DecayPolicy::floor};
  auto mine = made(options);
  auto theirs = made(options);
  mine.insert(Digest{1}, 40000);
  theirs.insert(Digest{1}, 40000);
  ASSERT_TRUE(mine.merge(theirs).has_value());
  EXPECT_EQ(mine.estimate(Digest{1}).raw, 65535);
  EXPECT_TRUE(mine.estimate(Digest{1}).is_saturated);
  EXPECT_EQ(mine.saturations(), mine.probes_per_key());
  // What was cut in the other is taken over, as it is by now.
  auto fresh = mine.create_like().value();
  fresh.advance(Tick{2});
  ASSERT_TRUE(fresh.merge(mine).has_value());
  EXPECT_EQ(fresh.estimate(Digest{1}).raw, 16383);
  EXPECT_TRUE(fresh.estimate(Digest{1}).is_saturated);
  for (Options other : {options, options, options, options}) {
    static int which = 0;
    switch (which++) {
      case 0: other.decay = decay_of(0.6); break;
      case 1: other.decay.epoch *= 2; break;
      case 2: other.rule = IncrementRule::minimum; break;
      default: other.policy = DecayPolicy::ceil;
    }
    EXPECT_FALSE(mine.merge(made(other)).has_value());
  }
}

TEST(TimeDecayingCounts, clear_forgets_keys_and_not_the_time) {
  auto filter = made({.keys = 10, .decay = decay_of(0.9), .width_bits = 8, .policy = DecayPolicy::ceil});
  filter.advance(Tick{77});
  const auto fresh = filter.to_bytes();
  filter.insert(Digest{1}, 1000);
  filter.clear();
  EXPECT_EQ(filter.to_bytes(), fresh);
  EXPECT_EQ(filter.tick(), Tick{77});
}

// Inserts, observes and estimates in batches and one by one.
void expect_batch_is_singles(TimeDecayingCounts& batch, TimeDecayingCounts& single,
                             const std::vector<Digest>& digests) {
  batch.insert(std::span<const Digest>(digests));
  Outcomes seen(digests.size());
  batch.observe(digests, seen.span());
  for (const Digest digest : digests) {
    single.insert(digest);
  }
  for (std::size_t i = 0; i < digests.size(); ++i) {
    ASSERT_EQ(single.observe(digests[i]), seen.span()[i]);
  }
  ASSERT_EQ(batch.to_bytes(), single.to_bytes());
  std::vector<DecayedCount> counts(digests.size());
  batch.estimate(digests, counts);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    ASSERT_EQ(counts[i], single.estimate(digests[i]));
  }
}

void expect_batches_are_singles(const Options& options) {
  auto batch = made(options);
  auto single = made(options);
  Random random(options.keys);
  const auto known = random.digests(300);
  for (const std::size_t count : {0U, 1U, 63U, 64U, 65U, 700U}) {
    std::vector<Digest> digests;
    for (std::size_t i = 0; i < count; ++i) {
      digests.push_back(known[random.below(known.size())]);
    }
    expect_batch_is_singles(batch, single, digests);
    batch.advance(Tick{batch.tick().value + 2});
    single.advance(Tick{single.tick().value + 2});
  }
}

TEST(TimeDecayingCounts, batches_are_single_calls_in_order) {
  for (const DecayPolicy policy : kPolicies) {
    for (const IncrementRule rule : kRules) {
      for (const std::uint64_t keys : {std::uint64_t{500}, std::uint64_t{150000}}) {
        expect_batches_are_singles(
            {.keys = keys, .fpr = 0.1, .decay = decay_of(0.9), .width_bits = 32, .policy = policy, .rule = rule});
      }
    }
  }
}

TEST(TimeDecayingCounts, several_times_at_once_are_as_many_insertions) {
  for (const IncrementRule rule : kRules) {
    for (const std::uint32_t times : {0U, 1U, 7U, 300U}) {
      const Options options{
          .keys = 50, .decay = decay_of(0.9), .width_bits = 8, .policy = DecayPolicy::floor, .rule = rule};
      auto at_once = made(options);
      auto singly = made(options);
      at_once.insert(Digest{7}, times);
      for (std::uint32_t i = 0; i < times; ++i) {
        singly.insert(Digest{7});
      }
      EXPECT_EQ(at_once.estimate(Digest{7}).raw, singly.estimate(Digest{7}).raw);
      EXPECT_EQ(at_once.keys_inserted(), singly.keys_inserted());
    }
  }
}

TEST(TimeDecayingCounts, fraction_bits_are_the_fewest_with_which_at_most_a_64th_stays) {
  for (const double lambda : {0.0, 0.3, 0.5, 0.9, 0.989228, 0.99999}) {
    const Decay decay = decay_of(lambda);
    const std::uint32_t bits = fraction_bits_for(decay.lambda_q32);
    EXPECT_LE(std::ldexp(1 / (1 - decay.lambda()), -static_cast<int>(bits)), 1.0 / 64);
    EXPECT_GT(std::ldexp(1 / (1 - decay.lambda()), 1 - static_cast<int>(bits)), 1.0 / 64);
    auto filter = made({.keys = 10, .decay = decay});
    EXPECT_EQ(filter.fraction_bits(), bits);
    filter.insert(Digest{1}, 3);
    filter.advance(Tick{std::uint64_t{1} << 40});
    EXPECT_LE(filter.estimate(Digest{1}).raw, 1.0 / 64);
    EXPECT_EQ(filter.estimate(Digest{1}).raw, filter.stuck_count());
  }
}

void expect_refused(const Options& options, std::string_view word) {
  const auto filter = TimeDecayingCounts::create(options);
  ASSERT_FALSE(filter.has_value()) << word;
  EXPECT_EQ(filter.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(filter.error().detail.find(word), std::string::npos) << filter.error().detail;
}

TEST(TimeDecayingCounts, fixed_point_that_would_keep_too_much_is_refused_with_a_way_out_unless_forced) {
  const Options narrow{.keys = 10, .decay = decay_of(0.989228), .width_bits = 16};
  expect_refused(narrow, "take wider cells");
  const Options coarse{.keys = 10, .decay = decay_of(0.9), .fraction_bits = 5};
  expect_refused(coarse, "needs 10");
  const Options slow{.keys = 10, .decay = decay_of(0.9999999)};
  expect_refused(slow, "longer epoch");
  for (Options forced : {narrow, coarse, slow}) {
    forced.forced = true;
    auto filter = made(forced);
    EXPECT_EQ(filter.params().is_forced, 1);
    EXPECT_GT(filter.stuck_count(), 1.0 / 64);
    EXPECT_TRUE(TimeDecayingCounts::from_bytes(filter.to_bytes()).has_value());
  }
  // What was not needed is not kept, so that the two merge.
  EXPECT_EQ(made({.keys = 10, .decay = decay_of(0.9), .forced = true}).params().is_forced, 0);
  EXPECT_EQ(made({.keys = 10, .decay = decay_of(0.9), .fraction_bits = 12}).fraction_bits(), 12U);
}

TEST(TimeDecayingCounts, impossible_requests_are_refused) {
  const Decay decay = decay_of(0.9);
  expect_refused({.keys = 10}, "half-life");
  expect_refused({.keys = 10, .decay = {.lambda_q32 = kLambdaOne + 1, .epoch = Duration(1)}}, "half-life");
  expect_refused({.keys = 0, .decay = decay}, "key");
  expect_refused({.keys = 10, .fpr = 1.5, .decay = decay}, "rate");
  expect_refused({.keys = 10, .k = 65, .decay = decay}, "65");
  expect_refused({.keys = 10, .decay = decay, .width_bits = 4}, "8, 16 or 32");
  expect_refused({.keys = 10, .decay = decay, .fraction_bits = 29}, "room to count");
  expect_refused({.keys = 10, .decay = decay, .policy = DecayPolicy::floor, .fraction_bits = 3}, "fixed-point");
  expect_refused({.bytes = 63, .decay = decay}, "too few");
  expect_refused({.bytes = 64, .k = 17, .decay = decay}, "too few");
  expect_refused({.bytes = 4096, .k = 65, .decay = decay}, "65");
  expect_refused({.fpr = 0, .bytes = 4096, .decay = decay}, "rate");
}

TEST(TimeDecayingCounts, bytes_are_an_upper_bound_and_say_how_many_keys_fit) {
  for (const std::uint64_t bytes : {64U, 100U, 4096U, 262144U}) {
    for (const std::uint32_t k : {0U, 1U, 3U}) {
      const auto filter = made({.bytes = bytes, .k = k, .decay = decay_of(0.9)});
      EXPECT_LE(filter.cells_bytes(), bytes);
      EXPECT_GT(filter.cells_bytes() + 64, bytes);
      EXPECT_EQ(filter.probes_per_key(), k == 0 ? 4U : k);
      EXPECT_TRUE(filter.capacity_keys() == 1 || filter.fpr_expected(filter.capacity_keys()) <= 0.01);
      EXPECT_GT(filter.fpr_expected(filter.capacity_keys() + 1), 0.01);
    }
  }
  EXPECT_EQ(made({.keys = 5, .bytes = 4096, .decay = decay_of(0.9)}).capacity_keys(), 5U);
}

TEST(TimeDecayingCounts, an_image_goes_on_where_it_was) {
  for (const DecayPolicy policy : kPolicies) {
    Checked checked({.keys = 500, .decay = decay_of(0.9), .policy = policy}, 500, 6);
    checked.advance(1'800'000'000);
    checked.insert(2000);
    auto again = TimeDecayingCounts::from_bytes(checked.filter().to_bytes()).value();
    EXPECT_EQ(again.tick(), Tick{1'800'000'000});
    EXPECT_EQ(again.policy(), policy);
    EXPECT_EQ(again.decay(), decay_of(0.9));
    again.advance(Tick{1'800'000'003});
    checked.advance(3);
    EXPECT_EQ(again.to_bytes(), checked.filter().to_bytes());
  }
}

// Made for 1000 keys, of which 100 new ones come in each half-life: a key is left for six or seven of those.
TEST(TimeDecayingCounts, keys_leave_also_where_what_fades_is_rounded_up) {
  constexpr std::uint64_t kEpochs = 64;
  auto filter = made({.keys = 1000, .fpr = 0.01, .decay = Decay::of_half_life(Duration(kEpochs * 1000)).value()});
  Random random(17);
  for (std::uint64_t half_life = 1; half_life <= 100; ++half_life) {
    const std::vector<Digest> fresh = random.digests(100);
    filter.insert(std::span(fresh));
    for (const Digest digest : fresh) {
      ASSERT_TRUE(filter.may_contain(digest));
    }
    filter.advance(Tick{half_life * kEpochs});
    for (const Digest digest : fresh) {
      ASSERT_TRUE(filter.may_contain(digest)) << "half is left";
    }
  }
  Outcomes outcomes(100'000);
  filter.may_contain(std::span<const Digest>(random.digests(100'000)), outcomes.span());
  EXPECT_LT(outcomes.yes(), 1000U);
  EXPECT_NEAR(filter.keys_estimate(), 650, 100);
  EXPECT_LT(filter.fpr_estimate(), 0.01);
  filter.advance(Tick{130 * kEpochs});
  EXPECT_EQ(filter.fill_ratio(), 0);
}

}  // namespace
}  // namespace mankai::test
