#pragma once

/// The image of a growing kind: an outer header, then slices, each a flat image (docs/formats/image.md). Growing
/// appends a slice; existing bytes neither move nor change.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mankai/filter/parts/image.hpp"

namespace mankai {

/// Most slices of one filter, far more than a growth factor of 2 needs.
inline constexpr std::size_t kMaxSlices = 4096;

/// Words of an outer header's kind_state: the number of slices, and a checksum over their identities and order.
inline constexpr std::size_t kSliceCount = 0;
inline constexpr std::size_t kSliceOrder = 1;

/// Size of a slice in a sliced image: padded to a cache line, so that the next slice can be used in place.
[[nodiscard]] std::uint64_t slice_bytes(std::uint64_t image_bytes) noexcept;

/// Checks the outer header, the place and size of every slice, the zeros between them, and each slice as far as `trust`
/// says. Errors: corrupt (slice, offset and reason), unsupported_version.
[[nodiscard]] Result<void> check_sliced(std::span<const std::byte> bytes, Trust trust);

/// The slices of a checked image, in place. Errors: as Image::adopt for Trust::fast.
[[nodiscard]] Result<std::vector<Image>> slices_in(std::span<std::byte> bytes);

/// Updates the outer header: sizes, the slices' identities and order, checksum. Reads only the checksums of header and
/// trailer of each slice. Pre: the slices are sealed.
void seal_outer(ImageHeader& outer, std::span<const std::span<const std::byte>> slices) noexcept;

/// Seals the header and returns the pieces of the image in order: header, slices and the zeros between them. The pieces
/// refer to the arguments' bytes.
[[nodiscard]] std::vector<std::span<const std::byte>> sliced_parts(ImageHeader& outer,
                                                                   std::span<const std::span<const std::byte>> slices);

}  // namespace mankai
