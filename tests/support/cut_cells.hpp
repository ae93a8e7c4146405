#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mankai/base/time.hpp"
#include "mankai/hash/digest.hpp"
#include "tests/support/random.hpp"

// Cells that are cut, fade, and are cut again, beside exact counts.

namespace mankai::test {

struct Cuts {
  std::uint64_t burst = 0;            ///< a key comes at most so often at once
  std::uint64_t epochs_per_look = 1;  ///< after so many epochs all estimates are looked at
  double rounding = 0;                ///< estimates may be lower by so much without a word
};

/// Expects that every estimate that is too low says so, that there are some, and that in the end none says so any more.
/// `insert(filter, digest, times)` inserts.
template <class F, class Insert>
void expect_that_low_estimates_say_so(F& filter, const Cuts& cuts, const Insert& insert) {
  constexpr std::size_t kKeys = 12;
  constexpr double kForgotten = 1.0 / 64;
  constexpr double kModelError = 1e-9;
  std::vector<double> truth(kKeys);
  Random random(17);
  std::uint64_t low = 0;
  const auto digest_of = [](std::size_t key) { return mix_integer(key, 1); };
  const double share = std::pow(filter.decay().lambda(), static_cast<double>(cuts.epochs_per_look));
  const auto look = [&] {
    filter.advance(Tick{filter.tick().value + cuts.epochs_per_look});
    for (std::size_t key = 0; key < kKeys; ++key) {
      truth[key] *= share;
      const auto count = filter.estimate(digest_of(key));
      const bool is_low = count.raw + cuts.rounding + kForgotten < truth[key] * (1 - kModelError);
      low += is_low ? 1U : 0U;
      EXPECT_TRUE(count.is_saturated || !is_low) << key << ": " << count.raw << " of " << truth[key];
    }
  };
  // Pauses of up to 40 looks: in the longer ones almost everything fades.
  for (int round = 0; round < 40; ++round) {
    for (std::uint64_t key = random.below(kKeys); key < kKeys; key += 1 + random.below(kKeys)) {
      const std::uint64_t times = random.below(cuts.burst);
      insert(filter, digest_of(key), times);
      truth[key] += static_cast<double>(times);
    }
    for (std::uint64_t pause = random.below(8) * random.below(8); pause != 0; --pause) {
      look();
    }
  }
  EXPECT_GT(low, 0U);
  EXPECT_GT(filter.saturations(), 0U);
  filter.advance(Tick{filter.tick().value + 200 * cuts.epochs_per_look});
  for (std::size_t key = 0; key < kKeys; ++key) {
    EXPECT_FALSE(filter.estimate(digest_of(key)).is_saturated) << key;
  }
}

}  // namespace mankai::test
