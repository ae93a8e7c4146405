#pragma once

/// The definition of decay, one cell and one epoch at a time: every kernel is tested against it, and ThreadSanitizer
/// builds run it.

#include <cstddef>
#include <cstdint>

#include "mankai/kernel/decay_ops.hpp"
#include "mankai/kernel/narrow_cells.hpp"

namespace mankai::kernel::reference {

/// The next value of a cell; r is below 2^32.
[[nodiscard]] constexpr std::uint32_t decayed(std::uint32_t cell, std::uint64_t lambda_q32, std::uint32_t r) noexcept {
  // The largest cell times 1 plus the largest r fits.
  return static_cast<std::uint32_t>((cell * lambda_q32 + r) >> 32U);
}

/// The two keys with which one tick's stochastic rounding hashes cells.
struct RoundingKeys {
  std::uint32_t before;
  std::uint32_t between;
};

/// Source: SplitMix64's finalizer [Steele2014] over seed and tick.
[[nodiscard]] constexpr RoundingKeys rounding_keys(std::uint64_t seed, std::uint64_t tick) noexcept {
  std::uint64_t z = seed + (tick + 1) * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  z ^= z >> 31U;
  return {.before = static_cast<std::uint32_t>(z), .between = static_cast<std::uint32_t>(z >> 32U)};
}

inline constexpr std::uint32_t kRoundingFirst = 0x85ebca6bU;
inline constexpr std::uint32_t kRoundingSecond = 0xc2b2ae35U;

/// 32 bits, uniform over cells and ticks; equal for cells 2^32 apart. Source: MurmurHash3's 32-bit finalizer
/// [Appleby2011]. Differs: keyed before and between its multiplications.
[[nodiscard]] constexpr std::uint32_t rounding_bits(RoundingKeys keys, std::uint32_t cell) noexcept {
  std::uint32_t x = cell ^ keys.before;
  x ^= x >> 16U;
  x *= kRoundingFirst;
  x += keys.between;
  x ^= x >> 13U;
  x *= kRoundingSecond;
  return x ^ (x >> 16U);
}

/// The addend of a product before truncation, unless it depends on the cell.
[[nodiscard]] constexpr std::uint32_t fixed_addend(Rounding rounding) noexcept {
  return rounding == Rounding::ceil ? ~std::uint32_t{0} : 0U;
}

/// Decays cell `index` of an array.
[[nodiscard]] inline std::uint32_t decay_cell(std::uint32_t cell, std::uint64_t index, const DecayStep& step,
                                              Epochs epochs) noexcept {
  for (std::uint64_t epoch = 0; epoch < epochs.count; ++epoch) {
    const bool is_drawn = step.rounding == Rounding::stochastic;
    const std::uint32_t addend =
        is_drawn ? rounding_bits(rounding_keys(step.seed, epochs.first_tick + epoch), static_cast<std::uint32_t>(index))
                 : fixed_addend(step.rounding);
    const std::uint32_t next = decayed(cell, step.lambda_q32, addend);
    // A cell that once stays the same always does; under stochastic rounding only 0 does.
    if (next == cell && (!is_drawn || cell == 0)) {
      break;
    }
    cell = next;
  }
  return cell;
}

/// As DecayOps.
template <class Cell>
void decay(std::uint64_t* words, std::size_t count, const DecayStep& step, Epochs epochs) noexcept {
  Cell* cells = cells_in<Cell>(words);
  for (std::size_t i = 0; i < count * (sizeof(std::uint64_t) / sizeof(Cell)); ++i) {
    store_cell(cells + i, decay_cell(load_cell(cells + i), i, step, epochs));
  }
}

}  // namespace mankai::kernel::reference
