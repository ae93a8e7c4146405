#pragma once

#include <cstddef>
#include <cstdint>

namespace mankai::kernel {

/// Returns how many bits are set.
///
/// Shape:   words[count]; count may be 0.
/// Cost:    one pass at memory speed, in the machine's widest vectors.
/// Errors:  none; total.
/// Threads: beside one writer; bits set meanwhile may or may not count.
[[nodiscard]] std::uint64_t count_ones(const std::uint64_t* words, std::size_t count) noexcept;

/// ORs `from` into `into`: the union of two filters of the same shape.
///
/// Shape:   into[count], from[count]; may be the same, must not overlap otherwise.
/// Cost:    one pass at memory speed.
/// Errors:  none; total.
/// Threads: the only writer of `into`, beside readers of it.
void merge_or(std::uint64_t* into, const std::uint64_t* from, std::size_t count) noexcept;

/// Returns the probability that a fresh key with a uniform digest is reported as present, given these cells: the mean
/// over blocks of the product over lanes of the lane's share of set bits.
///
/// Shape:   words[8 * block_count], block_count >= 1.
/// Units:   probability, 0 to 1; exact but for one last rounding, at any block count, and the same on every machine.
/// Cost:    one pass at memory speed.
/// Errors:  none; total.
/// Threads: beside one writer.
[[nodiscard]] double mean_block_fpr(const std::uint64_t* words, std::uint64_t block_count) noexcept;

}  // namespace mankai::kernel
