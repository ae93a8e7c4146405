#pragma once

/// What a store's file has behind the image, byte by byte: docs/formats/store.md is the specification.

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mankai/base/bits.hpp"

namespace mankai {

/// "MKSTOR", then a byte that ends text and one that line-ending conversion would change.
inline constexpr std::array<char, 8> kFooterMagic = {'M', 'K', 'S', 'T', 'O', 'R', '\x1a', '\n'};
inline constexpr std::uint32_t kFooterVersion = 1;
/// The footer begins at a sector, so that the disk writes it as a whole when its open mark changes.
inline constexpr std::uint64_t kSectorBytes = 512;

/// The last 128 bytes of a store's file, at the first sector behind the image.
struct StoreFooter {
  std::array<char, 8> magic;               //   0
  std::uint32_t version;                   //   8
  std::uint32_t is_open;                   //  12  1: the journal may have changes that the image lacks; else 0
  std::uint64_t store_id;                  //  16  drawn with each journal, which has the same
  std::uint64_t image_bytes;               //  24
  std::uint64_t sequence;                  //  32  the last change that is in the image
  std::uint64_t position_bytes;            //  40  at most 64
  std::array<unsigned char, 64> position;  //  48  where the source stood then, filled up with zeros
  std::uint64_t replaced_id;               // 112  store_id of the file whose place a new one took; else 0
  std::uint64_t checksum;                  // 120  XXH3_64 of bytes 0 to 119, seed 0

  friend bool operator==(const StoreFooter&, const StoreFooter&) = default;
};
static_assert(sizeof(StoreFooter) == 128);
static_assert(std::has_unique_object_representations_v<StoreFooter>);

[[nodiscard]] constexpr std::uint64_t footer_offset(std::uint64_t image_bytes) noexcept {
  return align_up(image_bytes, kSectorBytes);
}

}  // namespace mankai
