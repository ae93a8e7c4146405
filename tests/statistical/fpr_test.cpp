// Measured false positive rates beside their formulas, within the bounds derived in bounds.hpp.

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"
#include "mankai/filter/bloom/bloom.hpp"
#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "mankai/filter/time_decaying_counts/time_decaying_counts.hpp"
#include "tests/statistical/bounds.hpp"
#include "tests/support/every_kind.hpp"
#include "tests/support/outcomes.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {
namespace {

constexpr std::array<std::uint64_t, 4> kSizes = {1000, 10000, 100000, 1000000};
constexpr std::array<double, 3> kRates = {0.1, 0.01, 0.001};
constexpr std::size_t kBatch = 8192;

// The share of so many absent keys that are answered yes.
double measured_rate(const Subject& filter, Random& random, std::size_t strangers) {
  std::vector<Digest> digests(kBatch);
  Outcomes outcomes(kBatch);
  std::size_t yes = 0;
  for (std::size_t asked = 0; asked < strangers; asked += kBatch) {
    random.fill(digests);
    filter.may_contain(std::span<const Digest>(digests), outcomes.span());
    yes += outcomes.yes();
  }
  return static_cast<double>(yes) / static_cast<double>(strangers);
}

// How far rates vary between filters that hold so many keys.
ClassicSpread spread_of(const BlockedBloom& filter, double keys) {
  return {.variance = blocked_variance(keys, static_cast<double>(filter.params().block_count)), .bias = 0};
}

ClassicSpread spread_of(const Bloom& filter, double keys) {
  return classic_spread(keys, static_cast<double>(filter.cell_count()), filter.phase());
}

// By how much a rate may be above what its cells say, where a key's positions are not independent of each other. Those
// of dablooms follow from two numbers: of the size^2 there are in a partition an absent key has a member's, and with
// them all of its cells, with a probability of keys / size^2; less often than that, since the steps wrap at 2^32 in
// different places.
double dependence(const CountingBloom& filter, double keys) {
  const auto size = static_cast<double>(filter.params().size);
  return filter.layout() == CountingLayout::dablooms ? keys / (size * size) : 0;
}
double dependence(const Subject& filter, double keys) {
  const auto* counting = filter.any().as<CountingBloom>();
  return counting == nullptr ? 0 : dependence(*counting, keys);
}

ClassicSpread spread_of(const CountingBloom& filter, double keys) {
  const auto size = static_cast<double>(filter.params().size);
  return {.variance = filter.layout() == CountingLayout::blocked
                          ? blocked_variance(keys, size, probes::kLaneCounters)
                          : partitioned_variance(keys, size, filter.probes_per_key()),
          .bias = dependence(filter, keys)};
}

ClassicSpread spread_of(const TimeDecayingCounts& filter, double keys) {
  return {
      .variance = partitioned_variance(keys, static_cast<double>(filter.cells_per_probe()), filter.probes_per_key()),
      .bias = 0};
}

// The kinds whose spread is derived above; another one brings its own test of its rate.
bool has_spread(const KindDescription& kind) {
  return kind.kind == Kind{BlockedBloom::kKind} || kind.kind == Kind{Bloom::kKind} ||
         kind.kind == Kind{CountingBloom::kKind} || kind.kind == Kind{TimeDecayingCounts::kKind};
}

ClassicSpread spread_of(const Subject& filter, double keys) {
  if (const auto* blocked = filter.any().as<BlockedBloom>()) {
    return spread_of(*blocked, keys);
  }
  if (const auto* classic = filter.any().as<Bloom>()) {
    return spread_of(*classic, keys);
  }
  if (const auto* counting = filter.any().as<CountingBloom>()) {
    return spread_of(*counting, keys);
  }
  return spread_of(*filter.any().as<TimeDecayingCounts>(), keys);
}

// A whole number of batches.
constexpr std::size_t kStrangers = kBatch * 64;

// Goal: the rate is the formula's at every size, target and fill.
// Method: half the capacity, all of it, twice as much, each stage measured with half a million absent keys.
void expect_formula(const Example& example, Subject filter, Random random) {
  const std::uint64_t capacity = filter.capacity_keys();
  EXPECT_LE(filter.fpr_expected(capacity), filter.fpr_target() * sizing_slack(example));
  std::uint64_t inserted = 0;
  for (const std::uint64_t stage : {capacity / 2, capacity, 2 * capacity}) {
    const auto digests = random.digests(stage - inserted);
    filter.insert(std::span(digests));
    inserted = stage;
    const double formula = filter.fpr_expected(stage);
    const ClassicSpread spread = spread_of(filter, static_cast<double>(stage));
    EXPECT_NEAR(measured_rate(filter, random, kStrangers), formula,
                allowed(formula, kStrangers, spread.variance) + spread.bias)
        << stage << " keys in a filter for " << capacity << " at " << filter.fpr_target();
  }
}

class Rate : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(every_shape, Rate, testing::ValuesIn(shapes(has_spread)), test_name);

TEST_P(Rate, is_the_formulas_at_every_size_target_and_fill) {
  for (const std::uint64_t keys : kSizes) {
    for (const double target : kRates) {
      expect_formula(GetParam(), make(GetParam(), {.keys = keys, .fpr = target}),
                     Random(keys + static_cast<std::uint64_t>(1 / target)));
    }
  }
}

// With the cells given, the rate is no longer random: only the binomial term is left.
class RateFromCells : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(every_shape, RateFromCells, testing::ValuesIn(shapes(has_spread)), test_name);

TEST_P(RateFromCells, fpr_estimate_predicts_the_measured_rate) {
  for (const std::uint64_t keys : kSizes) {
    for (const double target : kRates) {
      auto filter = make(GetParam(), {.keys = keys, .fpr = target});
      Random random(keys * 3 + static_cast<std::uint64_t>(1 / target));
      for (int stage = 0; stage < 3; ++stage) {
        const auto digests = random.digests(keys / 2);
        filter.insert(std::span(digests));
        const double estimate = filter.fpr_estimate();
        const double beyond = dependence(filter, filter.keys_estimate());
        EXPECT_NEAR(measured_rate(filter, random, kStrangers), estimate, allowed(estimate, kStrangers, 0) + beyond)
            << stage << ": a filter for " << keys << " at " << target;
      }
    }
  }
}

// The same for every kind there is, at fewer sizes.
bool promises(const Example& example) {
  return keeps_keys(example) && calls_of(*example.kind).insert_integers != nullptr;
}

class EstimatedRate : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(every_kind, EstimatedRate, testing::ValuesIn(shapes(promises)), test_name);

TEST_P(EstimatedRate, is_the_measured_one_with_the_capacity_in) {
  for (const double target : kRates) {
    auto filter = make(GetParam(), {.keys = 3000, .fpr = target});
    Random random(static_cast<std::uint64_t>(1 / target));
    filter.insert(std::span<const Digest>(random.digests(3000)));
    const double estimate = filter.fpr_estimate();
    EXPECT_NEAR(measured_rate(filter, random, kStrangers), estimate,
                allowed(estimate, kStrangers, 0) + dependence(filter, 3000))
        << target;
  }
}

// Strings through the whole path: XXH3, windows, look-up.
TEST_P(RateFromCells, holds_for_string_keys_too) {
  for (const HashSpec& spec : {kXxh3, kNhSiphash, kSiphash}) {
    auto filter = make(GetParam(), {.keys = 20000, .fpr = 0.02, .hash = spec});
    std::vector<std::string> texts;
    for (int i = 0; i < 220000; ++i) {
      texts.push_back("https://example.org/a/" + std::to_string(i));
    }
    const std::vector<std::string_view> keys(texts.begin(), texts.end());
    const auto known = std::span(keys).first(20000);
    const auto strangers = std::span(keys).subspan(20000);
    filter.insert_keys(known);
    Outcomes outcomes(strangers.size());
    filter.may_contain_keys(strangers, outcomes.span());
    const double estimate = filter.fpr_estimate();
    const auto count = static_cast<double>(strangers.size());
    EXPECT_NEAR(static_cast<double>(outcomes.yes()) / count, estimate, allowed(estimate, count, 0));
    EXPECT_LE(estimate, 0.02 * 1.1);
  }
}

// Goal: integer keys in patterns cost at most a tenth more false positives than random ones would.
// Method: the first n keys of a pattern go in, the next ones are asked for; only the upper side is bounded, since a
// pattern may spread better than chance (a counter does). The claim stands with mix_integer in hash/hasher.hpp.
struct Pattern {
  const char* name;
  std::uint64_t (*key)(std::uint64_t i);
};

constexpr std::array<Pattern, 11> kPatterns = {{
    {"counter", [](std::uint64_t i) { return i; }},
    {"counter from 1e12", [](std::uint64_t i) { return 1000000000000U + i; }},
    {"counter << 20", [](std::uint64_t i) { return i << 20; }},
    {"counter << 32", [](std::uint64_t i) { return i << 32; }},
    {"counter << 44", [](std::uint64_t i) { return i << 44; }},
    {"pointers", [](std::uint64_t i) { return 0x7f3a00000000U + i * 64; }},
    {"thousands", [](std::uint64_t i) { return i * 1000; }},
    {"doubles", [](std::uint64_t i) { return std::bit_cast<std::uint64_t>(static_cast<double>(i)); }},
    {"fractions", [](std::uint64_t i) { return std::bit_cast<std::uint64_t>(static_cast<double>(i) / 1000); }},
    {"grid", [](std::uint64_t i) { return (i / 1000) << 32 | i % 1000; }},
    {"bytes reversed", [](std::uint64_t i) { return __builtin_bswap64(i); }},
}};

TEST_P(RateFromCells, integer_patterns_stay_within_a_tenth_of_random_keys) {
  for (const Pattern& pattern : kPatterns) {
    for (const std::uint64_t count : {std::uint64_t{1000}, std::uint64_t{30000}, std::uint64_t{300000}}) {
      auto filter = make(GetParam(), {.keys = count, .fpr = 0.01});
      std::vector<std::uint64_t> keys(count);
      for (std::uint64_t i = 0; i < count; ++i) {
        keys[i] = pattern.key(i);
      }
      filter.insert(std::span<const std::uint64_t>(keys));
      const std::uint64_t strangers = std::max<std::uint64_t>(count, 200000);
      Outcomes outcomes(strangers);
      std::vector<std::uint64_t> asked(strangers);
      for (std::uint64_t i = 0; i < strangers; ++i) {
        asked[i] = pattern.key(count + i);
      }
      filter.may_contain(std::span<const std::uint64_t>(asked), outcomes.span());
      const double formula = filter.fpr_expected(count);
      const auto total = static_cast<double>(strangers);
      const double variance = spread_of(filter, static_cast<double>(count)).variance;
      EXPECT_LE(static_cast<double>(outcomes.yes()) / total, 1.1 * formula + allowed(formula, total, variance))
          << pattern.name << ", " << count << " keys, formula " << formula;
    }
  }
}

// The patterns that showed an earlier mix wrong: a counter moved up to where only the highest bits differ.
TEST_P(RateFromCells, counters_shifted_by_any_distance_stay_within_a_tenth_of_random_keys) {
  for (const unsigned bits : {11U, 16U, 20U}) {
    const std::uint64_t count = std::uint64_t{1} << (bits - 1);
    for (unsigned shift = 0; shift + bits <= 64; ++shift) {
      auto filter = make(GetParam(), {.keys = count, .fpr = 0.01});
      std::vector<std::uint64_t> keys(count);
      std::vector<std::uint64_t> asked(count);
      for (std::uint64_t i = 0; i < count; ++i) {
        keys[i] = i << shift;
        asked[i] = (count + i) << shift;
      }
      filter.insert(std::span<const std::uint64_t>(keys));
      Outcomes outcomes(count);
      filter.may_contain(std::span<const std::uint64_t>(asked), outcomes.span());
      const double formula = filter.fpr_expected(count);
      const auto total = static_cast<double>(count);
      const double variance = spread_of(filter, total).variance;
      EXPECT_LE(static_cast<double>(outcomes.yes()) / total, 1.1 * formula + allowed(formula, total, variance))
          << count << " keys i << " << shift;
    }
  }
}

TEST_P(RateFromCells, filters_of_one_seed_and_keys_err_alike_and_of_two_seeds_independently) {
  constexpr std::size_t kAsked = 400000;
  const auto filled = [](std::uint64_t seed) {
    auto filter = make(GetParam(), {.keys = 5000, .fpr = 0.05, .hash = {.kind = HashKind::xxh3, .seed = {seed, 0}}});
    const Hasher hash = filter.hasher();
    for (std::uint64_t i = 0; i < 5000; ++i) {
      filter.insert(hash(i * 7919));
    }
    return filter;
  };
  const auto first = filled(1);
  const auto twin = filled(1);
  const auto other = filled(0x9e3779b97f4a7c15U);
  EXPECT_EQ(first.to_bytes(), twin.to_bytes());
  const auto strangers = Random(12).numbers(kAsked);
  const auto by_first = batch_answers(first, strangers);
  const auto by_other = batch_answers(other, strangers);
  std::size_t both = 0;
  for (std::size_t i = 0; i < kAsked; ++i) {
    both += by_first[i] && by_other[i] ? 1U : 0U;
  }
  // Independent errors multiply.
  const double expected = first.fpr_estimate() * other.fpr_estimate();
  EXPECT_NEAR(static_cast<double>(both) / kAsked, expected, allowed(expected, kAsked, 0));
}

// The cells of filters that are asked together agree for a key, but their keys differ: errors must multiply as well.
TEST_P(RateFromCells, filters_of_one_seed_with_different_keys_err_independently) {
  constexpr std::size_t kAsked = 400000;
  auto first = make(GetParam(), {.keys = 5000, .fpr = 0.05});
  auto other = make(GetParam(), {.keys = 5000, .fpr = 0.05});
  insert_random(first, 13, 5000);
  insert_random(other, 14, 5000);
  const auto strangers = Random(15).digests(kAsked);
  const auto by_first = batch_answers(first, strangers);
  const auto by_other = batch_answers(other, strangers);
  std::size_t both = 0;
  for (std::size_t i = 0; i < kAsked; ++i) {
    both += by_first[i] && by_other[i] ? 1U : 0U;
  }
  // Over pairs of filters the product has a variance of its own, at most the sum of both rates' relative ones.
  const double rate = first.fpr_expected(5000);
  const double variance = spread_of(first, 5000).variance;
  EXPECT_NEAR(static_cast<double>(both) / kAsked, rate * rate,
              allowed(rate * rate, kAsked, 2 * rate * rate * variance + variance * variance));
}

// keys_estimate inverts the expected fill; its deviation is the fill's over the slope of fill by keys.
TEST(KeysEstimate, blocked_is_within_its_derived_bound) {
  for (const std::uint64_t keys : kSizes) {
    auto filter = BlockedBloom::create({.keys = keys, .hash = kXxh3}).value();
    Random random(keys + 1);
    double inserted = 0;
    for (int stage = 0; stage < 4; ++stage) {
      const auto digests = random.digests(keys / 2);
      filter.insert(std::span(digests));
      inserted += static_cast<double>(digests.size());
      const auto cells = static_cast<double>(filter.cell_count());
      const auto blocks = static_cast<double>(filter.params().block_count);
      constexpr double kLanes = probes::kBlockLanes;
      const double slope = kLanes * std::exp(inserted * std::log1p(-kLanes / cells));
      const double deviation = std::sqrt(blocked_fill_variance(inserted, blocks)) / slope;
      EXPECT_NEAR(filter.keys_estimate(), inserted, kSigmas * deviation) << keys;
      if (keys == 100000) {
        EXPECT_LT(deviation, 0.005 * inserted) << "the header promises about 0.5 %";
      }
    }
  }
}

TEST(KeysEstimate, classic_is_within_its_derived_bound) {
  for (const BloomAddressing addressing : {BloomAddressing::range, BloomAddressing::fields}) {
    for (const std::uint64_t keys : kSizes) {
      auto filter = Bloom::create({.keys = keys, .addressing = addressing, .hash = kXxh3}).value();
      Random random(keys + 2);
      double inserted = 0;
      for (int stage = 0; stage < 4; ++stage) {
        const auto digests = random.digests(keys / 2);
        filter.insert(std::span(digests));
        inserted += static_cast<double>(digests.size());
        const auto cells = static_cast<double>(filter.cell_count());
        const double k = filter.phase();
        const double slope = k * std::exp(inserted * k * std::log1p(-1 / cells));
        const double deviation = std::sqrt(occupancy(k * inserted, cells).variance) / slope;
        EXPECT_NEAR(filter.keys_estimate(), inserted, kSigmas * deviation) << keys << " " << name(addressing);
      }
    }
  }
}

TEST(KeysEstimate, counting_is_within_its_derived_bound) {
  for (const CountingLayout layout : {CountingLayout::blocked, CountingLayout::partitioned}) {
    for (const std::uint64_t keys : kSizes) {
      auto filter = CountingBloom::create({.keys = keys, .layout = layout, .hash = kXxh3}).value();
      Random random(keys + 3);
      double inserted = 0;
      for (int stage = 0; stage < 4; ++stage) {
        const auto digests = random.digests(keys / 2);
        // Twice, since keys are counted but distinct ones estimated.
        filter.insert(std::span(digests));
        filter.insert(std::span(digests));
        inserted += static_cast<double>(digests.size());
        const double k = filter.probes_per_key();
        const auto size = static_cast<double>(filter.params().size);
        const bool is_blocked = layout == CountingLayout::blocked;
        const double cells_per_probe = static_cast<double>(filter.cell_count()) / k;
        const double slope = k * std::exp(inserted * std::log1p(-1 / cells_per_probe));
        const double variance = is_blocked ? blocked_fill_variance(inserted, size, probes::kLaneCounters)
                                           : k * occupancy(inserted, size).variance;
        EXPECT_NEAR(filter.keys_estimate(), inserted, kSigmas * std::sqrt(variance) / slope)
            << keys << " " << name(layout);
        EXPECT_EQ(filter.keys_inserted(), 2 * static_cast<std::uint64_t>(inserted));
      }
    }
  }
}

TEST_P(RateFromCells, a_filter_with_every_cell_set_says_so) {
  auto filter = make(GetParam(), {.keys = 1, .fpr = 0.5});
  insert_random(filter, 16, 20000);
  EXPECT_EQ(filter.fill_ratio(), 1);
  EXPECT_EQ(filter.fpr_estimate(), 1);
  EXPECT_TRUE(std::isinf(filter.keys_estimate()));
}

// keys_inserted misses exactly the keys that were false positives when they came: the sum of the rates on the way.
TEST_P(RateFromCells, keys_inserted_misses_the_keys_that_were_false_positives) {
  constexpr std::uint64_t kKeys = 100000;
  auto filter = make(GetParam(), {.keys = kKeys, .fpr = 0.05});
  insert_random(filter, 17, kKeys);
  if (counts_repeats(filter.kind())) {
    EXPECT_EQ(filter.keys_inserted(), kKeys) << "none is missed where all are counted";
    return;
  }
  double missed = 0;
  for (std::uint64_t i = 0; i < kKeys; i += 500) {
    missed += 500 * filter.fpr_expected(i + 250);
  }
  // A sum of nearly independent indicators: its variance is below its mean; the rate's own wobble adds under 1 %.
  EXPECT_NEAR(static_cast<double>(kKeys - filter.keys_inserted()), missed, kSigmas * std::sqrt(missed) + 0.01 * missed);
}

}  // namespace
}  // namespace mankai::test
