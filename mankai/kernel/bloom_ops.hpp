#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mankai/hash/digest.hpp"

namespace mankai::kernel {

/// More probes than any false-positive rate above 1e-19 requires.
inline constexpr std::uint32_t kMaxProbes = 64;

/// A classic Bloom filter's array.
struct BloomShape {
  std::uint64_t cell_count;  ///< bits, >= 1; 2^field_bits unless that is 0
  std::uint32_t k;           ///< probes per key, 1 to kMaxProbes
  std::uint32_t field_bits;  ///< 0: positions are probes::CellSequence; 1 to 48: probes::FieldSequence
};

/// The hot loops of the classic layout for one instruction set: k bits anywhere in the array.
///
/// Shape:   words[ceil(cell_count / 64)]; digests[c] or keys[c], outcomes[c].
/// Units:   `seed` is the integer hash's (mix_integer); the `_integers` forms hash in the same pass.
/// Cost:    k cache lines per key; a batch's may_contain beyond a level-2 cache touches only the lines up to the first
///          clear bit. No allocation; up to 66 KB of stack.
/// Threads: any number of readers beside one writer, which see each bit either set or not yet.
struct BloomOps {
  const char* target;  ///< the instruction set, by Highway's name

  void (*may_contain)(const std::uint64_t* words, const BloomShape& shape, const Digest* digests, std::size_t count,
                      bool* outcomes) noexcept;
  void (*may_contain_integers)(const std::uint64_t* words, const BloomShape& shape, const std::uint64_t* keys,
                               std::uint64_t seed, std::size_t count, bool* outcomes) noexcept;
  /// Inserts in order; returns how many keys set a bit.
  std::uint64_t (*insert)(std::uint64_t* words, const BloomShape& shape, const Digest* digests,
                          std::size_t count) noexcept;
  std::uint64_t (*insert_integers)(std::uint64_t* words, const BloomShape& shape, const std::uint64_t* keys,
                                   std::uint64_t seed, std::size_t count) noexcept;
  /// As insert; `seen` also covers earlier keys of the same batch.
  std::uint64_t (*observe)(std::uint64_t* words, const BloomShape& shape, const Digest* digests, std::size_t count,
                           bool* seen) noexcept;
};

/// The best kernels for this machine. Resolved at each call, so keep the reference.
[[nodiscard]] const BloomOps& bloom_ops() noexcept;

/// The kernels of every instruction set that this machine supports, best first; for tests and benchmarks.
[[nodiscard]] std::vector<const BloomOps*> all_bloom_ops();

}  // namespace mankai::kernel
