#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "lab/traffic/random.hpp"
#include "mankai/base/bits.hpp"

// Draws that are the same on every machine: integers only, since log() and pow() differ between machines in their last
// bit, and "same seed, same bytes" must not.

namespace mankai::detail {

/// Returns an entry of a table that gives frequencies by repetition.
template <class Table>
[[nodiscard]] const auto& pick(const Table& table, std::uint64_t uniform) {
  static_assert(std::has_single_bit(std::tuple_size_v<Table>), "a few bits choose");
  return table[uniform % table.size()];
}

/// Returns whether an event of that probability happens.
[[nodiscard]] inline bool happens(double share, Random& random) {
  constexpr unsigned kShareBits = 53;  // what a double holds, so the conversion of a share is exact
  return random.next() >> (64 - kShareBits) < static_cast<std::uint64_t>(share * 0x1p53);
}

/// An exponential variate of mean 1, times 2^32, by comparisons alone.
/// Source: J. von Neumann, "Various Techniques Used in Connection with Random Digits" (1951).
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

/// Returns mean * variate / 2^32. Pre: mean < 2^58.
[[nodiscard]] inline std::uint64_t scale(std::uint64_t mean, std::uint64_t variate_q32) {
  constexpr unsigned kVariateBits = 26;  // above 2^38, 64 times the mean, lie no variates that anybody ever drew
  const std::uint64_t variate = std::min(variate_q32, (std::uint64_t{1} << (64 - kVariateBits)) - 1);
  return multiply_high(variate << kVariateBits, mean << (32 - kVariateBits));
}

/// Draws 1 … limit with density close to 1 / x: first a bit length, then a number of that length. Pre: limit > 0.
[[nodiscard]] inline std::uint64_t log_uniform(std::uint64_t limit, Random& random) {
  const std::uint64_t octave = random.below(static_cast<std::uint64_t>(std::bit_width(limit)));
  const std::uint64_t first = std::uint64_t{1} << octave;
  const std::uint64_t value = first + random.below(first);
  return value <= limit ? value : first + random.below(limit - first + 1);
}

}  // namespace mankai::detail
