#pragma once

#include <cmath>
#include <cstdint>

#include "lab/traffic/random.hpp"

namespace mankai::lab {

/// SplitMix64 [Steele2014], as for test traffic, with distributions that are equal on every machine up to the last bit
/// of log1p; the standard ones are not.
class Random : public detail::Random {
 public:
  using detail::Random::Random;

  constexpr double uniform() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }
  constexpr bool chance(double probability) noexcept { return uniform() < probability; }
  double exponential(double mean) noexcept { return -mean * std::log1p(-uniform()); }
  /// Number of trials up to the first success, at least 1.
  std::uint64_t geometric(double mean) noexcept {
    return mean <= 1 ? 1 : 1 + static_cast<std::uint64_t>(std::log1p(-uniform()) / std::log1p(-1 / mean));
  }
};

}  // namespace mankai::lab
