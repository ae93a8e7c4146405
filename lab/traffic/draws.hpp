#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "lab/traffic/random.hpp"
#include "mankai/base/bits.hpp"

// Draws with integers only, so that a seed gives the same bytes on every machine: log() and pow() differ in the last
// bit.

namespace mankai::detail {

/// Returns a uniform element of a table that encodes frequencies by repetition.
template <class Table>
[[nodiscard]] const auto& pick(const Table& table, std::uint64_t uniform) {
  static_assert(std::has_single_bit(std::tuple_size_v<Table>), "a few bits choose");
  return table[uniform % table.size()];
}

[[nodiscard]] inline bool happens(double share, Random& random) {
  constexpr unsigned kShareBits = 53;  // of a double's mantissa, so the conversion of a share is exact
  return random.next() >> (64 - kShareBits) < static_cast<std::uint64_t>(share * 0x1p53);
}

/// Returns an exponential variate of mean 1, times 2^32, by comparisons only. Source: J. von Neumann, "Various
/// Techniques Used in Connection with Random Digits" (1951).
[[nodiscard]] inline std::uint64_t exponential_q32(Random& random) {
  for (std::uint64_t whole = 0;; ++whole) {
    const std::uint64_t first = random.next() >> 32;
    std::uint64_t previous = first;
    bool is_even = true;
    for (std::uint64_t next = random.next() >> 32; next <= previous; next = random.next() >> 32) {
      previous = next;
      is_even = !is_even;
    }
    if (is_even) {
      return whole << 32 | first;
    }
  }
}

[[nodiscard]] inline std::uint64_t scale(std::uint64_t mean, std::uint64_t variate_q32) {
  constexpr unsigned kVariateBits = 26;  // variates above 2^38, 64 times the mean, practically never occur
  const std::uint64_t variate = std::min(variate_q32, (std::uint64_t{1} << (64 - kVariateBits)) - 1);
  return multiply_high(variate << kVariateBits, mean << (32 - kVariateBits));
}

/// Draws from [1, limit] with density close to 1 / x: a bit length, then a number of that length. Pre: limit > 0.
[[nodiscard]] inline std::uint64_t log_uniform(std::uint64_t limit, Random& random) {
  const std::uint64_t octave = random.below(static_cast<std::uint64_t>(std::bit_width(limit)));
  const std::uint64_t first = std::uint64_t{1} << octave;
  const std::uint64_t value = first + random.below(first);
  return value <= limit ? value : first + random.below(limit - first + 1);
}

}  // namespace mankai::detail
