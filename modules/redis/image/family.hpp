#pragma once

/// What a family says of itself when the values of its keys are images: filters of one kind, flat or in slices. All
/// else that the engine wants of a native type follows from it (key.hpp), and so do SCANDUMP and LOADCHUNK (move.hpp).
///
///     class CountingValue : public FilterValue<ScalableCountingBloom> {   // value.hpp
///       static constexpr ImageFamily kFamily{...};
///       static Result<CountingValue> from_image(AssembledImage image);    // filter_of<ScalableCountingBloom> does it
///     };
///     using CountingKey = ImageKey<CountingValue>;                        // what a key holds

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mankai/base/region.hpp"
#include "mankai/filter/parts/image.hpp"

namespace mankai::redis {

/// Names and numbers of a family; those that files hold are forever.
struct ImageFamily {
  const char* type_name;          ///< of the native type, 9 characters; in RDB files
  std::array<char, 8> magic;      ///< what its headers begin with; in RDB files
  std::uint16_t kind;             ///< of its images
  std::uint16_t other_kind = 0;   ///< of some of its images; 0: there is no other
  ImageLayout layout;             ///< of its images
  std::uint8_t flags = 0;         ///< all that it knows of
  std::size_t state_bytes = 0;    ///< what it keeps besides the image, after the prefix of a header
  bool is_of_one_moment = false;  ///< its pieces are of use with no other header than that of the same moment
  const char* load_command;       ///< its LOADCHUNK; in AOF files, and the event of it
};

/// The parts of a value. The spans point into the value and are valid until it changes.
struct ImageParts {
  std::uint8_t flags = 0;
  std::vector<std::byte> state;
  std::vector<ImageHeader> headers;               ///< sealed; of an image in slices the outer one comes first
  std::vector<std::span<const std::byte>> cells;  ///< of each flat image, as far as they have come
  std::uint64_t moment = 0;                       ///< see bind_to_moment

  [[nodiscard]] std::uint64_t cells_bytes() const noexcept;
};

/// The parts of a filter, without flags and state. Cost: 128 bytes per slice; no pass over the cells. Errors:
/// std::bad_alloc.
template <class Filter>
[[nodiscard]] ImageParts parts_of(const Filter& filter) {
  ImageParts parts;
  parts.headers.push_back(filter.sealed_header());
  if constexpr (requires { filter.slice_count(); }) {
    for (std::size_t i = 0; i < filter.slice_count(); ++i) {
      parts.headers.push_back(filter.slice(i).sealed_header());
      parts.cells.push_back(filter.slice(i).cells());
    }
  } else {
    parts.cells.push_back(filter.cells());
  }
  return parts;
}

/// Binds the pieces of a value to its state and headers as they are now, so that they are refused after those of
/// another moment: for families that are of one moment. Errors: std::bad_alloc.
void bind_to_moment(ImageParts& parts);

/// What was put together of parts: a sealed image, whose header has been checked and whose cells are as they came.
struct AssembledImage {
  Region image;
  std::uint8_t flags = 0;
  std::vector<std::byte> state;
};

/// The value of a key.
template <class Value>
concept ImageValue = std::movable<Value> && requires(const Value value, AssembledImage image) {
  { Value::kFamily } -> std::same_as<const ImageFamily&>;
  /// Everything in the image may be forged; nothing but the format of a header has been believed. Errors: corrupt,
  /// unsupported_version, out_of_space.
  { Value::from_image(std::move(image)) } -> std::same_as<Result<Value>>;
  { value.parts() } -> std::same_as<ImageParts>;
  /// Bytes that it allocates from the engine, without the object.
  { value.heap_bytes() } noexcept -> std::same_as<std::size_t>;
  // And relocate(mover), or memory_pieces() and relocate(piece, mover), for an engine that defragments.
};

}  // namespace mankai::redis
