#pragma once

/// Probe positions from digests, for every layout. Part of the image format: a change is a new format version. Kernels
/// compute the same positions in vectors.

#include <cstdint>

#include "mankai/base/bits.hpp"
#include "mankai/hash/digest.hpp"

namespace mankai::probes {

/// A 512-bit block is eight 64-bit lanes; a key sets one bit in each.
inline constexpr unsigned kBlockLanes = 8;
inline constexpr unsigned kLaneBits = 64;
inline constexpr unsigned kBlockBits = kBlockLanes * kLaneBits;
/// Each lane's position is six bits of the remixed digest, the first at bit 16.
inline constexpr unsigned kPositionBits = 6;
inline constexpr unsigned kFirstPositionShift = 16;
/// The first bit of each lane's position, for vectors.
alignas(64) inline constexpr std::uint64_t kLaneShifts[kBlockLanes] = {16, 22, 28, 34, 40, 46, 52, 58};
static_assert(kLaneShifts[0] == kFirstPositionShift);
static_assert(kLaneShifts[kBlockLanes - 1] == kFirstPositionShift + (kBlockLanes - 1) * kPositionBits);

/// 2^64 divided by the golden ratio, made odd: the multiplier of Fibonacci hashing [Knuth1998, 6.4]. A bijection on 64
/// bits whose high bits depend on all lower ones.
inline constexpr std::uint64_t kRemix = 0x9e3779b97f4a7c15U;

/// The high bits of the unmixed digest select the block, so the address is ready one multiplication after the digest,
/// and sorting digests sorts blocks.
[[nodiscard]] constexpr std::uint64_t block_index(Digest digest, std::uint64_t block_count) noexcept {
  return fastrange(digest.value, block_count);
}

/// Remixes the digest for positions within the block: keys of one block share the digest's high bits, which the
/// multiplication shifts out.
[[nodiscard]] constexpr std::uint64_t remix(Digest digest) noexcept { return digest.value * kRemix; }

/// The bit (0 to 63) that a key sets in lane 0 to 7 of its block.
[[nodiscard]] constexpr unsigned lane_position(std::uint64_t remixed, unsigned lane) noexcept {
  return static_cast<unsigned>(remixed >> (kFirstPositionShift + kPositionBits * lane)) & (kLaneBits - 1);
}

/// SplitMix64's output function [Steele2014], a bijection of 64 bits that mixes well.
[[nodiscard]] constexpr std::uint64_t split_mix(std::uint64_t z) noexcept {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

/// Where keys have several blocks: the digest that selects a key's block 0, 1, 2 … and its bits there. Block 0 has the
/// key's own.
[[nodiscard]] constexpr Digest block_digest(Digest digest, unsigned block) noexcept {
  return block == 0 ? digest : Digest{split_mix(digest.value + block * kRemix)};
}

/// A block of counters has sixteen of four bits per lane. The upper four bits of a lane's position select one, so the
/// same fields of the remixed digest, with two bits of each cleared, are the counters' lowest bits.
inline constexpr unsigned kCounterBits = 4;
inline constexpr unsigned kLaneCounters = kLaneBits / kCounterBits;

/// The lowest bit (0, 4, ... 60) of a key's counter in lane 0 to 7 of its block.
[[nodiscard]] constexpr unsigned counter_shift(std::uint64_t remixed, unsigned lane) noexcept {
  return lane_position(remixed, lane) & ~(kCounterBits - 1);
}

/// The positions of a classic Bloom filter: a multiplicative congruential sequence that starts at the digest, its high
/// bits scaled to the cell count. Multiplier: [Steele2021], the best of 64 bits by spectral score. Source: [Bloom1970]
/// requires k independent addresses; [Kirsch2006] shows that two derived ones suffice. Differs: one digest stepped by
/// multiplication, so no two keys share an arithmetic progression.
class CellSequence {
 public:
  static constexpr std::uint64_t kMultiplier = 0xf1357aea2e62a9c5U;

  explicit constexpr CellSequence(Digest digest) noexcept : state_(start(digest)) {}

  [[nodiscard]] constexpr std::uint64_t next(std::uint64_t cell_count) noexcept {
    const std::uint64_t cell = fastrange(state_, cell_count);
    state_ *= kMultiplier;
    return cell;
  }

  /// The first state: odd, so that the sequence has no short cycle.
  [[nodiscard]] static constexpr std::uint64_t start(Digest digest) noexcept { return digest.value | 1U; }

 private:
  std::uint64_t state_;
};

/// The positions of dablooms: from the digest's lower half in steps of its upper half, modulo 2^32 and then modulo the
/// cells of a partition. For imported files only: each position follows from two others, and the first cells of a
/// partition are slightly more frequent the nearer its size is to 2^32. Source: [Dablooms2012] after [Kirsch2006].
class SteppedSequence {
 public:
  explicit constexpr SteppedSequence(Digest digest) noexcept
      : position_(static_cast<std::uint32_t>(digest.value)), step_(static_cast<std::uint32_t>(digest.value >> 32U)) {}

  /// The next cell; pass the same cell_count in every call.
  [[nodiscard]] constexpr std::uint64_t next(std::uint32_t cell_count) noexcept {
    const std::uint32_t cell = position_ % cell_count;
    position_ += step_;
    return cell;
  }

 private:
  std::uint32_t position_;
  std::uint32_t step_;
};

/// Mixes the digest independently of its cells' positions: a CellSequence is the digest times powers of one multiplier,
/// and the shift makes sure that this is not one of them.
[[nodiscard]] constexpr std::uint64_t beside_positions(Digest digest) noexcept {
  constexpr unsigned kHalf = 32;
  return (digest.value ^ (digest.value >> kHalf)) * kRemix;
}

/// A key's fingerprint of `bits` bits (1 to 32), at least 1: 0 marks empty cells.
[[nodiscard]] constexpr std::uint32_t fingerprint(Digest digest, unsigned bits) noexcept {
  return 1 + static_cast<std::uint32_t>(fastrange(beside_positions(digest), (std::uint64_t{1} << bits) - 1));
}

/// Salts that encode a value differently in each of a key's cells, and for each key: 32 bits per cell, independent of
/// the cells' positions.
class SaltSequence {
 public:
  explicit constexpr SaltSequence(Digest digest) noexcept : state_(beside_positions(digest) | 1U) {}

  [[nodiscard]] constexpr std::uint32_t next() noexcept {
    constexpr unsigned kHalf = 32;
    const auto salt = static_cast<std::uint32_t>(state_ >> kHalf);
    state_ *= CellSequence::kMultiplier;
    return salt;
  }

 private:
  std::uint64_t state_;
};

/// The white paper's addressing: consecutive fields of `field_bits` bits of one long hash, low bits first. Source:
/// [Beach2000], which does not define the long hash; here SplitMix64 [Steele2014] stretches the digest.
class FieldSequence {
 public:
  explicit constexpr FieldSequence(Digest digest) noexcept : state_(digest.value) {}

  /// The next field; field_bits is 1 to 48, and the same in every call.
  [[nodiscard]] constexpr std::uint64_t next(unsigned field_bits) noexcept {
    std::uint64_t field = word_;
    if (available_ < field_bits) {
      const std::uint64_t fresh = stretch();
      const unsigned taken = field_bits - available_;
      field |= fresh << available_;
      word_ = fresh >> taken;
      available_ = kWordBits - taken;
    } else {
      word_ >>= field_bits;
      available_ -= field_bits;
    }
    return field & ((std::uint64_t{1} << field_bits) - 1);
  }

 private:
  static constexpr unsigned kWordBits = 64;

  constexpr std::uint64_t stretch() noexcept { return split_mix(state_ += kRemix); }

  std::uint64_t state_;
  std::uint64_t word_ = 0;
  unsigned available_ = 0;
};

}  // namespace mankai::probes
