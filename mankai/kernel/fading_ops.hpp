#pragma once

#include <cstddef>
#include <cstdint>

#include "mankai/hash/digest.hpp"

namespace mankai::kernel {

/// An array of fingerprints, as its kernels take it.
struct FadingCells {
  std::byte* cells;
  std::uint64_t cell_count;   ///< >= 1
  std::uint32_t k;            ///< cells per key, 1 to 64
  std::uint32_t min_matches;  ///< 1 to k
};

/// The hot loops of the array whose old fingerprints are overwritten, for one size of fingerprint. Positions are
/// probes::CellSequence, the fingerprint is probes::fingerprint.
///
/// Shape:   digests[c], outcomes[c]; may be empty; must not overlap.
/// Cost:    k cache lines per key; beyond a level-2 cache they are prefetched a window ahead. No allocation.
/// Errors:  none; total.
/// Threads: `insert_concurrent` and `may_contain` beside each other, any number of both; `insert` and `observe` as the
///          only writer beside readers. Every cell is one relaxed atomic: a reader sees the earlier or the later one.
struct FadingOps {
  void (*insert)(const FadingCells& array, const Digest* digests, std::size_t count) noexcept;
  void (*insert_concurrent)(const FadingCells& array, const Digest* digests, std::size_t count) noexcept;
  /// Reports whether each key was present, then inserts it, one key after the other.
  void (*observe)(const FadingCells& array, const Digest* digests, std::size_t count, bool* seen) noexcept;
  void (*may_contain)(const FadingCells& array, const Digest* digests, std::size_t count, bool* outcomes) noexcept;
  /// Returns how many of the cells from `first` on are not empty. Cost: a pass over them.
  std::uint64_t (*count_used)(const FadingCells& array, std::uint64_t first, std::uint64_t count) noexcept;
};

/// The kernels for fingerprints of 4, 8, 16 or 32 bits; those for 32 for any other number.
[[nodiscard]] const FadingOps& fading_ops(unsigned bits) noexcept;

}  // namespace mankai::kernel
