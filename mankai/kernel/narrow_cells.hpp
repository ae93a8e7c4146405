#pragma once

/// Cells of 8, 16 or 32 bits in an image's words, lowest bits first, which a writer may change while others read:
/// relaxed atomic accesses of a cell's width, which compile to plain moves.

#include <cstdint>

namespace mankai::kernel {

using Cell8 = std::uint8_t;
using Cell16 = std::uint16_t;
using Cell32 = std::uint32_t;

/// The words as cells of 8, 16 or 32 bits.
template <class Cell>
[[nodiscard]] inline Cell* cells_in(std::uint64_t* words) noexcept {
  return reinterpret_cast<Cell*>(words);
}
template <class Cell>
[[nodiscard]] inline const Cell* cells_in(const std::uint64_t* words) noexcept {
  return reinterpret_cast<const Cell*>(words);
}

/// Reads a cell beside its writer.
template <class Cell>
[[nodiscard]] inline std::uint32_t load_cell(const Cell* cell) noexcept {
  // Other code reads the same bytes as 64-bit words.
  using Seen [[gnu::may_alias]] = Cell;
  return __atomic_load_n(reinterpret_cast<const Seen*>(cell), __ATOMIC_RELAXED);
}

/// Writes a cell beside readers. Pre: the value fits.
template <class Cell>
inline void store_cell(Cell* cell, std::uint32_t value) noexcept {
  using Seen [[gnu::may_alias]] = Cell;
  __atomic_store_n(reinterpret_cast<Seen*>(cell), static_cast<Cell>(value), __ATOMIC_RELAXED);
}

[[nodiscard]] constexpr std::uint32_t largest_cell(unsigned width_bits) noexcept {
  return ~std::uint32_t{0} >> (32U - width_bits);
}

}  // namespace mankai::kernel
