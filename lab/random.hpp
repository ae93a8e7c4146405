#pragma once

#include <cmath>
#include <cstdint>

#include "mankai/base/bits.hpp"

namespace mankai::lab {

/// Reproducible draws, the same on every machine, which the standard distributions are not: SplitMix64 [Steele2014].
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) noexcept : state_(seed) {}

  constexpr std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += kStep);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  /// Returns a value in [0, range).
  constexpr std::uint64_t below(std::uint64_t range) noexcept { return fastrange(next(), range); }
  /// Returns a value in [0, 1), a multiple of 2^-53.
  constexpr double uniform() noexcept { return static_cast<double>(next() >> kUnusedBits) * kUnit; }
  /// Returns true with the given probability.
  constexpr bool chance(double probability) noexcept { return uniform() < probability; }
  /// Returns a waiting time, exponentially distributed.
  double exponential(double mean) noexcept { return -mean * std::log1p(-uniform()); }
  /// Returns how many trials it takes until one succeeds, at least 1; geometrically distributed.
  std::uint64_t geometric(double mean) noexcept {
    return mean <= 1 ? 1 : 1 + static_cast<std::uint64_t>(std::log1p(-uniform()) / std::log1p(-1 / mean));
  }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;
  static constexpr unsigned kUnusedBits = 11;
  static constexpr double kUnit = 0x1p-53;

  std::uint64_t state_;
};

}  // namespace mankai::lab
