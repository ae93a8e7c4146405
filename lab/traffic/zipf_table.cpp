#include "lab/traffic/zipf_table.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "mankai/base/assert.hpp"

namespace mankai::detail {
namespace {

// Names of fixed-point numbers include their fraction bits: a Q56 is an integer times 2^-56.

constexpr unsigned kLogFractionBits = 32;

// Bit by bit: squaring a number in [1, 2) doubles its logarithm, whose integer part is the next bit.
std::uint64_t log2_q56(std::uint64_t value) {
  const auto whole = static_cast<unsigned>(std::bit_width(value)) - 1;
  std::uint64_t mantissa_q63 = value << (63 - whole);
  std::uint64_t log = whole;
  for (unsigned i = 0; i < kLogFractionBits; ++i) {
    const std::uint64_t square_q62 = multiply_high(mantissa_q63, mantissa_q63);
    const std::uint64_t bit = square_q62 >> 63;
    log = log << 1 | bit;
    mantissa_q63 = square_q62 << (1 - bit);
  }
  return log << (56 - kLogFractionBits);
}

// 2^-fraction = e^-x with x = fraction * ln 2 < 0.7, as 1 - x(1 - x/2(1 - x/3(…))); 0.7^18 / 18! is below 2^-62.
std::uint64_t exp2_of_minus_q62(std::uint64_t fraction_q64) {
  constexpr std::uint64_t kLn2Q64 = 0xB17217F7D1CF79ABU;
  constexpr std::uint64_t kOneQ62 = std::uint64_t{1} << 62;
  const std::uint64_t x_q64 = multiply_high(fraction_q64, kLn2Q64);
  std::uint64_t sum_q62 = kOneQ62;
  for (std::uint64_t i = 18; i > 0; --i) {
    sum_q62 = kOneQ62 - multiply_high(x_q64, sum_q62) / i;
  }
  return sum_q62;
}

// Returns 2^62 / (rank + 1)^exponent.
std::uint64_t weight_q62(std::uint64_t rank, std::uint64_t exponent_q60) {
  const std::uint64_t power_q52 = multiply_high(exponent_q60, log2_q56(rank + 1));
  const std::uint64_t whole = power_q52 >> 52;
  return whole > 62 ? 0 : exp2_of_minus_q62(power_q52 << 12) >> whole;
}

// Falling weights. Their sum fits 63 bits and is a multiple of their number. None is 0: every rank is possible.
std::vector<std::uint64_t> weights(std::uint64_t rank_count, double exponent) {
  const auto exponent_q60 = static_cast<std::uint64_t>(exponent * 0x1p60);
  const auto headroom = static_cast<unsigned>(std::bit_width(rank_count));
  std::vector<std::uint64_t> result(rank_count);
  std::uint64_t sum = 0;
  std::uint64_t previous = std::numeric_limits<std::uint64_t>::max();
  for (std::uint64_t rank = 0; rank < rank_count; ++rank) {
    // A rounding error could make nearly equal weights rise, but the construction below needs them in order.
    previous = std::clamp<std::uint64_t>(weight_q62(rank, exponent_q60) >> headroom, 1, previous);
    result[rank] = previous;
    sum += previous;
  }
  result[0] += align_up(sum, rank_count) - sum;
  return result;
}

std::uint32_t share_of(std::uint64_t part, std::uint64_t whole) {
  const std::uint64_t share = whole >> 32 == 0 ? (part << 32) / whole : part / (whole >> 32);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(share, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

ZipfTable::ZipfTable(std::uint64_t rank_count, double exponent) : cells_(rank_count) {
  MANKAI_ASSERT(rank_count > 0 && rank_count <= std::uint64_t{1} << 31 && exponent >= 0 && exponent < 16);
  std::vector<std::uint64_t> rest = weights(rank_count, exponent);
  std::uint64_t sum = 0;
  for (const std::uint64_t weight : rest) {
    sum += weight;
  }
  const std::uint64_t column = sum / rank_count;
  // Weights fall with the rank, so the columns to be filled are a suffix and the givers a prefix. Two positions replace
  // Vose's two stacks. A giver that falls below the column becomes the next one to be filled.
  std::uint64_t giver = 0;
  std::uint64_t next_small = 0;
  while (next_small < rank_count && rest[next_small] >= column) {
    ++next_small;
  }
  std::uint64_t small = next_small++;
  while (small < rank_count) {
    cells_[small] = {.threshold = share_of(rest[small], column), .alias = static_cast<std::uint32_t>(giver)};
    rest[giver] -= column - rest[small];
    if (rest[giver] < column) {
      small = giver++;
    } else {
      small = next_small++;
    }
  }
  for (; giver < rank_count && rest[giver] >= column; ++giver) {
    cells_[giver] = {.threshold = 0, .alias = static_cast<std::uint32_t>(giver)};
  }
}

}  // namespace mankai::detail
