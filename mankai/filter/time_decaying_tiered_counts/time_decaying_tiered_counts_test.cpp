// Tiers of counters beside exact models: what they promise, what sharing parents costs, and how they fade.

#include "mankai/filter/time_decaying_tiered_counts/time_decaying_tiered_counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "mankai/filter/parts/whole_decay.hpp"
#include "mankai/filter/time_decaying_counts/time_decaying_counts.hpp"
#include "tests/support/image_edit.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {
namespace {

using Tiered = TimeDecayingTieredCounts;
using Options = Tiered::Options;

constexpr HashSpec kHash{.kind = HashKind::xxh3, .seed = {5, 0}};
constexpr Digest kKey{0x1234567890abcdef};

Decay decay_of(double lambda) { return Decay::of(lambda, std::chrono::seconds(1)).value(); }

Options options_of(double lambda) { return {.keys = 60, .fpr = 0.05, .decay = decay_of(lambda), .hash = kHash}; }

// Few keys come often.
Digest any_key(Random& random) {
  const std::uint64_t x = random.below(300);
  return {mix_integer(x * x / 300, 1).value};
}

// All shapes, policies and rules.
template <class Use>
void for_each_shape(double lambda, const Use& use) {
  for (const std::uint32_t width : {4U, 8U}) {
    for (const std::uint32_t shrink : {0U, 1U, 2U, 8U}) {
      for (const DecayPolicy policy : {DecayPolicy::floor, DecayPolicy::ceil}) {
        for (const RemainderRule rule : {RemainderRule::both_ways, RemainderRule::downwards}) {
          Options options = options_of(lambda);
          options.width_bits = width;
          options.shrink_bits = shrink;
          options.policy = policy;
          options.remainder = rule;
          use(options);
        }
      }
    }
  }
}

TEST(TieredCounts, a_key_alone_has_its_count) {
  for_each_shape(0.5, [](const Options& options) {
    auto filter = Tiered::create(options).value();
    for (int i = 1; i <= 700; ++i) {
      EXPECT_EQ(filter.observe(kKey), i != 1);
      ASSERT_EQ(filter.estimate(kKey).raw, i);
    }
    EXPECT_EQ(filter.estimate(kKey).rate, 350);
    EXPECT_EQ(filter.keys_inserted(), 700U);
  });
}

TEST(TieredCounts, tiers_shrink_as_they_go_up) {
  Options options = options_of(0.5);
  options.counters = 4000;
  const auto filter = Tiered::create(options).value();
  ASSERT_EQ(filter.tier_count(), 8U);
  const std::array<std::uint64_t, 8> expected = {4000, 1000, 252, 64, 16, 4, 4, 4};
  for (unsigned tier = 0; tier < 8; ++tier) {
    EXPECT_EQ(filter.tier_counters(tier), expected[tier]);
  }
  EXPECT_EQ(filter.cell_count(), 4000U);
  EXPECT_EQ(filter.probes_per_key(), 4U);
}

// Nothing is undercounted: with ceil, no estimate is below the exact decayed count, a real number; with floor, none is
// below that of the basic filter with floor, cell by cell the same positions.
void expect_no_undercount(Options options, std::uint64_t seed) {
  auto basic = TimeDecayingCounts::create({.keys = options.keys,
                                           .fpr = options.fpr,
                                           .decay = options.decay,
                                           .width_bits = 32,
                                           .policy = options.policy,
                                           .fraction_bits = {},
                                           .hash = kHash})
                   .value();
  options.counters = basic.cell_count();
  options.k = basic.probes_per_key();
  auto filter = Tiered::create(options).value();
  ASSERT_EQ(filter.cells_per_probe(), basic.cells_per_probe());
  std::map<Digest, double> model;
  Random random(seed);
  std::uint64_t tick = 0;
  for (int step = 0; step < 8; ++step) {
    for (int i = 0; i < 1000; ++i) {
      const Digest key = any_key(random);
      ++model[key];
      filter.insert(key);
      basic.insert(key);
    }
    const std::uint64_t epochs = 1 + (random.below(4) == 0 ? random.below(10) : 0);
    tick += epochs;
    filter.advance({tick});
    basic.advance({tick});
    for (auto& [key, count] : model) {
      for (std::uint64_t i = 0; i < epochs; ++i) {
        count *= options.decay.lambda();
      }
      const double estimate = filter.estimate(key).raw;
      ASSERT_GE(estimate, basic.estimate(key).raw);
      if (options.policy == DecayPolicy::ceil) {
        ASSERT_GE(estimate, count - 1e-6);
      }
    }
  }
  EXPECT_EQ(filter.saturations(), 0U);
}

TEST(TieredCounts, nothing_is_undercounted) {
  std::uint64_t seed = 1;
  for (const double lambda : {0.0, 0.3, 0.9, 0.99, 1.0}) {
    for_each_shape(lambda, [&](const Options& options) { expect_no_undercount(options, seed++); });
    if (HasFatalFailure()) {
      return;
    }
  }
}

// The claim of the first reading, and why it is not the default: strict, but a path with two digits stays.
TEST(TieredCounts, what_was_added_by_rounding_up_must_be_taken_back_or_counts_stay) {
  const auto counts_of_300 = [](DecayPolicy policy, RemainderRule rule) {
    Options options = options_of(0.9);
    options.policy = policy;
    options.remainder = rule;
    auto filter = Tiered::create(options).value();
    for (int i = 0; i < 300; ++i) {
      filter.insert(kKey);
    }
    std::vector<double> counts;
    for (const std::uint64_t tick : {1U, 2U, 10U, 30U, 1000U}) {
      filter.advance({tick});
      counts.push_back(filter.estimate(kKey).raw);
    }
    return counts;
  };
  using Counts = std::vector<double>;
  // What whole numbers rounded down, and up, are after as many epochs.
  EXPECT_EQ(counts_of_300(DecayPolicy::floor, RemainderRule::both_ways), (Counts{270, 243, 102, 8, 0}));
  EXPECT_EQ(counts_of_300(DecayPolicy::ceil, RemainderRule::both_ways), (Counts{271, 244, 109, 18, 10}));
  EXPECT_EQ(counts_of_300(DecayPolicy::floor, RemainderRule::downwards), (Counts{298, 297, 286, 149, 0}));
  EXPECT_EQ(counts_of_300(DecayPolicy::ceil, RemainderRule::downwards), (Counts{299, 298, 298, 298, 298}));
}

TEST(TieredCounts, a_key_alone_fades_as_a_whole_number) {
  for (const double lambda : {0.1, 0.5, 0.9, 0.97}) {
    for_each_shape(lambda, [](const Options& options) {
      if (options.remainder == RemainderRule::downwards) {
        return;
      }
      auto filter = Tiered::create(options).value();
      for (int i = 0; i < 5000; ++i) {
        filter.insert(kKey);
      }
      const WholeDecay decay{.lambda_q32 = options.decay.lambda_q32, .rounds_up = options.policy == DecayPolicy::ceil};
      for (std::uint64_t tick = 1; tick < 100; ++tick) {
        filter.advance({tick});
        ASSERT_EQ(filter.estimate(kKey).raw, static_cast<double>(decay.after(5000, tick)))
            << tick << " w " << options.width_bits << " a " << options.shrink_bits;
      }
    });
  }
}

TEST(TieredCounts, skipped_epochs_are_single_ones) {
  for_each_shape(0.97, [](const Options& options) {
    auto filter = Tiered::create(options).value();
    Random random(7);
    for (int i = 0; i < 10000; ++i) {
      filter.insert(any_key(random));
    }
    for (const std::uint64_t epochs : {1U, 2U, 7U, 40U, 400U}) {
      auto skips = Tiered::from_bytes(filter.to_bytes()).value();
      auto steps = Tiered::from_bytes(filter.to_bytes()).value();
      skips.advance({epochs});
      for (std::uint64_t tick = 1; tick <= epochs; ++tick) {
        steps.advance({tick});
      }
      ASSERT_EQ(skips.to_bytes(), steps.to_bytes()) << epochs;
    }
  });
}

TEST(TieredCounts, everything_fades_to_nothing_with_floor) {
  for_each_shape(0.9, [](const Options& options) {
    auto filter = Tiered::create(options).value();
    Random random(9);
    for (int i = 0; i < 10000; ++i) {
      filter.insert(any_key(random));
    }
    filter.advance({kMaxTick});
    EXPECT_EQ(filter.tick().value, kMaxTick);
    EXPECT_EQ(filter.fill_ratio() == 0, options.policy == DecayPolicy::floor);
    filter.advance({5});
    EXPECT_EQ(filter.tick().value, kMaxTick);
  });
}

// Puts all digits of four paths of eight counters to their largest, which nobody lives to insert.
Tiered filled_up(const Tiered& filter) {
  auto bytes = filter.to_bytes();
  // Each of the eight tiers has four counters: 16 bits of a word.
  for (std::size_t tier = 0; tier < 8; ++tier) {
    bytes[sizeof(ImageHeader) + 8 * tier] = std::byte{255};
    bytes[sizeof(ImageHeader) + 8 * tier + 1] = std::byte{255};
  }
  fix_trailer(bytes);
  return Tiered::from_bytes(bytes).value();
}

TEST(TieredCounts, a_path_that_is_full_stays_and_says_so) {
  Options options = options_of(0.5);
  options.counters = 4;
  auto filter = filled_up(Tiered::create(options).value());
  EXPECT_EQ(filter.estimate(kKey).raw, 4294967295.0);
  EXPECT_FALSE(filter.estimate(kKey).is_saturated);
  filter.insert(kKey);
  EXPECT_EQ(filter.estimate(kKey).raw, 4294967295.0);
  EXPECT_TRUE(filter.estimate(kKey).is_saturated);
  EXPECT_EQ(filter.saturations(), 4U);
  filter.insert(kKey);
  EXPECT_EQ(filter.saturations(), 8U);
  filter.clear();
  EXPECT_EQ(filter.saturations(), 0U);
  EXPECT_FALSE(filter.estimate(kKey).is_saturated);
}

// Full, faded for a while, full again: every estimate that is too low says so, and none when nothing is missing.
TEST(TieredCounts, what_is_cut_again_and_again_says_so_until_nothing_is_missing) {
  for (const DecayPolicy policy : {DecayPolicy::floor, DecayPolicy::ceil}) {
    Options options = options_of(0.8);
    options.counters = 4;
    options.policy = policy;
    auto filter = Tiered::create(options).value();
    const double lambda = filter.decay().lambda();
    const double rounding = policy == DecayPolicy::floor ? 1 / (1 - lambda) : 0;
    Random random(18);
    double truth = 0;
    std::uint64_t low = 0;
    for (int round = 0; round < 30; ++round) {
      truth += 4294967295.0 - filter.estimate(kKey).raw;
      filter = filled_up(filter);
      const std::uint64_t lost = random.below(20'000);
      for (std::uint64_t times = 0; times < lost; ++times) {
        filter.insert(kKey);
      }
      truth += static_cast<double>(lost);
      for (std::uint64_t pause = random.below(8) * random.below(16); pause != 0; --pause) {
        filter.advance({filter.tick().value + 1});
        truth *= lambda;
        const DecayedCount count = filter.estimate(kKey);
        const bool is_low = count.raw + rounding + 1.0 / 64 < truth * (1 - 1e-12);
        low += is_low ? 1U : 0U;
        ASSERT_TRUE(count.is_saturated || !is_low) << count.raw << " of " << truth;
      }
    }
    EXPECT_GT(low, 0U);
    filter.advance({filter.tick().value + 200});
    EXPECT_FALSE(filter.estimate(kKey).is_saturated);
  }
}

TEST(TieredCounts, fills_and_rates_are_those_of_the_paths) {
  for_each_shape(0.9, [](const Options& options) {
    auto filter = Tiered::create(options).value();
    Random random(21);
    for (const Digest key : random.digests(30)) {
      for (int i = 0; i < 40; ++i) {
        filter.insert(key);
      }
    }
    const std::vector<Digest> absent_keys = random.digests(30000);
    const auto passed = std::ranges::count_if(absent_keys, [&](Digest key) { return filter.may_contain(key); });
    EXPECT_NEAR(static_cast<double>(passed) / 30000, filter.fpr_estimate(), 0.02);
    EXPECT_GT(filter.fill_ratio(), 0);
    if (options.width_bits == 8 || options.shrink_bits == 0) {
      EXPECT_NEAR(filter.keys_estimate(), 30, 6);
    }
  });
}

TEST(TieredCounts, what_cannot_be_is_refused) {
  const auto refused = [](const auto& change) {
    Options options = options_of(0.9);
    change(options);
    const auto made = Tiered::create(options);
    return !made.has_value() && made.error().code == ErrorCode::invalid_argument;
  };
  EXPECT_TRUE(refused([](Options& options) { options.decay = {}; }));
  EXPECT_TRUE(refused([](Options& options) { options.decay = decay_of(0.9999); }));
  EXPECT_TRUE(refused([](Options& options) { options.policy = DecayPolicy::fixed_point; }));
  EXPECT_TRUE(refused([](Options& options) { options.width_bits = 5; }));
  EXPECT_TRUE(refused([](Options& options) { options.shrink_bits = 9; }));
  EXPECT_TRUE(refused([](Options& options) { options.keys = 0; }));
  EXPECT_TRUE(refused([](Options& options) { options.fpr = 1; }));
  EXPECT_TRUE(refused([](Options& options) { options.k = 65; }));
  EXPECT_TRUE(refused([](Options& options) { options.counters = 3; }));
  EXPECT_TRUE(refused([](Options& options) { options.counters = 1ULL << 40; }));
}

}  // namespace
}  // namespace mankai::test
