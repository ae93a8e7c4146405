// How many counters overflow, beside their distribution.

#include <gtest/gtest.h>

#include <cmath>
#include <span>

#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"
#include "mankai/filter/bloom/bloom.hpp"
#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "tests/statistical/bounds.hpp"
#include "tests/support/filter_request.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {
namespace {

constexpr int kStuck = 15;

// P[Poisson(load) >= 15], from the smallest term of the tail on.
double poisson_tail(double load) {
  double term = std::exp(-load + kStuck * std::log(load) - std::lgamma(kStuck + 1.0));
  double tail = 0;
  for (int j = kStuck; j < kStuck + 200; ++j) {
    tail += term;
    term *= load / (j + 1);
  }
  return tail;
}

// Goal: in the partitioned layout the counters that stick are as many as Poisson's law says, at 4 to 12 times the load.
// Method: a counter is binomial(n, 1/c), which for c above 1e4 differs from Poisson(n/c) in its tail by less than a
// relative load / c * 15^2 < 0.2. The number of those at 15 or more has at most the variance of independent ones, its
// mean, since the counters of a partition are negatively associated. Fewer than 1e-9 of them at the design load.
TEST(CounterOverflow, partitioned_counters_stick_as_often_as_poissons_law_says) {
  for (const std::uint64_t keys : {std::uint64_t{100000}, std::uint64_t{1000000}}) {
    auto filter = CountingBloom::create({.keys = keys, .layout = CountingLayout::partitioned, .hash = kXxh3}).value();
    Random random(keys);
    const auto size = static_cast<double>(filter.params().size);
    const auto cells = static_cast<double>(filter.cell_count());
    double inserted = 0;
    for (int times = 1; times <= 12; ++times) {
      const auto digests = random.digests(keys);
      filter.insert(std::span(digests));
      inserted += static_cast<double>(keys);
      const double load = inserted / size;
      const double expected = cells * poisson_tail(load);
      const double law = expected * load / size * kStuck * kStuck;
      EXPECT_NEAR(static_cast<double>(filter.saturated_cells()), expected, kSigmas * std::sqrt(expected) + law + 1e-3)
          << keys << " keys, " << times << " times the capacity";
      if (times == 1) {
        EXPECT_LT(expected, 1e-6) << "15 is enough at the load that it was made for";
      }
    }
    EXPECT_GT(filter.saturated_cells(), 1000U);
  }
}

// A lane's counter is binomial too, over blocks * 16: the blocks' loads vary, but a lane's counter gets each key with
// the same small probability.
TEST(CounterOverflow, blocked_counters_stick_as_often_as_poissons_law_says) {
  constexpr std::uint64_t kKeys = 200000;
  auto filter = CountingBloom::create({.keys = kKeys, .hash = kXxh3}).value();
  Random random(7);
  const auto cells = static_cast<double>(filter.cell_count());
  const double cells_per_probe = cells / filter.probes_per_key();
  double inserted = 0;
  for (int times = 1; times <= 14; ++times) {
    const auto digests = random.digests(kKeys);
    filter.insert(std::span(digests));
    inserted += static_cast<double>(kKeys);
    const double load = inserted / cells_per_probe;
    const double expected = cells * poisson_tail(load);
    const double law = expected * load / cells_per_probe * kStuck * kStuck;
    // The eight lanes of a block share its load, so its counters stick together: eight times the variance at most.
    EXPECT_NEAR(static_cast<double>(filter.saturated_cells()), expected,
                kSigmas * std::sqrt(probes::kBlockLanes * expected) + law + 1e-3)
        << times << " times the capacity";
  }
  EXPECT_GT(filter.saturated_cells(), 1000U);
}

}  // namespace
}  // namespace mankai::test
