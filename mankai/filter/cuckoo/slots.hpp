#pragma once

/// The slots of a cuckoo filter in memory: buckets of four slots of 8 to 32 bits, packed into cache lines.
///
/// The bits of a slot are split over planes of 16, 8, 4 or 2 bits, so that the four slots of a bucket have one aligned
/// word in each plane and every store is one atomic store. Planes of a line of 14-bit slots, nine buckets:
///
///     | 9 × 4 × 8 low bits | 9 × 4 × 4 bits | 9 × 4 × 2 high bits | 1 byte unused |
///
/// A slot of 0 is free. Its low plane holds whatever is changed in place (counts and expiry), so that such a change is
/// one store.

#include <array>
#include <cstddef>
#include <cstdint>

#include "mankai/base/bits.hpp"

namespace mankai::cuckoo {

inline constexpr unsigned kSlotsPerBucket = 4;
/// The widths that a slot can have.
inline constexpr std::array<unsigned, 8> kSlotBits = {8, 10, 12, 14, 16, 20, 24, 32};

/// How many buckets of such slots a cache line holds.
[[nodiscard]] constexpr std::uint64_t buckets_per_line(unsigned slot_bits) noexcept {
  return kCacheLineBytes * 8 / (std::uint64_t{kSlotsPerBucket} * slot_bits);
}

namespace detail {

// The words of a plane with four fields of 2, 4, 8 or 16 bits. Images have words of 64 bits, and are read at others
// here.
using Word8 = std::uint8_t __attribute__((may_alias));
using Word16 = std::uint16_t __attribute__((may_alias));
using Word32 = std::uint32_t __attribute__((may_alias));
using Word64 = std::uint64_t __attribute__((may_alias));

template <unsigned bits>
std::uint64_t load_fields(const std::byte* plane, std::uint64_t place) noexcept {
  if constexpr (bits == 2) {
    return __atomic_load_n(reinterpret_cast<const Word8*>(plane) + place, __ATOMIC_ACQUIRE);
  } else if constexpr (bits == 4) {
    return __atomic_load_n(reinterpret_cast<const Word16*>(plane) + place, __ATOMIC_ACQUIRE);
  } else if constexpr (bits == 8) {
    return __atomic_load_n(reinterpret_cast<const Word32*>(plane) + place, __ATOMIC_ACQUIRE);
  } else {
    return __atomic_load_n(reinterpret_cast<const Word64*>(plane) + place, __ATOMIC_ACQUIRE);
  }
}

template <unsigned bits>
void store_fields(std::byte* plane, std::uint64_t place, std::uint64_t fields) noexcept {
  if constexpr (bits == 2) {
    __atomic_store_n(reinterpret_cast<Word8*>(plane) + place, static_cast<Word8>(fields), __ATOMIC_RELEASE);
  } else if constexpr (bits == 4) {
    __atomic_store_n(reinterpret_cast<Word16*>(plane) + place, static_cast<Word16>(fields), __ATOMIC_RELEASE);
  } else if constexpr (bits == 8) {
    __atomic_store_n(reinterpret_cast<Word32*>(plane) + place, static_cast<Word32>(fields), __ATOMIC_RELEASE);
  } else {
    __atomic_store_n(reinterpret_cast<Word64*>(plane) + place, fields, __ATOMIC_RELEASE);
  }
}

constexpr std::uint64_t repeat16(std::uint64_t value) noexcept { return value * 0x0001000100010001; }

/// Spreads four fields of `bits` bits over the four 16-bit lanes of a word.
template <unsigned bits>
constexpr std::uint64_t spread(std::uint64_t fields) noexcept {
  if constexpr (bits == 16) {
    return fields;
  } else {
    constexpr std::uint64_t kPairs = ((std::uint64_t{1} << (2 * bits)) - 1) * 0x0000000100000001;
    const std::uint64_t pairs = (fields | fields << (32 - 2 * bits)) & kPairs;
    return (pairs | pairs << (16 - bits)) & repeat16((std::uint64_t{1} << bits) - 1);
  }
}

}  // namespace detail

/// The four slots of a bucket: lanes of 16 bits in one word, or of 32 bits in two.
template <unsigned lane_bits>
struct Lanes {
  static constexpr std::size_t kWords = lane_bits / 16;
  static constexpr std::uint64_t kOnes = lane_bits == 16 ? 0x0001000100010001 : 0x0000000100000001;
  static constexpr std::uint64_t kTops = kOnes << (lane_bits - 1);

  std::array<std::uint64_t, kWords> words{};

  [[nodiscard]] std::uint32_t operator[](unsigned slot) const noexcept {
    if constexpr (lane_bits == 16) {
      return words[0] >> (16 * slot) & 0xFFFF;
    } else {
      return static_cast<std::uint32_t>(words[slot / 2] >> (32 * (slot % 2)));
    }
  }

  /// The top bit of every lane whose bits under `mask` equal `value`; in the first word's order.
  [[nodiscard]] Lanes equal(std::uint32_t value, std::uint32_t mask) const noexcept {
    Lanes equal;
    for (std::size_t i = 0; i < kWords; ++i) {
      const std::uint64_t differs = (words[i] & mask * kOnes) ^ value * kOnes;
      equal.words[i] = ~(((differs & ~kTops) + ~kTops) | differs) & kTops;
    }
    return equal;
  }
  [[nodiscard]] Lanes without(const Lanes& other) const noexcept {
    Lanes left;
    for (std::size_t i = 0; i < kWords; ++i) {
      left.words[i] = words[i] & ~other.words[i];
    }
    return left;
  }
  [[nodiscard]] bool any() const noexcept {
    std::uint64_t all = 0;
    for (const std::uint64_t word : words) {
      all |= word;
    }
    return all != 0;
  }
};

/// Buckets of slots of one width. Shape: cells[lines × 64 bytes]. Threads: any number of readers beside one writer.
template <unsigned slot_bits>
class Slots {
 public:
  static constexpr unsigned kLaneBits = slot_bits <= 16 ? 16 : 32;
  static constexpr std::uint64_t kPerLine = buckets_per_line(slot_bits);
  using BucketLanes = Lanes<kLaneBits>;

  static std::byte* line_of(std::byte* cells, std::uint64_t bucket) noexcept {
    return cells + bucket / kPerLine * kCacheLineBytes;
  }

  [[nodiscard]] static BucketLanes read(const std::byte* cells, std::uint64_t bucket) noexcept {
    const std::byte* line = cells + bucket / kPerLine * kCacheLineBytes;
    const std::uint64_t place = bucket % kPerLine;
    BucketLanes lanes;
    for_each_plane([&]<unsigned bits, unsigned shift, std::size_t offset>() {
      const std::uint64_t spread = detail::spread<bits>(detail::load_fields<bits>(line + offset, place));
      if constexpr (kLaneBits == 16) {
        lanes.words[0] |= spread << shift;
      } else {
        lanes.words[0] |= ((spread & 0xFFFF) | (spread & 0xFFFF0000) << 16U) << shift;
        lanes.words[1] |= ((spread >> 32 & 0xFFFF) | (spread >> 48) << 32U) << shift;
      }
    });
    return lanes;
  }

  /// Fills a free slot: what readers recognise it by, its low plane, last.
  static void fill(std::byte* cells, std::uint64_t bucket, unsigned slot, std::uint32_t value) noexcept {
    std::byte* line = line_of(cells, bucket);
    const std::uint64_t place = bucket % kPerLine;
    for_each_plane([&]<unsigned bits, unsigned shift, std::size_t offset>() {
      if constexpr (shift != 0) {
        store<bits>(line + offset, place, slot, value >> shift);
      }
    });
    store<kLowBits>(line, place, slot, value);
  }
  /// Frees a slot, its low plane first.
  static void free(std::byte* cells, std::uint64_t bucket, unsigned slot) noexcept {
    std::byte* line = line_of(cells, bucket);
    const std::uint64_t place = bucket % kPerLine;
    for_each_plane([&]<unsigned bits, unsigned, std::size_t offset>() { store<bits>(line + offset, place, slot, 0); });
  }
  /// Changes the low eight bits of a taken slot in one store.
  static void set_low(std::byte* cells, std::uint64_t bucket, unsigned slot, std::uint32_t value) noexcept {
    store<kLowBits>(line_of(cells, bucket), bucket % kPerLine, slot, value);
  }

 private:
  static constexpr unsigned kLowBits = slot_bits < 16 ? 8 : 16;

  // Calls `use<bits, shift, offset>()` for each plane, the low one first.
  template <class Use>
  static void for_each_plane(const Use& use) {
    constexpr std::size_t kLowBytes = kPerLine * kSlotsPerBucket * kLowBits / 8;
    use.template operator()<kLowBits, 0, 0>();
    constexpr unsigned kRest = slot_bits - kLowBits;
    if constexpr (kRest == 6) {
      use.template operator()<4, 8, kLowBytes>();
      use.template operator()<2, 12, kLowBytes + kPerLine * 2>();
    } else if constexpr (kRest != 0) {
      use.template operator()<kRest, slot_bits - kRest, kLowBytes>();
    }
  }

  template <unsigned bits>
  static void store(std::byte* plane, std::uint64_t place, unsigned slot, std::uint32_t value) noexcept {
    constexpr std::uint64_t kField = (std::uint64_t{1} << bits) - 1;
    const unsigned at = bits * slot;
    const std::uint64_t others = detail::load_fields<bits>(plane, place) & ~(kField << at);
    detail::store_fields<bits>(plane, place, others | (value & kField) << at);
  }
};

}  // namespace mankai::cuckoo
