// Counts in digits beside counts in one piece: the same answers, whatever the lookup.

#include "mankai/filter/time_decaying_pooled_counts/time_decaying_pooled_counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <new>
#include <vector>

#include "mankai/filter/parts/whole_decay.hpp"
#include "mankai/filter/time_decaying_counts/time_decaying_counts.hpp"
#include "tests/support/counting_memory.hpp"
#include "tests/support/cut_cells.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {
namespace {

using Pooled = TimeDecayingPooledCounts;
using Options = Pooled::Options;

constexpr HashSpec kHash{.kind = HashKind::xxh3, .seed = {5, 0}};
constexpr std::array kLookups = {PoolLookup::hash, PoolLookup::links, PoolLookup::array};

Decay decay_of(double lambda) { return Decay::of(lambda, std::chrono::seconds(1)).value(); }

Options options_of(PoolLookup lookup, double lambda) {
  return {.keys = 60, .fpr = 0.05, .decay = decay_of(lambda), .lookup = lookup, .hash = kHash};
}

// Few keys come often: digest = (x² / n), so that counts of one to four digits are there side by side.
Digest any_key(Random& random) {
  const std::uint64_t x = random.below(300);
  return {mix_integer(x * x / 300, 1).value};
}

std::uint64_t step_by_step(std::uint64_t value, std::uint64_t lambda, bool rounds_up, std::uint64_t epochs) {
  for (; epochs != 0; --epochs) {
    value = (value * lambda + (rounds_up ? kLambdaOne - 1 : 0)) / kLambdaOne;
  }
  return value;
}

TEST(WholeDecay, strides_are_what_single_epochs_are) {
  Random random(1);
  for (int i = 0; i < 3000; ++i) {
    const unsigned bits = 1 + static_cast<unsigned>(random.below(32));
    const std::uint64_t value = random.below(std::uint64_t{1} << bits);
    // λ near 0, near 1, and between.
    const std::uint64_t distance = random.below(std::uint64_t{1} << random.below(33));
    const std::uint64_t lambda = random.below(2) == 0 ? distance : kLambdaOne - distance;
    const std::uint64_t epochs = random.below(300);
    for (const bool rounds_up : {false, true}) {
      const WholeDecay decay{.lambda_q32 = lambda, .rounds_up = rounds_up};
      ASSERT_EQ(decay.after(value, epochs), step_by_step(value, lambda, rounds_up, epochs))
          << value << " " << lambda << " " << epochs;
    }
  }
}

TEST(WholeDecay, any_number_of_epochs_ends) {
  for (const std::uint64_t lost : {1ULL, 2ULL, 1000ULL, 1ULL << 16, 1ULL << 24, 1ULL << 32}) {
    const WholeDecay down{.lambda_q32 = kLambdaOne - lost, .rounds_up = false};
    EXPECT_EQ(down.after((1ULL << 32) - 1, ~0ULL), 0U);
    const WholeDecay up{.lambda_q32 = kLambdaOne - lost, .rounds_up = true};
    EXPECT_EQ(up.after((1ULL << 32) - 1, ~0ULL), (kLambdaOne - 1) / lost);
  }
}

// [Cheng2005] figure 2: 1 · 256 + 2 · 16 + 0 = 288, with two extra digits.
TEST(PooledCounts, the_papers_example) {
  for (const PoolLookup lookup : kLookups) {
    auto filter = Pooled::create(options_of(lookup, 0.5)).value();
    const Digest key{0x1234567890abcdef};
    for (int i = 0; i < 288; ++i) {
      filter.insert(key);
    }
    EXPECT_EQ(filter.estimate(key).raw, 288);
    EXPECT_EQ(filter.estimate(key).rate, 144);
    EXPECT_EQ(filter.use().digits_in_use, 2 * filter.probes_per_key());
    filter.advance({1});
    EXPECT_EQ(filter.estimate(key).raw, 144);
    EXPECT_EQ(filter.use().digits_in_use, filter.probes_per_key());
    filter.advance({10});
    EXPECT_FALSE(filter.may_contain(key));
    EXPECT_EQ(filter.use().digits_in_use, 0U);
    EXPECT_EQ(filter.use().digits_peak, 2 * filter.probes_per_key());
  }
}

struct Stream {
  double lambda;
  double pool_share;
  std::uint64_t seed;
};

// One stream of inserts, of single keys and in batches, and of ticks, one at a time and skipped, into the basic filter
// and into this one with each lookup: whatever is asked, the answers are the same.
void expect_the_basic_counts(const Stream& stream) {
  auto basic = TimeDecayingCounts::create({.keys = 60,
                                           .fpr = 0.05,
                                           .decay = decay_of(stream.lambda),
                                           .width_bits = 32,
                                           .policy = DecayPolicy::floor,
                                           .fraction_bits = {},
                                           .hash = kHash})
                   .value();
  std::vector<Pooled> filters;
  for (const PoolLookup lookup : kLookups) {
    Options options = options_of(lookup, stream.lambda);
    options.pool_share = stream.pool_share;
    options.counters = basic.cell_count();
    options.k = basic.probes_per_key();
    filters.push_back(Pooled::create(options).value());
    ASSERT_EQ(filters.back().cells_per_probe(), basic.cells_per_probe());
  }
  Random random(stream.seed);
  std::uint64_t tick = 0;
  for (int step = 0; step < 60; ++step) {
    std::vector<Digest> batch(random.below(400));
    std::ranges::generate(batch, [&] { return any_key(random); });
    basic.insert(std::span<const Digest>(batch));
    tick += random.below(3) == 0 ? random.below(40) : 1;
    basic.advance({tick});
    std::vector<Digest> asked = random.digests(50);
    for (std::uint64_t x = 0; x < 300; ++x) {
      asked.push_back({mix_integer(x, 1).value});
    }
    std::vector<DecayedCount> expected(asked.size());
    basic.estimate(asked, expected);
    for (Pooled& filter : filters) {
      const std::size_t half = batch.size() / 2;
      filter.insert(std::span<const Digest>(batch).first(half));
      for (const Digest digest : std::span(batch).subspan(half)) {
        filter.insert(digest);
      }
      filter.advance({tick});
      std::vector<DecayedCount> found(asked.size());
      filter.estimate(asked, found);
      ASSERT_EQ(found, expected) << name(filter.lookup()) << " step " << step;
      ASSERT_EQ(filter.keys_inserted(), basic.keys_inserted());
      ASSERT_EQ(filter.fill_ratio(), basic.fill_ratio());
      ASSERT_EQ(filter.fpr_estimate(), basic.fpr_estimate());
      ASSERT_EQ(filter.use().digits_in_use, filters[0].use().digits_in_use);
      ASSERT_EQ(filter.saturations(), 0U);
    }
  }
  for (const Pooled& filter : filters) {
    EXPECT_GT(filter.use().digits_peak, 0U);
    EXPECT_TRUE(Pooled::from_bytes(filter.to_bytes()).has_value());
  }
}

TEST(PooledCounts, estimates_are_the_basic_ones_bit_for_bit) {
  std::uint64_t seed = 1;
  for (const double lambda : {0.0, 0.01, 0.5, 0.9, 0.99, 1.0}) {
    for (const double share : {0.0, 0.05, 0.5, 2.0}) {
      expect_the_basic_counts({.lambda = lambda, .pool_share = share, .seed = seed++});
      if (HasFatalFailure()) {
        return;
      }
    }
  }
}

Pooled filled(const Options& options) {
  auto filter = Pooled::create(options).value();
  Random random(7);
  for (int i = 0; i < 20000; ++i) {
    filter.insert(any_key(random));
  }
  return filter;
}

void expect_skips_are_steps(const Pooled& filter, std::uint64_t epochs) {
  auto skips = Pooled::from_bytes(filter.to_bytes()).value();
  auto steps = Pooled::from_bytes(filter.to_bytes()).value();
  skips.advance({epochs});
  for (std::uint64_t tick = 1; tick <= epochs; ++tick) {
    steps.advance({tick});
  }
  for (std::uint64_t x = 0; x < 300; ++x) {
    const Digest key{mix_integer(x, 1).value};
    ASSERT_EQ(skips.estimate(key), steps.estimate(key));
  }
  // In lists, digits that were given back one by one are listed in another order.
  if (static_cast<PoolLookup>(filter.params().lookup) == PoolLookup::hash) {
    ASSERT_EQ(skips.to_bytes(), steps.to_bytes());
  }
  ASSERT_EQ(skips.use().digits_in_use, steps.use().digits_in_use);
}

// Also where counters wait for digits, and what they lose fades.
TEST(PooledCounts, skipped_epochs_are_single_ones) {
  for (const PoolLookup lookup : kLookups) {
    for (const DecayPolicy policy : {DecayPolicy::floor, DecayPolicy::ceil}) {
      for (const EmptyPool when_empty : {EmptyPool::grow, EmptyPool::saturate}) {
        Options options = options_of(lookup, 0.97);
        options.policy = policy;
        options.when_empty = when_empty;
        const Pooled filter = filled(options);
        expect_skips_are_steps(filter, 1);
        expect_skips_are_steps(filter, 7);
        expect_skips_are_steps(filter, 1000);
      }
    }
  }
}

// Rounding up, or where nothing fades, no count is below the exact one; nor is the rule `all` with any λ below a model
// that rounds as it does.
void expect_no_undercount(OverflowRule rule, double lambda, DecayPolicy policy, bool gate) {
  for (const PoolLookup lookup : kLookups) {
    Options options = options_of(lookup, lambda);
    options.policy = policy;
    options.overflow = rule;
    options.gate = gate;
    auto filter = Pooled::create(options).value();
    options.overflow = OverflowRule::per_counter;
    auto each = Pooled::create(options).value();
    const WholeDecay decay{.lambda_q32 = options.decay.lambda_q32, .rounds_up = policy == DecayPolicy::ceil};
    std::map<Digest, std::uint64_t> model;
    Random random(11);
    for (std::uint64_t tick = 1; tick <= 12; ++tick) {
      for (int i = 0; i < 1500; ++i) {
        const Digest key = any_key(random);
        ++model[key];
        filter.insert(key);
        each.insert(key);
      }
      ASSERT_LE(filter.use().digits_in_use, each.use().digits_in_use);
      for (const auto& [key, count] : model) {
        ASSERT_GE(filter.estimate(key).raw, static_cast<double>(count));
        ASSERT_LE(filter.estimate(key).raw, each.estimate(key).raw);
      }
      filter.advance({tick});
      each.advance({tick});
      for (auto& [key, count] : model) {
        count = decay.after(count, 1);
      }
    }
  }
}

TEST(PooledCounts, no_rule_undercounts_what_rounds_alike) {
  for (const bool gate : {false, true}) {
    for (const OverflowRule rule : {OverflowRule::per_counter, OverflowRule::all}) {
      expect_no_undercount(rule, 1, DecayPolicy::floor, gate);
      expect_no_undercount(rule, 0.9, DecayPolicy::floor, gate);
      expect_no_undercount(rule, 0.9, DecayPolicy::ceil, gate);
    }
  }
}

// Two keys share a counter. The first key has raised it to 15, its ceiling; then the second is inserted for the first
// time.
TEST(PooledCounts, a_counter_at_its_ceiling_waits_for_the_others) {
  Options options = options_of(PoolLookup::hash, 1);
  options.keys = 1;
  options.counters = 4;
  options.k = 2;
  options.overflow = OverflowRule::all;
  auto filter = Pooled::create(options).value();
  // Digests whose first counters coincide and whose second ones do not.
  std::vector<Digest> pair;
  Random random(3);
  while (pair.size() < 2) {
    pair = random.digests(2);
    auto both = filter.create_like().value();
    both.insert(pair[0]);
    if (both.may_contain(pair[1]) || both.fill_ratio() != 0.5) {
      pair.clear();
      continue;
    }
    both.insert(pair[1]);
    if (both.fill_ratio() != 0.75) {
      pair.clear();
    }
  }
  for (int i = 0; i < 15; ++i) {
    filter.insert(pair[0]);
  }
  filter.insert(pair[1]);
  EXPECT_EQ(filter.estimate(pair[0]).raw, 15);
  EXPECT_EQ(filter.estimate(pair[1]).raw, 1);
  EXPECT_EQ(filter.use().digits_in_use, 0U);
  filter.insert(pair[0]);
  EXPECT_EQ(filter.estimate(pair[0]).raw, 16);
  EXPECT_EQ(filter.use().digits_in_use, 2U);
}

TEST(PooledCounts, an_empty_pool_keeps_counters_at_their_ceiling_and_says_so) {
  for (const PoolLookup lookup : kLookups) {
    Options options = options_of(lookup, 0.5);
    options.pool_share = 0;
    options.when_empty = EmptyPool::saturate;
    auto filter = Pooled::create(options).value();
    const std::size_t bytes = filter.image_bytes();
    const Digest key{0x1234567890abcdef};
    for (int i = 0; i < 15; ++i) {
      filter.insert(key);
    }
    EXPECT_FALSE(filter.estimate(key).is_saturated);
    for (int i = 0; i < 30; ++i) {
      filter.insert(key);
    }
    // One digit there was.
    EXPECT_EQ(filter.estimate(key).raw, 15);
    EXPECT_TRUE(filter.estimate(key).is_saturated);
    EXPECT_EQ(filter.saturations(), 30 * (filter.probes_per_key() - 1));
    EXPECT_EQ(filter.image_bytes(), bytes);
    filter.advance({2});
    EXPECT_EQ(filter.estimate(key).raw, 3);
    EXPECT_TRUE(filter.estimate(key).is_saturated);
    filter.clear();
    EXPECT_FALSE(filter.estimate(key).is_saturated);
    EXPECT_EQ(filter.tick().value, 2U);
  }
}

void insert_often(Pooled& into, Digest digest, std::uint64_t times) {
  for (; times != 0; --times) {
    into.insert(digest);
  }
}

// A counter that waits for a digit loses all that comes meanwhile, many times what it holds.
TEST(PooledCounts, what_is_cut_again_and_again_says_so_until_nothing_is_missing) {
  for (const PoolLookup lookup : kLookups) {
    for (const DecayPolicy policy : {DecayPolicy::floor, DecayPolicy::ceil}) {
      Options options = options_of(lookup, 0.8);
      options.pool_share = 0.05;
      options.when_empty = EmptyPool::saturate;
      options.policy = policy;
      auto filter = Pooled::create(options).value();
      // Rounding down takes at most 1 / (1 - λ).
      const double rounding = policy == DecayPolicy::floor ? 5 : 0;
      expect_that_low_estimates_say_so(filter, {.burst = 10'000, .rounding = rounding}, insert_often);
    }
  }
}

TEST(PooledCounts, a_pool_that_cannot_grow_changes_nothing) {
  for (const PoolLookup lookup : kLookups) {
    CountingMemory counter(1);
    Options options = options_of(lookup, 0.5);
    options.pool_share = 0;
    options.memory = counter.memory();
    auto filter = Pooled::create(options).value();
    const Digest key{0x1234567890abcdef};
    for (int i = 0; i < 15; ++i) {
      filter.insert(key);
    }
    const auto before = filter.to_bytes();
    EXPECT_THROW(filter.insert(key), std::bad_alloc);
    EXPECT_EQ(filter.to_bytes(), before);
    EXPECT_EQ(counter.calls, 2U);
    auto grown = Pooled::from_bytes(before).value();
    grown.insert(key);
    EXPECT_EQ(grown.estimate(key).raw, 16);
    EXPECT_GT(grown.image_bytes(), before.size());
  }
}

TEST(PooledCounts, the_gate_stops_absent_keys_and_no_member) {
  Options options = options_of(PoolLookup::hash, 0.9);
  auto open = Pooled::create(options).value();
  options.gate = true;
  auto gated = Pooled::create(options).value();
  EXPECT_GT(gated.use().gate_bytes, 0U);
  Random random(5);
  const std::vector<Digest> members = random.digests(60);
  const std::vector<Digest> absent_keys = random.digests(20000);
  for (const Digest key : members) {
    EXPECT_EQ(gated.observe(key), gated.may_contain(key) && gated.estimate(key).raw > 1);
    open.insert(key);
  }
  for (const Digest key : members) {
    EXPECT_EQ(gated.estimate(key), open.estimate(key));
  }
  const auto passed = [&](const Pooled& filter) {
    return std::ranges::count_if(absent_keys, [&](Digest key) { return filter.may_contain(key); });
  };
  EXPECT_LT(passed(gated), passed(open) / 2);
  EXPECT_LT(gated.fpr_estimate(), open.fpr_estimate() / 2);
}

TEST(PooledCounts, what_cannot_be_is_refused) {
  const auto refused = [](const auto& change) {
    Options options = options_of(PoolLookup::hash, 0.9);
    change(options);
    const auto made = Pooled::create(options);
    return !made.has_value() && made.error().code == ErrorCode::invalid_argument;
  };
  EXPECT_TRUE(refused([](Options& options) { options.decay = {}; }));
  EXPECT_TRUE(refused([](Options& options) { options.policy = DecayPolicy::fixed_point; }));
  EXPECT_TRUE(refused([](Options& options) { options.policy = DecayPolicy::stochastic; }));
  EXPECT_TRUE(refused([](Options& options) { options.pool_share = -1; }));
  EXPECT_TRUE(refused([](Options& options) { options.pool_share = 8; }));
  EXPECT_TRUE(refused([](Options& options) { options.keys = 0; }));
  EXPECT_TRUE(refused([](Options& options) { options.fpr = 1; }));
  EXPECT_TRUE(refused([](Options& options) { options.k = 65; }));
  EXPECT_TRUE(refused([](Options& options) { options.counters = 3; }));
  EXPECT_TRUE(refused([](Options& options) { options.counters = 1ULL << 40; }));
}

}  // namespace
}  // namespace mankai::test
