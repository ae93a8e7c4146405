#pragma once

/// The bytes of a file of shared cells, which processes that share a filter map; docs/formats/shared.md is the
/// specification.

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mankai/file/boot_id.hpp"

namespace mankai {

/// "MKSHRD", then a byte that ends text and one that line-ending conversion would change.
inline constexpr std::array<char, 8> kSharedMagic = {'M', 'K', 'S', 'H', 'R', 'D', '\x1a', '\n'};
/// Of the bytes, and of how processes work together: those of different versions do not share.
inline constexpr std::uint32_t kSharedVersion = 1;
/// The filter's image begins here. Its header and trailer are those of the moment when sharing began.
inline constexpr std::size_t kSharedPage = 4096;
inline constexpr std::size_t kSharedSlots = 62;

/// Counts of some of the processes. Each process adds to one slot, after the bits are set; the sums count.
struct SharedSlot {
  std::uint64_t observed;              //   0
  std::uint64_t inserted;              //   8
  std::array<std::uint64_t, 6> zeros;  //  16
};
static_assert(sizeof(SharedSlot) == 64);

/// The first page of the file, little-endian.
struct SharedHeader {
  // In all versions.
  std::array<char, 8> magic;  //   0
  std::uint32_t version;      //   8
  std::uint32_t zero;         //  12
  BootId boot;                //  16  the file counts only until the system starts again
  // Never change.
  std::uint64_t store_id;        //  32  that of the filter's file
  std::uint64_t image_bytes;     //  40
  std::uint64_t first_sequence;  //  48  of the filter's file when sharing began
  std::uint64_t first_keys;      //  56
  std::uint64_t checksum;        //  64  XXH3_64 of bytes 0 to 63, seed 0; written last, 0 before
  // Change atomically.
  std::uint64_t durable;                       //  72  sequence of the last checkpoint
  std::uint64_t checkpointed_ns;               //  80  when it was made, by the system's monotonic clock
  std::uint64_t openings;                      //  88  so many processes have opened it: modulo 62, the next one's slot
  std::array<std::uint64_t, 4> zeros;          //  96
  std::array<SharedSlot, kSharedSlots> slots;  // 128
};
static_assert(sizeof(SharedHeader) == kSharedPage);
static_assert(offsetof(SharedHeader, checksum) == 64);
static_assert(offsetof(SharedHeader, slots) == 128);
static_assert(std::has_unique_object_representations_v<SharedHeader>);

}  // namespace mankai
