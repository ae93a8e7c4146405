#pragma once

/// The image of a growing kind: an outer header, then slices, each a flat image of its own (docs/formats/image.md).
/// Growing appends a slice: what is there already neither moves nor changes.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mankai/filter/parts/image.hpp"

namespace mankai {

/// The slices of one filter at most. With a growth of 2 a filter never gets near.
inline constexpr std::size_t kMaxSlices = 4096;

/// The words of an outer header's kind_state: how many slices there are, and a checksum over which ones in which order.
inline constexpr std::size_t kSliceCount = 0;
inline constexpr std::size_t kSliceOrder = 1;

/// Returns what a slice of so many bytes takes in a sliced image: filled up to a cache line, so that the next one can
/// be used in place.
[[nodiscard]] std::uint64_t slice_bytes(std::uint64_t image_bytes) noexcept;

/// Checks a sliced image: the outer header, the place and size of every slice, the zeros between them, and each slice
/// as far as `trust` says. Errors: corrupt (slice, offset and reason), unsupported_version.
[[nodiscard]] Result<void> check_sliced(std::span<const std::byte> bytes, Trust trust);

/// Takes apart a sliced image that has been checked: its slices, which use the bytes where they stand. Errors: as
/// Image::adopt's for Trust::fast.
[[nodiscard]] Result<std::vector<Image>> slices_in(std::span<std::byte> bytes);

/// Brings the outer header up to date: its sizes, which slices follow it in which order, and its checksum. Each slice
/// is a sealed image, of which only the checksums of header and trailer are read.
void seal_outer(ImageHeader& outer, std::span<const std::span<const std::byte>> slices) noexcept;

/// Returns the pieces that make up the image, in order: the header, which is sealed first, slices and the zeros between
/// them. The pieces refer to the arguments' bytes.
[[nodiscard]] std::vector<std::span<const std::byte>> sliced_parts(ImageHeader& outer,
                                                                   std::span<const std::span<const std::byte>> slices);

}  // namespace mankai
