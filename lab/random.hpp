#pragma once

#include <cmath>
#include <cstdint>

#include "lab/traffic/random.hpp"

namespace mankai::lab {

/// The draws of test traffic (SplitMix64 [Steele2014]), and distributions: the same on every machine up to the last bit
/// of log1p, which the standard distributions are not.
class Random : public detail::Random {
 public:
  using detail::Random::Random;

  /// Returns a value in [0, 1), a multiple of 2^-53.
  constexpr double uniform() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// Returns true with the given probability.
  constexpr bool chance(double probability) noexcept { return uniform() < probability; }
  /// Returns a waiting time, exponentially distributed.
  double exponential(double mean) noexcept { return -mean * std::log1p(-uniform()); }
  /// Returns how many trials it takes until one succeeds, at least 1; geometrically distributed.
  std::uint64_t geometric(double mean) noexcept {
    return mean <= 1 ? 1 : 1 + static_cast<std::uint64_t>(std::log1p(-uniform()) / std::log1p(-1 / mean));
  }
};

}  // namespace mankai::lab
