#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mankai/hash/digest.hpp"

namespace mankai::kernel {

/// A counter's largest value. A counter that reaches it is stuck: its true count is unknown.
inline constexpr std::uint64_t kStuckCounter = 15;

/// An array of 4-bit counters.
struct CountShape {
  std::uint64_t size;  ///< blocked: blocks; other layouts: counters per probe; >= 1, stepped below 2^32
  std::uint32_t k;     ///< counters per key: blocked 8; partitioned 1 to kMaxProbes; stepped any
};

/// The result of an insertion.
struct Counted {
  bool seen;            ///< no counter of the key was 0 before
  std::uint16_t stuck;  ///< how many of its counters reached kStuckCounter by this insertion
};

/// The hot loops of one layout of counters for one instruction set.
///
/// Shape:   words of 16 counters, low bits first, aligned to 64 bytes: 8 * size of them in the blocked layout,
///          ceil(size * k / 16) in the others; digests[c] or keys[c], and an outcome for each.
/// Units:   `seed` is the integer hash's (mix_integer); the `_integers` forms hash in the same pass.
/// Cost:    one cache line per key, or k in the other layouts. Batches prefetch a window ahead if the counters exceed a
///          level-2 cache, except in the stepped layout, whose batches are single calls. No allocation; up to 66 KB of
///          stack.
/// Threads: any number of readers beside one writer, which see each counter before or after a change.
struct CountOps {
  const char* target;  ///< the instruction set, by Highway's name

  bool (*may_contain_one)(const std::uint64_t* words, const CountShape& shape, Digest digest) noexcept;
  /// The smallest of the key's counters.
  std::uint32_t (*estimate_one)(const std::uint64_t* words, const CountShape& shape, Digest digest) noexcept;
  /// Increments the key's counters, except those that are stuck.
  Counted (*insert_one)(std::uint64_t* words, const CountShape& shape, Digest digest) noexcept;
  /// Decrements the key's counters, except those that are stuck, or none if one is 0; returns whether it did.
  bool (*erase_one)(std::uint64_t* words, const CountShape& shape, Digest digest) noexcept;

  void (*may_contain)(const std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count,
                      bool* outcomes) noexcept;
  void (*may_contain_integers)(const std::uint64_t* words, const CountShape& shape, const std::uint64_t* keys,
                               std::uint64_t seed, std::size_t count, bool* outcomes) noexcept;
  void (*estimate)(const std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count,
                   std::uint8_t* smallest) noexcept;
  /// Insert in order; return how many counters got stuck.
  std::uint64_t (*insert)(std::uint64_t* words, const CountShape& shape, const Digest* digests,
                          std::size_t count) noexcept;
  std::uint64_t (*insert_integers)(std::uint64_t* words, const CountShape& shape, const std::uint64_t* keys,
                                   std::uint64_t seed, std::size_t count) noexcept;
  /// As insert; `seen` also covers earlier keys of the same batch.
  std::uint64_t (*observe)(std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count,
                           bool* seen) noexcept;
  /// Erases in order: 0 for an erased key, 1 for a refused one; returns how many were erased.
  std::uint64_t (*erase)(std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count,
                         std::uint8_t* refused) noexcept;
};

/// The best kernels for this machine. Resolved at each call, so keep the reference.
[[nodiscard]] const CountOps& blocked_count_ops() noexcept;
[[nodiscard]] const CountOps& partitioned_count_ops() noexcept;
/// The scalar kernels of the dablooms layout (probes::SteppedSequence), used for its files only.
[[nodiscard]] const CountOps& stepped_count_ops() noexcept;

/// The kernels of every instruction set that this machine supports, best first; for tests and benchmarks.
[[nodiscard]] std::vector<const CountOps*> all_blocked_count_ops();
[[nodiscard]] std::vector<const CountOps*> all_partitioned_count_ops();

}  // namespace mankai::kernel
