#pragma once

#include <cstdint>

namespace mankai::bench {

/// The n-th of 2^64 distinct integers that look random: SplitMix64 [Steele2014].
constexpr std::uint64_t random_integer(std::uint64_t number) noexcept {
  std::uint64_t z = number * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

}  // namespace mankai::bench
