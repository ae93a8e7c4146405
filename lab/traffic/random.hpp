#pragma once

#include <cstdint>

#include "mankai/base/bits.hpp"

namespace mankai::detail {

/// Permutes 64-bit values; every input bit affects every output bit. Source: the finalizer of S. Vigna's splitmix64
/// (public domain), constants by D. Stafford, "Mix13".
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31);
}

/// splitmix64: the same draws on every machine, unlike the standard distributions.
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) noexcept : state_(seed) {}

  [[nodiscard]] constexpr std::uint64_t next() noexcept { return mix(state_ += 0x9E3779B97F4A7C15U); }
  [[nodiscard]] constexpr std::uint64_t below(std::uint64_t range) noexcept { return fastrange(next(), range); }

 private:
  std::uint64_t state_;
};

}  // namespace mankai::detail
