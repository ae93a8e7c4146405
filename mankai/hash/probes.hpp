#pragma once

/// Digest -> positions. Every layout's probe positions come from here and nowhere else: they are part of the image
/// format, so a change here is a new format version. Kernels compute the same positions in vectors.

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

/// 2^64 divided by the golden ratio, made odd: the multiplier of Fibonacci hashing [Knuth1998, 6.4].
/// A bijection on 64 bits whose high bits depend on all lower ones.
inline constexpr std::uint64_t kRemix = 0x9e3779b97f4a7c15U;

/// Returns the block of a key. The digest's own high bits pick it, so that the address is ready one multiplication
/// after the digest and sorting digests sorts blocks.
[[nodiscard]] constexpr std::uint64_t block_index(Digest digest, std::uint64_t block_count) noexcept {
  return fastrange(digest.value, block_count);
}

/// Spreads the digest anew for the positions within the block: keys of one block share the digest's high bits,
/// which the multiplication pushes out at the top and replaces by all lower bits.
[[nodiscard]] constexpr std::uint64_t remix(Digest digest) noexcept { return digest.value * kRemix; }

/// Returns the bit (0 to 63) that a key sets in lane 0 to 7 of its block.
[[nodiscard]] constexpr unsigned lane_position(std::uint64_t remixed, unsigned lane) noexcept {
  return static_cast<unsigned>(remixed >> (kFirstPositionShift + kPositionBits * lane)) & (kLaneBits - 1);
}

/// A block of counters has sixteen of four bits in each lane. The upper four bits of a lane's position choose one, so
/// that the same fields of the remixed digest, two bits of each cleared, are the bits where the counters begin.
inline constexpr unsigned kCounterBits = 4;
inline constexpr unsigned kLaneCounters = kLaneBits / kCounterBits;

/// Returns the lowest bit (0, 4, ... 60) of a key's counter in lane 0 to 7 of its block.
[[nodiscard]] constexpr unsigned counter_shift(std::uint64_t remixed, unsigned lane) noexcept {
  return lane_position(remixed, lane) & ~(kCounterBits - 1);
}

/// The positions of a classic Bloom filter: a multiplicative congruential sequence that starts at the remixed digest,
/// its high bits scaled to the cell count. Multiplier: [Steele2021], the best of 64 bits by their spectral score.
/// Source: [Bloom1970] asks for k independent addresses; [Kirsch2006] shows that two derived ones suffice.
/// Differs: one digest stepped by multiplication, so there is no arithmetic progression to collide with.
class CellSequence {
 public:
  static constexpr std::uint64_t kMultiplier = 0xf1357aea2e62a9c5U;

  explicit constexpr CellSequence(Digest digest) noexcept : state_(start(digest)) {}

  [[nodiscard]] constexpr std::uint64_t next(std::uint64_t cell_count) noexcept {
    const std::uint64_t cell = fastrange(state_, cell_count);
    state_ *= kMultiplier;
    return cell;
  }

  /// The first state: odd, so that the sequence never falls into a short cycle.
  [[nodiscard]] static constexpr std::uint64_t start(Digest digest) noexcept { return digest.value | 1U; }

 private:
  std::uint64_t state_;
};

/// The positions of dablooms: steps of one width, the digest's upper half, from its lower half on, modulo 2^32 and then
/// modulo the cells of a partition. For its files alone: each position follows from two others, and the first
/// cells of a partition come a little more often the nearer its size is to 2^32.
/// Source: [Dablooms2012] after [Kirsch2006].
class SteppedSequence {
 public:
  explicit constexpr SteppedSequence(Digest digest) noexcept
      : position_(static_cast<std::uint32_t>(digest.value)), step_(static_cast<std::uint32_t>(digest.value >> 32U)) {}

  /// Returns the next cell of so many; the same number in every call.
  [[nodiscard]] constexpr std::uint64_t next(std::uint32_t cell_count) noexcept {
    const std::uint32_t cell = position_ % cell_count;
    position_ += step_;
    return cell;
  }

 private:
  std::uint32_t position_;
  std::uint32_t step_;
};

/// Spreads the digest for what must be independent of where its cells are: a sequence of cells is the digest times
/// powers of one multiplier, and the shift keeps this from being one of them.
[[nodiscard]] constexpr std::uint64_t beside_positions(Digest digest) noexcept {
  constexpr unsigned kHalf = 32;
  return (digest.value ^ (digest.value >> kHalf)) * kRemix;
}

/// Returns a key's fingerprint of `bits` bits (1 to 32), from 1 on: 0 is left for what is empty.
[[nodiscard]] constexpr std::uint32_t fingerprint(Digest digest, unsigned bits) noexcept {
  return 1 + static_cast<std::uint32_t>(fastrange(beside_positions(digest), (std::uint64_t{1} << bits) - 1));
}

/// What makes the same value look different in each of a key's cells, and in each key's: 32 bits for cell after cell,
/// independent of where those are.
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

/// The white paper's literal addressing: consecutive fields of `field_bits` bits of one long hash, here the digest
/// stretched by SplitMix64 [Steele2014] to as many bits as are needed, low bits first.
/// Source: [Beach2000]. Differs: the paper leaves open where the long hash comes from.
class FieldSequence {
 public:
  explicit constexpr FieldSequence(Digest digest) noexcept : state_(digest.value) {}

  /// Returns the next field; `field_bits` is 1 to 48 and the same in every call.
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

  constexpr std::uint64_t stretch() noexcept {
    std::uint64_t z = (state_ += kRemix);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
  std::uint64_t word_ = 0;
  unsigned available_ = 0;
};

}  // namespace mankai::probes
