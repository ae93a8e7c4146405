#pragma once

/// Constants of the flat image; docs/formats/image.md is the specification.

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace mankai {

/// "MANKAI", then a byte that ends text and one that line-ending conversion would change.
inline constexpr std::array<char, 8> kImageMagic = {'M', 'A', 'N', 'K', 'A', 'I', '\x1a', '\n'};
inline constexpr std::uint16_t kImageVersion = 1;
/// The trailer holds one checksum per chunk of this many bytes of cells; the last chunk may be shorter.
inline constexpr std::size_t kChunkBytes = std::size_t{64} << 10;
/// Limit of an image: that of virtual addresses, and far below where sizes overflow.
inline constexpr std::uint64_t kMaxImageBytes = std::uint64_t{1} << 48;
/// Limit of the cells: leaves room for header and trailer.
inline constexpr std::uint64_t kMaxCellsBytes = kMaxImageBytes - (kMaxImageBytes >> 8);
/// Limit of the count of keys; a larger one is corrupt. Two valid counts add without overflow.
inline constexpr std::uint64_t kMaxKeysInserted = std::uint64_t{1} << 62;

/// What follows the header. The values are part of the format.
enum class ImageLayout : std::uint8_t {
  flat = 0,    ///< cells_bytes of cells, then the trailer
  sliced = 1,  ///< cells_bytes of slices: flat images one after the other, each filled up with zeros to 64 bytes
};

/// The first 128 bytes of an image, little-endian. The cells follow, then the trailer.
struct ImageHeader {
  std::array<char, 8> magic;                 //   0
  std::uint16_t format_version;              //   8
  std::uint16_t kind;                        //  10  Kind
  std::uint8_t hash_kind;                    //  12  HashKind
  std::uint8_t layout;                       //  13  ImageLayout
  std::uint8_t flags;                        //  14  zero
  std::uint8_t canonical_version;            //  15  version of the URL rules that canonicalize keys; 0: none
  std::uint64_t cells_bytes;                 //  16  a multiple of 64; in a sliced image, the bytes of its slices
  std::array<std::uint64_t, 2> seed;         //  24
  std::uint64_t capacity_keys;               //  40
  std::uint64_t fpr_target_bits;             //  48  the bits of an IEEE 754 double
  std::uint64_t keys_inserted;               //  56  at most 2^62
  std::array<std::uint64_t, 3> kind_params;  //  64  the kind's own Params, then zeros; never change
  std::uint64_t slice_tag;                   //  88  set by the growing kind that contains a slice; or keys_tag; or 0
  std::array<std::uint64_t, 3> kind_state;   //  96  the kind's own counts, which change with the cells; then zeros
  std::uint64_t checksum;                    // 120  XXH3_64 of bytes 0 to 119, seed 0
};
static_assert(sizeof(ImageHeader) == 128);
static_assert(std::is_trivially_copyable_v<ImageHeader>);
static_assert(std::has_unique_object_representations_v<ImageHeader>);
static_assert(offsetof(ImageHeader, cells_bytes) == 16);
static_assert(offsetof(ImageHeader, keys_inserted) == 56);
static_assert(offsetof(ImageHeader, kind_params) == 64);
static_assert(offsetof(ImageHeader, slice_tag) == 88);
static_assert(offsetof(ImageHeader, kind_state) == 96);
static_assert(offsetof(ImageHeader, checksum) == 120);

}  // namespace mankai
