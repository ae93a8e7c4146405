#pragma once

/// The slots of a cuckoo filter in memory: buckets of four slots of 8 to 32 bits, packed into cache lines.
///
/// The bits of a slot are split over planes of 16, 8, 4 or 2 bits, so that the four slots of a bucket have one aligned
/// word in each plane and every store is one atomic store. Planes of a line of 14-bit slots, nine buckets:
///
///     | 9 × 4 × 8 low bits | 9 × 4 × 4 bits | 9 × 4 × 2 high bits | 1 byte unused |
///
/// A slot of 0 is free. Counts and expiry, which change in place, are in the low plane, so that such a change is one
/// store.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "mankai/base/bits.hpp"

namespace mankai::cuckoo {

inline constexpr unsigned kSlotsPerBucket = 4;
/// The widths that a slot can have.
inline constexpr std::array<unsigned, 8> kSlotBits = {8, 10, 12, 14, 16, 20, 24, 32};

/// Number of buckets in a cache line.
[[nodiscard]] constexpr std::uint64_t buckets_per_line(unsigned slot_bits) noexcept {
  return kCacheLineBytes * 8 / (std::uint64_t{kSlotsPerBucket} * slot_bits);
}

namespace detail {

// The words of a plane with four fields of 2, 4, 8 or 16 bits. Images have words of 64 bits, which are read as others
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

/// Vectors of the compiler's: a third of the instructions that the same takes in words.
using Bytes = std::uint8_t __attribute__((vector_size(8)));
using Pairs = std::uint16_t __attribute__((vector_size(8)));

/// Spreads eight fields of `bits` bits over bytes.
template <unsigned bits>
[[gnu::always_inline]] inline Bytes spread_eight(std::uint64_t fields) noexcept {
  if constexpr (bits == 8) {
    return std::bit_cast<Bytes>(fields);
  } else {
    constexpr auto kField = static_cast<std::uint8_t>((1U << bits) - 1);
    const Bytes pairs = spread_eight<2 * bits>(fields);
    const auto odd = std::bit_cast<Bytes>(std::bit_cast<Pairs>(pairs) >> bits);
    return __builtin_shufflevector(pairs, odd, 0, 8, 1, 9, 2, 10, 3, 11) & kField;
  }
}

}  // namespace detail

/// The low plane has lanes of 8 or 16 bits.
[[nodiscard]] constexpr unsigned low_bits_of(unsigned slot_bits) noexcept { return slot_bits < 16 ? 8 : 16; }
/// The part of a slot that its low plane holds, in all lanes of a word.
[[nodiscard]] constexpr std::uint64_t repeat_low(unsigned slot_bits, std::uint64_t slot) noexcept {
  return low_bits_of(slot_bits) == 8 ? (slot & 0xFF) * 0x0101010101010101 : detail::repeat16(slot & 0xFFFF);
}

/// The four slots of a bucket: lanes of 16 bits in one word, or of 32 bits in two.
template <unsigned lane_bits>
struct Lanes {
  static constexpr std::size_t kWords = lane_bits / 16;

  std::array<std::uint64_t, kWords> words{};

  [[nodiscard]] std::uint32_t operator[](unsigned slot) const noexcept {
    if constexpr (lane_bits == 16) {
      return words[0] >> (16 * slot) & 0xFFFF;
    } else {
      return static_cast<std::uint32_t>(words[slot / 2] >> (32 * (slot % 2)));
    }
  }
};

/// Buckets of slots of one width. Shape: cells[lines × 64 bytes]. Threads: any number of readers beside one writer.
template <unsigned slot_bits>
class Slots {
 public:
  static constexpr unsigned kLaneBits = slot_bits <= 16 ? 16 : 32;
  static constexpr std::uint64_t kPerLine = buckets_per_line(slot_bits);
  using BucketLanes = Lanes<kLaneBits>;

  /// The slots of the bucket with this low plane.
  [[nodiscard]] [[gnu::always_inline]] static BucketLanes read(const std::byte* low) noexcept {
    const std::uint64_t place = place_of(low);
    const std::byte* line = low - place * kLowBytes;
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

  /// The low plane of a bucket's slots: four lanes of kLowBits in one word, 0 in a free slot.
  static constexpr unsigned kLowBits = low_bits_of(slot_bits);
  static constexpr std::size_t kLowBytes = kSlotsPerBucket * kLowBits / 8;
  [[nodiscard]] [[gnu::always_inline]] static std::byte* low_plane(std::byte* cells, std::uint64_t bucket) noexcept {
    return cells + bucket / kPerLine * kCacheLineBytes + bucket % kPerLine * kLowBytes;
  }
  [[nodiscard]] [[gnu::always_inline]] static std::uint64_t load_low(const std::byte* plane) noexcept {
    return detail::load_fields<kLowBits>(plane, 0);
  }
  /// The first free slot of a low plane, or kSlotsPerBucket.
  [[nodiscard]] static unsigned first_free(std::uint64_t low) noexcept {
    // Words of four 8-bit lanes have four zero lanes above them.
    return static_cast<unsigned>(std::countr_zero(zero_lanes(low))) / kLowBits;
  }
  /// The bucket with this low plane.
  [[nodiscard]] static std::uint64_t bucket_of(const std::byte* cells, const std::byte* low) noexcept {
    const auto line = static_cast<std::uint64_t>(low - cells) / kCacheLineBytes;
    return line * kPerLine + place_of(low);
  }

  /// The low planes of two buckets. Sets of their slots have a bit for each: 0 to 3 are the first bucket's slots, 4 to
  /// 7 the second's.
  struct LowPlanes {
    std::array<std::uint64_t, kLowBits / 8> words;
  };
  [[nodiscard]] [[gnu::always_inline]] static LowPlanes load_both(const std::byte* first,
                                                                  const std::byte* second) noexcept {
    if constexpr (kLowBits == 8) {
      return {.words = {load_low(first) | load_low(second) << 32U}};
    } else {
      return {.words = {load_low(first), load_low(second)}};
    }
  }
  /// The slots that equal `value` in the bits of `mask`, both made by repeat_low.
  [[nodiscard]] [[gnu::always_inline]] static std::uint32_t equal(const LowPlanes& planes, std::uint64_t value,
                                                                  std::uint64_t mask) noexcept {
    if constexpr (kLowBits == 8) {
      // The product brings the lowest bits of all bytes together.
      return static_cast<std::uint32_t>((zero_lanes((planes.words[0] ^ value) & mask) >> 7U) * 0x0102040810204080 >>
                                        56U);
    } else {
      const std::uint64_t first = zero_lanes((planes.words[0] ^ value) & mask) >> 15U;
      const std::uint64_t second = zero_lanes((planes.words[1] ^ value) & mask) >> 15U;
      return static_cast<std::uint32_t>((first | second << 4U) * 0x0001000200040008 >> 48U & 0xFFU);
    }
  }
  /// A bucket, counted within its line.
  struct Bucket {
    const std::byte* line;
    std::uint64_t place;
  };
  [[nodiscard]] [[gnu::always_inline]] static Bucket bucket_at(const std::byte* cells, std::uint64_t bucket) noexcept {
    if constexpr (slot_bits == kLowBits) {
      return {.line = cells + bucket * kLowBytes, .place = 0};  // there is no other plane
    }
    return {.line = cells + bucket / kPerLine * kCacheLineBytes, .place = bucket % kPerLine};
  }
  /// Whether a slot of two buckets equals `value` in the bits of `low_mask`, made by repeat_low, and in the other
  /// planes. All slots are compared without a branch.
  [[nodiscard]] [[gnu::always_inline]] static bool is_in_either(const Bucket& first, const Bucket& second,
                                                                std::uint32_t value, std::uint64_t low_mask) noexcept {
    // The bytes of both buckets' slots together, or lanes of 16 bits in a word for each bucket.
    detail::Bytes bytes{};
    std::array<std::uint64_t, 2> lanes{};
    for_each_plane([&]<unsigned bits, unsigned shift, std::size_t offset>() {
      constexpr std::uint64_t kField = (std::uint64_t{1} << bits) - 1;
      const std::uint64_t wanted = repeat_low(slot_bits, value >> shift & kField);
      const std::uint64_t mask = shift == 0 ? low_mask : ~std::uint64_t{0};
      const std::uint64_t fields = detail::load_fields<bits>(first.line + offset, first.place);
      const std::uint64_t others = detail::load_fields<bits>(second.line + offset, second.place);
      if constexpr (kLowBits == 8) {
        bytes |= (detail::spread_eight<bits>(fields | others << (kSlotsPerBucket * bits)) ^
                  std::bit_cast<detail::Bytes>(wanted)) &
                 std::bit_cast<detail::Bytes>(mask);
      } else {
        lanes[0] |= (detail::spread<bits>(fields) ^ wanted) & mask;
        lanes[1] |= (detail::spread<bits>(others) ^ wanted) & mask;
      }
    });
    return kLowBits == 8 ? std::bit_cast<std::uint64_t>(bytes == 0) != 0
                         : (zero_lanes(lanes[0]) | zero_lanes(lanes[1])) != 0;
  }
  /// The slots that are free.
  [[nodiscard]] static std::uint32_t free_of(const LowPlanes& planes) noexcept {
    return equal(planes, 0, ~std::uint64_t{0});
  }

  /// A slot of the bucket with this low plane.
  [[nodiscard]] [[gnu::always_inline]] static std::uint32_t slot_at(const std::byte* low, unsigned slot) noexcept {
    const std::uint64_t place = place_of(low);
    const std::byte* line = low - place * kLowBytes;
    std::uint32_t value = 0;
    for_each_plane([&]<unsigned bits, unsigned shift, std::size_t offset>() {
      constexpr std::uint64_t kField = (std::uint64_t{1} << bits) - 1;
      const std::uint64_t field = detail::load_fields<bits>(line + offset, place) >> (bits * slot) & kField;
      value |= static_cast<std::uint32_t>(field) << shift;
    });
    return value;
  }

  /// Fills a free slot of the bucket with this low plane: the low plane, by which readers recognize it, last.
  static void fill(std::byte* low, unsigned slot, std::uint32_t value) noexcept {
    store_rest(low, slot, value);
    set_low(low, slot, value);
  }
  /// Frees a slot, its low plane first.
  static void free(std::byte* low, unsigned slot) noexcept {
    set_low(low, slot, 0);
    store_rest(low, slot, 0);
  }
  /// Changes the low plane of a taken slot in one store.
  static void set_low(std::byte* low, unsigned slot, std::uint32_t value) noexcept {
    if constexpr (kLowBits == 8) {
      __atomic_store_n(reinterpret_cast<detail::Word8*>(low) + slot, static_cast<detail::Word8>(value),
                       __ATOMIC_RELEASE);
    } else {
      __atomic_store_n(reinterpret_cast<detail::Word16*>(low) + slot, static_cast<detail::Word16>(value),
                       __ATOMIC_RELEASE);
    }
  }

 private:
  // Calls `use<bits, shift, offset>()` for each plane, the low one first.
  template <class Use>
  static void for_each_plane(const Use& use) {
    constexpr std::size_t kLowPlanes = kPerLine * kLowBytes;
    use.template operator()<kLowBits, 0, 0>();
    constexpr unsigned kRest = slot_bits - kLowBits;
    if constexpr (kRest == 6) {
      use.template operator()<4, 8, kLowPlanes>();
      use.template operator()<2, 12, kLowPlanes + kPerLine * 2>();
    } else if constexpr (kRest != 0) {
      use.template operator()<kRest, slot_bits - kRest, kLowPlanes>();
    }
  }

  // The bucket with this low plane, counted within its line.
  [[nodiscard]] static std::uint64_t place_of(const std::byte* low) noexcept {
    return reinterpret_cast<std::uintptr_t>(low) % kCacheLineBytes / kLowBytes;
  }
  // The top bit of every lane of kLowBits that is 0.
  [[nodiscard]] [[gnu::always_inline]] static std::uint64_t zero_lanes(std::uint64_t lanes) noexcept {
    constexpr std::uint64_t kTops = kLowBits == 8 ? 0x8080808080808080 : 0x8000800080008000;
    return ~(((lanes & ~kTops) + ~kTops) | lanes) & kTops;
  }

  static void store_rest(std::byte* low, unsigned slot, std::uint32_t value) noexcept {
    const std::uint64_t place = place_of(low);
    std::byte* line = low - place * kLowBytes;
    for_each_plane([&]<unsigned bits, unsigned shift, std::size_t offset>() {
      if constexpr (shift != 0) {
        store<bits>(line + offset, place, slot, value >> shift);
      }
    });
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
