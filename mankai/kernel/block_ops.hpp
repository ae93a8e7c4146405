#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mankai/hash/digest.hpp"

namespace mankai::kernel {

/// The AVX-512 assembly of block_ops_inline.hpp for look-ups on this machine: `by_shifts` remixes digests by the scalar
/// multiplier, `by_factors` by a product of vectors, which Intel's processors compute in three steps.
enum class InlineCode : std::uint8_t { none, by_shifts, by_factors };

/// The hot loops of the blocked layout for one instruction set.
///
/// Shape:   words[8 * block_count], aligned to 64 bytes, block_count >= 1; digests[c] or keys[c], outcomes[c].
/// Units:   `seed` is the integer hash's (mix_integer); the `_integers` forms hash in the same pass.
/// Cost:    one cache line per key. Batches prefetch a window ahead if the cells exceed a level-2 cache.
/// Threads: any number of readers beside one writer, which see each key completely or not yet.
struct BlockOps {
  const char* target;  ///< the instruction set, by Highway's name

  bool (*may_contain_one)(const std::uint64_t* words, std::uint64_t block_count, Digest digest) noexcept;
  /// Inserts and returns whether the key was present; an insert that returns false has set a bit.
  bool (*observe_one)(std::uint64_t* words, std::uint64_t block_count, Digest digest) noexcept;

  void (*may_contain)(const std::uint64_t* words, std::uint64_t block_count, const Digest* digests, std::size_t count,
                      bool* outcomes) noexcept;
  void (*may_contain_integers)(const std::uint64_t* words, std::uint64_t block_count, const std::uint64_t* keys,
                               std::uint64_t seed, std::size_t count, bool* outcomes) noexcept;
  /// Inserts in order; returns how many keys set a bit.
  std::uint64_t (*insert)(std::uint64_t* words, std::uint64_t block_count, const Digest* digests,
                          std::size_t count) noexcept;
  std::uint64_t (*insert_integers)(std::uint64_t* words, std::uint64_t block_count, const std::uint64_t* keys,
                                   std::uint64_t seed, std::size_t count) noexcept;
  /// As insert; `seen` also covers earlier keys of the same batch.
  std::uint64_t (*observe)(std::uint64_t* words, std::uint64_t block_count, const Digest* digests, std::size_t count,
                           bool* seen) noexcept;

  /// Not none if the target is AVX3_DL.
  InlineCode inline_code;
};

/// The best kernels for this machine. Resolved at each call, so keep the reference.
[[nodiscard]] const BlockOps& block_ops() noexcept;

/// The kernels of every instruction set that this machine supports, best first; for tests and benchmarks.
[[nodiscard]] std::vector<const BlockOps*> all_block_ops();

}  // namespace mankai::kernel
