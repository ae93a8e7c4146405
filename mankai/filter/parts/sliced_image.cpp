#include "mankai/filter/parts/sliced_image.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "mankai/base/bits.hpp"
#include "mankai/hash/checksum.hpp"

namespace mankai {
namespace {

constexpr std::array<std::byte, kCacheLineBytes> kZeros{};

std::string place_of(std::size_t slice, std::uint64_t offset) {
  return "slice " + std::to_string(slice) + " at offset " + std::to_string(offset);
}

ImageHeader header_at(std::span<const std::byte> image) noexcept {
  ImageHeader header;
  std::memcpy(&header, image.data(), sizeof(header));
  return header;
}

// Extends the checksum by one slice: its identity, order, and contents when sealed. Any trust level verifies both sums:
// the header's, which covers its counts, and the trailer's last, which covers the cells' sums.
std::uint64_t chain(std::uint64_t before, std::span<const std::byte> slice) noexcept {
  std::array<std::uint64_t, 2> sums = {header_at(slice).checksum, 0};
  std::memcpy(&sums[1], slice.last(sizeof(sums[1])).data(), sizeof(sums[1]));
  return checksum(std::as_bytes(std::span(sums)), before);
}

// The size claimed by the slice's image; check_image verifies it.
Result<std::uint64_t> image_bytes_at(std::span<const std::byte> rest) {
  if (rest.size() < sizeof(ImageHeader)) {
    return fail(ErrorCode::corrupt, "truncated: only " + std::to_string(rest.size()) + " bytes are left for it");
  }
  const ImageHeader header = header_at(rest);
  const std::uint64_t bytes = header.cells_bytes <= kMaxImageBytes ? image_bytes_for(header.cells_bytes) : 0;
  if (bytes == 0 || slice_bytes(bytes) > rest.size()) {
    return fail(ErrorCode::corrupt, "a slice of " + std::to_string(header.cells_bytes) + " bytes of cells in the " +
                                        std::to_string(rest.size()) + " bytes that are left: truncated");
  }
  return bytes;
}

// Calls `use(slice, offset, image_bytes)` for each slice; checks only that the claimed sizes fit.
template <class Use>
Result<void> for_each_slice(std::span<const std::byte> bytes, std::uint64_t count, const Use& use) {
  std::size_t offset = sizeof(ImageHeader);
  for (std::size_t slice = 0; slice < count; ++slice) {
    const auto size = image_bytes_at(bytes.subspan(offset));
    if (!size) {
      return std::unexpected(size.error().within(place_of(slice, offset)));
    }
    if (auto used = use(slice, offset, static_cast<std::size_t>(*size)); !used) {
      return std::unexpected(used.error().within(place_of(slice, offset)));
    }
    offset += static_cast<std::size_t>(slice_bytes(*size));
  }
  if (offset != bytes.size()) {
    return fail(ErrorCode::corrupt, std::to_string(bytes.size() - offset) + " bytes at offset " +
                                        std::to_string(offset) + " belong to no slice");
  }
  return {};
}

Result<void> check_slice(std::span<const std::byte> bytes, std::size_t offset, std::size_t size, Trust trust) {
  MANKAI_TRY(check_image(bytes.subspan(offset, size), trust));
  const auto gap = bytes.subspan(offset + size, static_cast<std::size_t>(slice_bytes(size)) - size);
  if (!is_zero(gap)) {
    return fail(ErrorCode::corrupt, "bytes after its end, at offset " + std::to_string(offset + size) +
                                        ", are not zero; restore the file from a copy");
  }
  return {};
}

}  // namespace

std::uint64_t slice_bytes(std::uint64_t image_bytes) noexcept {
  return divide_up<std::uint64_t>(image_bytes, kCacheLineBytes) * kCacheLineBytes;
}

Result<void> check_sliced(std::span<const std::byte> bytes, Trust trust) {
  const auto header = read_header(bytes, bytes.size());
  if (!header) {
    return std::unexpected(header.error());
  }
  if (header->layout != static_cast<std::uint8_t>(ImageLayout::sliced)) {
    return fail(ErrorCode::corrupt, "layout " + std::to_string(header->layout) +
                                        " at offset 13: a flat image, where one of a growing kind must be");
  }
  const std::uint64_t count = header->kind_state[kSliceCount];
  if (count == 0 || count > kMaxSlices) {
    return fail(ErrorCode::corrupt, "impossible count of slices " + std::to_string(count) + " at offset 96");
  }
  std::uint64_t order = 0;
  auto checked = for_each_slice(bytes, count, [&](std::size_t, std::size_t offset, std::size_t size) {
    order = chain(order, bytes.subspan(offset, size));
    return check_slice(bytes, offset, size, trust);
  });
  if (checked && order != header->kind_state[kSliceOrder]) {
    return fail(ErrorCode::corrupt,
                "the slices are not those that the header names at offset 104, or not in its order; restore the file "
                "from a copy");
  }
  return checked;
}

Result<std::vector<Image>> slices_in(std::span<std::byte> bytes) {
  std::vector<Image> slices;
  const std::uint64_t count = header_at(bytes).kind_state[kSliceCount];
  auto taken = for_each_slice(bytes, count, [&](std::size_t, std::size_t offset, std::size_t size) {
    auto image = Image::adopt(Region::borrow(bytes.subspan(offset, size)), Trust::fast);
    if (!image) {
      return Result<void>(std::unexpected(image.error()));
    }
    slices.push_back(std::move(*image));
    return Result<void>{};
  });
  return taken ? Result<std::vector<Image>>(std::move(slices)) : std::unexpected(taken.error());
}

void seal_outer(ImageHeader& outer, std::span<const std::span<const std::byte>> slices) noexcept {
  std::uint64_t order = 0;
  outer.cells_bytes = 0;
  for (const std::span<const std::byte> slice : slices) {
    outer.cells_bytes += slice_bytes(slice.size());
    order = chain(order, slice);
  }
  outer.kind_state[kSliceCount] = slices.size();
  outer.kind_state[kSliceOrder] = order;
  seal_header(outer);
}

std::vector<std::span<const std::byte>> sliced_parts(ImageHeader& outer,
                                                     std::span<const std::span<const std::byte>> slices) {
  seal_outer(outer, slices);
  std::vector<std::span<const std::byte>> parts = {std::as_bytes(std::span(&outer, 1))};
  for (const std::span<const std::byte> slice : slices) {
    parts.push_back(slice);
    parts.push_back(std::span(kZeros).first(static_cast<std::size_t>(slice_bytes(slice.size())) - slice.size()));
  }
  return parts;
}

}  // namespace mankai
