#pragma once

/// The bytes of a store's file after the image; docs/formats/store.md is the specification.

#include <array>
#include <cstdint>
#include <type_traits>

#include "mankai/base/bits.hpp"

namespace mankai {

/// "MKSTOR", then a byte that ends text and one that line-ending conversion would change.
inline constexpr std::array<char, 8> kFooterMagic = {'M', 'K', 'S', 'T', 'O', 'R', '\x1a', '\n'};
inline constexpr std::uint32_t kFooterVersion = 2;

/// The footer has two copies, written in turn, each at the start of its own page. If the system and the disk write
/// units of at most 4096 bytes, a torn write of one copy changes neither the other copy nor the image. A larger unit
/// may hold both copies and the end of the image; if a torn write damages them, readers refuse the file.
inline constexpr std::uint64_t kFooterCopies = 2;
inline constexpr std::uint64_t kFooterPage = 4096;

/// One copy of the footer: a sector. The valid copy with the higher generation is the current one.
struct StoreFooter {
  std::array<char, 8> magic;               //   0
  std::uint32_t version;                   //   8
  std::uint32_t is_open;                   //  12  1: the journal may have changes that the image lacks; else 0
  std::uint64_t store_id;                  //  16  drawn with each journal, which has the same
  std::uint64_t image_bytes;               //  24
  std::uint64_t sequence;                  //  32  the last change that is in the image
  std::uint64_t replaced_id;               //  40  store_id of the file that this one replaced; else 0
  std::uint64_t generation;                //  48  increments with each copy written; modulo 2: the copy's number
  std::uint32_t position_bytes;            //  56  at most 64
  std::uint32_t zero;                      //  60  reserved
  std::array<unsigned char, 64> position;  //  64  position of the source at that change, padded with zeros
  std::array<unsigned char, 376> zeros;    // 128  reserved: readers refuse other bytes
  std::uint64_t checksum;                  // 504  XXH3_64 of bytes 0 to 503, seed 0

  friend bool operator==(const StoreFooter&, const StoreFooter&) = default;
};
static_assert(sizeof(StoreFooter) == 512);
static_assert(std::has_unique_object_representations_v<StoreFooter>);

/// Returns the offset of the copy of a generation.
[[nodiscard]] constexpr std::uint64_t footer_offset(std::uint64_t image_bytes, std::uint64_t generation) noexcept {
  return align_up(image_bytes, kFooterPage) + generation % kFooterCopies * kFooterPage;
}
/// Returns the size of a store's file, given that of its image.
[[nodiscard]] constexpr std::uint64_t store_bytes(std::uint64_t image_bytes) noexcept {
  return footer_offset(image_bytes, kFooterCopies - 1) + sizeof(StoreFooter);
}

/// Version 1 of the footer, which is read but no longer written: the last 128 bytes of the file, at the first sector
/// after the image.
struct StoreFooter1 {
  std::array<char, 8> magic;               //   0
  std::uint32_t version;                   //   8
  std::uint32_t is_open;                   //  12
  std::uint64_t store_id;                  //  16
  std::uint64_t image_bytes;               //  24
  std::uint64_t sequence;                  //  32
  std::uint64_t position_bytes;            //  40
  std::array<unsigned char, 64> position;  //  48
  std::uint64_t replaced_id;               // 112
  std::uint64_t checksum;                  // 120  XXH3_64 of bytes 0 to 119, seed 0
};
static_assert(sizeof(StoreFooter1) == 128);
static_assert(std::has_unique_object_representations_v<StoreFooter1>);
inline constexpr std::uint32_t kFooterVersion1 = 1;
inline constexpr std::uint64_t kFooterSector1 = 512;

}  // namespace mankai
