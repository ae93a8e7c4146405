#pragma once

#include <cstddef>
#include <cstdint>

namespace mankai::kernel {

/// Returns how many of `count` 4-bit counters from number `first` on are not 0.
///
/// Shape:   words of 16 counters, low bits first; first + count of them are there.
/// Cost:    one pass at memory speed, in the machine's widest vectors.
/// Errors:  none; total.
/// Threads: beside one writer.
[[nodiscard]] std::uint64_t count_nonzero(const std::uint64_t* words, std::uint64_t first,
                                          std::uint64_t count) noexcept;

/// Returns how many 4-bit counters of `count` words are stuck.
/// Cost: one pass. Errors: none; total. Threads: beside one writer.
[[nodiscard]] std::uint64_t count_stuck(const std::uint64_t* words, std::size_t count) noexcept;

/// Adds the counters of `from` to those of `into`: where a sum is 15 or more, or either is stuck, the counter is stuck.
/// Returns how many counters of `into` are stuck afterwards.
///
/// Shape:   into[count], from[count] words of 16 counters; may be the same, must not overlap otherwise.
/// Cost:    one pass at memory speed.
/// Errors:  none; total.
/// Threads: the only writer of `into`, beside readers of it.
std::uint64_t merge_counters(std::uint64_t* into, const std::uint64_t* from, std::size_t count) noexcept;

/// Returns the probability that a fresh key with a uniform digest is reported as present by a blocked layout: the mean
/// over blocks of the product over lanes of the lane's share of counters that are not 0.
///
/// Shape:   words[8 * block_count], block_count >= 1.
/// Units:   probability, 0 to 1; exact but for rounding, and the same on every machine.
/// Cost:    one pass.
/// Errors:  none; total.
/// Threads: beside one writer.
[[nodiscard]] double mean_counting_block_fpr(const std::uint64_t* words, std::uint64_t block_count) noexcept;

}  // namespace mankai::kernel
