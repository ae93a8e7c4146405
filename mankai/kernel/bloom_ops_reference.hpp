#pragma once

/// The classic layout's definition, one bit at a time: every kernel is tested against it, ThreadSanitizer builds run
/// it, and single insertions are it, compiled into their caller.

#include <algorithm>
#include <array>
#include <cstdint>

#include "mankai/hash/digest.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/atomic_words.hpp"
#include "mankai/kernel/bloom_ops.hpp"

namespace mankai::kernel::reference {

/// Calls `visit(cell)` for each of the key's k cells, in order; they may repeat.
template <class Visit>
[[gnu::always_inline]] inline void for_each_cell(const BloomShape& shape, Digest digest, const Visit& visit) {
  if (shape.field_bits != 0) {
    probes::FieldSequence fields(digest);
    for (std::uint32_t i = 0; i < shape.k; ++i) {
      visit(fields.next(shape.field_bits));
    }
    return;
  }
  probes::CellSequence cells(digest);
  for (std::uint32_t i = 0; i < shape.k; ++i) {
    visit(cells.next(shape.cell_count));
  }
}

[[nodiscard]] inline std::uint64_t cell_bit(std::uint64_t cell) noexcept { return std::uint64_t{1} << (cell % 64); }

/// Whether all of the key's cells are set.
[[nodiscard, gnu::always_inline]] inline bool may_contain(const std::uint64_t* words, const BloomShape& shape,
                                                          Digest digest) noexcept {
  std::uint64_t all = 1;
  for_each_cell(shape, digest, [&](std::uint64_t cell) { all &= load_word(words + cell / 64) >> (cell % 64); });
  return all != 0;
}

/// Inserts as the only writer; returns whether the key was present, with the filter's false positives.
[[gnu::always_inline]] inline bool observe(std::uint64_t* words, const BloomShape& shape, Digest digest) noexcept {
  std::uint64_t all = 1;
  for_each_cell(shape, digest, [&](std::uint64_t cell) {
    const std::uint64_t before = load_word(words + cell / 64);
    all &= before >> (cell % 64);
    store_word(words + cell / 64, before | cell_bit(cell));
  });
  return all != 0;
}

/// Inserts beside other writers that use this function, too; returns whether this call made the key present, as
/// insert_concurrent of blocks does. The order is that of each cell's first occurrence.
inline bool insert_concurrent(std::uint64_t* words, const BloomShape& shape, Digest digest) noexcept {
  std::array<std::uint64_t, kMaxProbes> missing;
  auto* end = missing.data();
  for_each_cell(shape, digest, [&](std::uint64_t cell) {
    if ((acquire_word(words + cell / 64) & cell_bit(cell)) == 0 && std::find(missing.data(), end, cell) == end) {
      *end++ = cell;
    }
  });
  bool sets_last = false;
  for (const auto* cell = missing.data(); cell != end; ++cell) {
    sets_last = (or_word(words + *cell / 64, cell_bit(*cell)) & cell_bit(*cell)) == 0;
  }
  return sets_last;
}

}  // namespace mankai::kernel::reference
