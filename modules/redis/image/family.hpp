#pragma once

/// What a family declares whose values are images: filters of one kind, flat or in slices. The native type (key.hpp),
/// SCANDUMP and LOADCHUNK (move.hpp) follow from it.
///
///     class CountingValue : public FilterValue<ScalableCountingBloom> {   // value.hpp
///       static constexpr ImageFamily kFamily{...};
///       static Result<CountingValue> from_image(AssembledImage image);    // calls filter_of<ScalableCountingBloom>
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

/// Names and numbers of a family. Those stored in files must never change.
struct ImageFamily {
  const char* type_name;               ///< of the native type, 9 characters; in RDB files
  std::array<char, 8> magic;           ///< first bytes of its headers; in RDB files
  std::array<std::uint16_t, 3> kinds;  ///< of its images; 0: none
  ImageLayout layout;                  ///< of its images
  std::uint8_t flags = 0;              ///< the valid ones
  std::size_t state_bytes = 0;         ///< state besides the image, after the prefix of a header
  bool is_of_one_moment = false;       ///< its pieces are valid only with the header of the same moment
  std::uint16_t moment_kind = 0;       ///< a kind to which that applies in any case; 0: none
  const char* load_command;            ///< its LOADCHUNK; in AOF files, and the name of its event
};

/// The parts of a value. The spans point into the value and are valid until it changes.
struct ImageParts {
  std::uint8_t flags = 0;
  std::vector<std::byte> state;
  std::vector<ImageHeader> headers;               ///< sealed; the outer header of a sliced image comes first
  std::vector<std::span<const std::byte>> cells;  ///< of each flat image, as far as received
  std::uint64_t moment = 0;                       ///< see bind_to_moment

  [[nodiscard]] std::uint64_t cells_bytes() const noexcept;
};

/// Without flags and state. Cost: 128 bytes per slice; no pass over the cells. Errors: std::bad_alloc.
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

/// Binds the pieces of a value to its present state and headers, so that pieces of another moment are refused: for
/// families with `is_of_one_moment`. Errors: std::bad_alloc.
void bind_to_moment(ImageParts& parts);

/// A sealed image built from pieces. Its header has been checked, its cells have not.
struct AssembledImage {
  Region image;
  std::uint8_t flags = 0;
  std::vector<std::byte> state;
};

template <class Value>
concept ImageValue = std::movable<Value> && requires(const Value value, AssembledImage image) {
  { Value::kFamily } -> std::same_as<const ImageFamily&>;
  /// The image is untrusted: only the format of its header has been checked. Errors: corrupt, unsupported_version,
  /// out_of_space.
  { Value::from_image(std::move(image)) } -> std::same_as<Result<Value>>;
  { value.parts() } -> std::same_as<ImageParts>;
  /// Bytes allocated from the engine, without the object.
  { value.heap_bytes() } noexcept -> std::same_as<std::size_t>;
  // And relocate(mover), or memory_pieces() and relocate(piece, mover), for defragmentation.
};

}  // namespace mankai::redis
