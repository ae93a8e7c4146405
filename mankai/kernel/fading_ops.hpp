#pragma once

#include <cstddef>
#include <cstdint>

#include "mankai/hash/digest.hpp"

namespace mankai::kernel {

/// An array of fingerprints.
struct FadingCells {
  std::byte* cells;
  std::uint64_t cell_count;   ///< >= 1
  std::uint32_t k;            ///< cells per key, 1 to 64
  std::uint32_t min_matches;  ///< 1 to k
};

/// The hot loops of fading-fingerprints for one size of fingerprint. Positions are probes::CellSequence, fingerprints
/// probes::fingerprint.
///
/// Shape:   digests[c], outcomes[c]; may be empty; must not overlap.
/// Cost:    k cache lines per key; prefetched a window ahead beyond a level-2 cache. No allocation.
/// Threads: any number of `insert_concurrent` and `may_contain`; or one writer with `insert` and `observe` beside
///          readers. Every cell is one relaxed atomic: a reader sees the earlier or the later value.
struct FadingOps {
  void (*insert)(const FadingCells& array, const Digest* digests, std::size_t count) noexcept;
  void (*insert_concurrent)(const FadingCells& array, const Digest* digests, std::size_t count) noexcept;
  /// Reports whether each key was present and inserts it, one key after the other.
  void (*observe)(const FadingCells& array, const Digest* digests, std::size_t count, bool* seen) noexcept;
  void (*may_contain)(const FadingCells& array, const Digest* digests, std::size_t count, bool* outcomes) noexcept;
  /// Counts the used cells from `first` on. Cost: a pass over them.
  std::uint64_t (*count_used)(const FadingCells& array) noexcept;
};

/// The kernels for fingerprints of 4, 8, 16 or 32 bits; for any other number, those for 32.
[[nodiscard]] const FadingOps& fading_ops(unsigned bits) noexcept;

}  // namespace mankai::kernel
