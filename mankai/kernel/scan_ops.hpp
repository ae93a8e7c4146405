#pragma once

#include <cstddef>
#include <cstdint>

namespace mankai::kernel {

/// Scans of whole filters: words of bits, or of 16 counters of 4 bits each (lowest bits first).
///
/// Shape:   `words[count]`, `into[count]` and `from[count]` are 64-bit words; count may be 0. `into` and `from` are
///          equal or do not overlap.
/// Cost:    one pass at memory speed, in the widest vectors of the machine; `count_stuck` has no vectors.
/// Threads: beside one writer, whose changes during the call may or may not count. The merges are the only writer of
///          `into`, beside its readers.

/// Number of set bits.
[[nodiscard]] std::uint64_t count_ones(const std::uint64_t* words, std::size_t count) noexcept;

/// ORs `from` into `into`: the union of two filters of the same shape.
void merge_or(std::uint64_t* into, const std::uint64_t* from, std::size_t count) noexcept;

/// False-positive probability of a blocked filter for an absent key with a uniform digest: the mean over blocks of the
/// product over lanes of the share of set bits. Shape: words[8 * block_count], block_count >= 1. Exact except for one
/// rounding at the end; equal on every machine.
[[nodiscard]] double mean_block_fpr(const std::uint64_t* words, std::uint64_t block_count) noexcept;

/// Number of nonzero counters among `count` from number `first` on. Shape: the words hold at least first + count
/// counters.
[[nodiscard]] std::uint64_t count_nonzero(const std::uint64_t* words, std::uint64_t first,
                                          std::uint64_t count) noexcept;

/// Number of counters at kStuckCounter.
[[nodiscard]] std::uint64_t count_stuck(const std::uint64_t* words, std::size_t count) noexcept;

/// Adds the counters of `from` to `into`. A counter is stuck if either was, or if their sum is 15 or more. Returns how
/// many counters of `into` are stuck.
std::uint64_t merge_counters(std::uint64_t* into, const std::uint64_t* from, std::size_t count) noexcept;

/// As mean_block_fpr, for a blocked filter of counters: lanes have shares of nonzero counters.
[[nodiscard]] double mean_counting_block_fpr(const std::uint64_t* words, std::uint64_t block_count) noexcept;

}  // namespace mankai::kernel
