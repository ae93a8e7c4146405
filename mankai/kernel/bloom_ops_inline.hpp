#pragma once

/// Single calls of the classic layout, compiled into their caller: scalar code that is the same for all machines, so
/// that the processor works on several keys at once. Positions by fields (BloomShape) take the table's functions.
///
/// Measured with k = 7, ns per look-up of present, absent and mixed keys, beside Boost.Bloom's classic filter in the
/// same run: 1e5 keys 7.7, 7.9 and 7.7 against 8.9, 19.6 and 15.0; 1e7 keys 45, 42 and 42 against 66, 54 and 54.
///
/// Inline functions that call these must be always-inline too, as in block_ops_inline.hpp.

#include <cstdint>

#include "mankai/hash/digest.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/atomic_words.hpp"
#include "mankai/kernel/bloom_ops.hpp"
#include "mankai/kernel/tuning.hpp"

namespace mankai::kernel {

/// The table's function, declared pure: otherwise the compiler reloads the filter's members in a loop.
[[nodiscard, gnu::pure, gnu::noinline]] inline bool may_contain_by_table(const BloomOps& ops,
                                                                         const std::uint64_t* words,
                                                                         const BloomShape& shape,
                                                                         Digest digest) noexcept {
  return ops.may_contain_one(words, shape, digest);
}

/// As BloomOps::may_contain_one. Pre: `ops` are this machine's.
[[nodiscard, gnu::always_inline]] inline bool may_contain_single(const BloomOps& ops, const std::uint64_t* words,
                                                                 const BloomShape& shape, Digest digest) noexcept {
  if (shape.field_bits != 0) [[unlikely]] {
    return may_contain_by_table(ops, words, shape, digest);
  }
  probes::CellSequence cells(digest);
  if (shape.cell_count / 8 <= kNearBytes) {
    // All k: an early exit mispredicts at every other absent key.
    std::uint64_t all = 1;
    for (std::uint32_t i = 0; i < shape.k; ++i) {
      const std::uint64_t cell = cells.next(shape.cell_count);
      all &= load_word(words + cell / 64) >> (cell % 64);
    }
    return all != 0;
  }
  // Up to the first clear bit: absent keys fetch two lines instead of k, and at present ones the next keys' lines are
  // fetched by prediction.
  for (std::uint32_t i = 0; i < shape.k; ++i) {
    const std::uint64_t cell = cells.next(shape.cell_count);
    if ((load_word(words + cell / 64) >> (cell % 64) & 1U) == 0) {
      return false;
    }
  }
  return true;
}

/// As BloomOps::observe_one. Pre: `ops` are this machine's.
[[gnu::always_inline]] inline bool observe_single(const BloomOps& ops, std::uint64_t* words, const BloomShape& shape,
                                                  Digest digest) noexcept {
  if (shape.field_bits != 0) [[unlikely]] {
    return ops.observe_one(words, shape, digest);
  }
  probes::CellSequence cells(digest);
  std::uint64_t all = 1;
  for (std::uint32_t i = 0; i < shape.k; ++i) {
    const std::uint64_t cell = cells.next(shape.cell_count);
    const std::uint64_t before = load_word(words + cell / 64);
    all &= before >> (cell % 64);
    store_word(words + cell / 64, before | (std::uint64_t{1} << (cell % 64)));
  }
  return all != 0;
}

}  // namespace mankai::kernel
