#pragma once

/// The file of a pool, byte by byte: docs/formats/filter_pool.md is the specification, this file its constants.

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mankai/base/bits.hpp"

namespace mankai {

/// "MKPOOL", then a byte that ends text and one that line-ending conversion would change.
inline constexpr std::array<char, 8> kPoolMagic = {'M', 'K', 'P', 'O', 'O', 'L', '\x1a', '\n'};
inline constexpr std::uint32_t kPoolVersion = 1;
/// The first slot begins at a page.
inline constexpr std::uint64_t kPoolPageBytes = 4096;
/// A pool is for small filters: larger ones have files of their own.
inline constexpr std::uint64_t kMaxPoolImageBytes = std::uint64_t{1} << 24;
/// Slots are numbered with 32 bits.
inline constexpr std::uint64_t kMaxPoolSlots = std::uint64_t{1} << 31;

/// The first 64 bytes, which never change.
struct PoolHeader {
  std::array<char, 8> magic;              //  0
  std::uint32_t version;                  //  8
  std::uint32_t zero;                     // 12
  std::uint64_t image_bytes;              // 16  of every filter
  std::uint64_t slot_bytes;               // 24  pool_slot_bytes(image_bytes)
  std::uint64_t first_slot;               // 32  pool_first_slot(image_bytes)
  std::array<std::uint64_t, 2> reserved;  // 40  zeros
  std::uint64_t checksum;                 // 56  XXH3_64 of bytes 0 to 55, seed 0

  friend bool operator==(const PoolHeader&, const PoolHeader&) = default;
};
static_assert(sizeof(PoolHeader) == 64);
static_assert(std::has_unique_object_representations_v<PoolHeader>);

/// The next 64 bytes: zeros while a writer has the pool, and after one that did not end well.
struct PoolState {
  std::uint64_t is_closed;                // 64  1
  std::uint64_t filters;                  // 72  how many there were
  std::array<std::uint64_t, 5> reserved;  // 80  zeros
  std::uint64_t checksum;                 // 120  XXH3_64 of bytes 64 to 119, seed 1
};
static_assert(sizeof(PoolState) == 64);
static_assert(std::has_unique_object_representations_v<PoolState>);

/// The image of an empty filter follows, then zeros up to the first slot.
inline constexpr std::size_t kPoolPrototype = sizeof(PoolHeader) + sizeof(PoolState);

/// The last 32 bytes of a slot; the image is at its beginning.
struct PoolTail {
  std::uint64_t id;
  std::uint64_t sequence;  ///< numbers the slots in the order in which they were taken
  std::uint64_t place;     ///< XXH3_64 of id, sequence and the slot's number, seed 2
  std::uint64_t tag;       ///< 0: free; else XXH3_64, seed 3, of place and the image's two own checksums, 1 for 0
};
static_assert(sizeof(PoolTail) == 32);
static_assert(std::has_unique_object_representations_v<PoolTail>);

[[nodiscard]] constexpr std::uint64_t pool_slot_bytes(std::uint64_t image_bytes) noexcept {
  return align_up(image_bytes + sizeof(PoolTail), std::uint64_t{kCacheLineBytes});
}

[[nodiscard]] constexpr std::uint64_t pool_first_slot(std::uint64_t image_bytes) noexcept {
  return align_up(kPoolPrototype + image_bytes, kPoolPageBytes);
}

}  // namespace mankai
