#pragma once

#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/base/region.hpp"
#include "mankai/filter/parts/image.hpp"
#include "mankai/filter/parts/image_format.hpp"

// For tests of hostile images: bytes that carry right checksums over wrong fields. Written from the format's
// specification, not by calling the writer.

namespace mankai::test {

/// Bytes aligned to 64 and not one byte longer than asked for, so that AddressSanitizer sees every step past the end.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::span<const std::byte> bytes)
      : data_(static_cast<std::byte*>(::operator new(bytes.size(), std::align_val_t{64}))), size_(bytes.size()) {
    std::copy(bytes.begin(), bytes.end(), data_.get());
  }

  [[nodiscard]] std::span<std::byte> span() noexcept { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* data) const noexcept { ::operator delete(data, std::align_val_t{64}); }
  };

  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_;
};

/// A Region of its own with these bytes, as a mapped file would be.
inline Region region_of(std::span<const std::byte> bytes) {
  Region region = Region::allocate(system_memory(), bytes.size()).value();
  std::copy(bytes.begin(), bytes.end(), region.bytes().begin());
  return region;
}

/// The pieces in one.
inline std::vector<std::byte> joined(const std::vector<std::span<const std::byte>>& parts) {
  std::vector<std::byte> whole;
  for (const auto part : parts) {
    whole.insert(whole.end(), part.begin(), part.end());
  }
  return whole;
}

[[nodiscard]] inline ImageHeader header_of(std::span<const std::byte> image) {
  ImageHeader header;
  std::memcpy(&header, image.data(), sizeof(header));
  return header;
}

inline void set_header(std::span<std::byte> image, const ImageHeader& header) {
  std::memcpy(image.data(), &header, sizeof(header));
}

/// Makes the header's checksum right, whatever its fields say.
inline void fix_header_checksum(std::span<std::byte> image) {
  if (image.size() < sizeof(ImageHeader)) {
    return;
  }
  const std::uint64_t checksum = XXH3_64bits(image.data(), offsetof(ImageHeader, checksum));
  std::memcpy(image.data() + offsetof(ImageHeader, checksum), &checksum, sizeof(checksum));
}

/// Makes the checksum over the trailer's checksums right: the last eight bytes.
inline void fix_trailer_sum(std::span<std::byte> image, std::size_t trailer_start) {
  ImageHeader identity = header_of(image);
  identity.flags = 0;
  identity.keys_inserted = 0;
  const std::uint64_t sum =
      XXH3_64bits_withSeed(image.data() + trailer_start, image.size() - trailer_start - sizeof(std::uint64_t),
                           XXH3_64bits(&identity, offsetof(ImageHeader, kind_state)));
  std::memcpy(image.data() + image.size() - sizeof(sum), &sum, sizeof(sum));
}

/// Makes the trailer right where the header's size of cells agrees with the image's.
inline void fix_trailer(std::span<std::byte> image) {
  if (image.size() < sizeof(ImageHeader)) {
    return;
  }
  const std::uint64_t cells_bytes = header_of(image).cells_bytes;
  const std::uint64_t room = image.size() - sizeof(ImageHeader);
  const std::uint64_t chunks = cells_bytes / kChunkBytes + static_cast<std::uint64_t>(cells_bytes % kChunkBytes != 0);
  if (cells_bytes > room || room - cells_bytes != (chunks + 1) * sizeof(std::uint64_t)) {
    return;
  }
  const std::byte* cells = image.data() + sizeof(ImageHeader);
  std::byte* trailer = image.data() + sizeof(ImageHeader) + cells_bytes;
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    const std::uint64_t offset = chunk * kChunkBytes;
    const std::uint64_t checksum = XXH3_64bits_withSeed(
        cells + offset, static_cast<std::size_t>(std::min<std::uint64_t>(kChunkBytes, cells_bytes - offset)), chunk);
    std::memcpy(trailer + chunk * sizeof(checksum), &checksum, sizeof(checksum));
  }
  fix_trailer_sum(image, sizeof(ImageHeader) + static_cast<std::size_t>(cells_bytes));
}

/// Changes bytes as a fuzzer's input says: each three bytes of input are a place and a byte to put there. Returns the
/// rest of the input.
inline std::span<const std::byte> change_bytes(std::span<std::byte> bytes, std::span<const std::byte> input) {
  for (; input.size() >= 3; input = input.subspan(3)) {
    const std::size_t place = std::to_integer<std::size_t>(input[0]) | std::to_integer<std::size_t>(input[1]) << 8;
    bytes[place % bytes.size()] = input[2];
  }
  return input;
}

/// Opens bytes as a copy and, by `attach(bytes)`, in place: both succeed and are used, or fail alike. Returns the
/// error.
template <class F, class Attach, class Use>
std::string open_both(std::span<const std::byte> bytes, Trust trust, const Attach& attach, const Use& use) {
  AlignedBytes in_place(bytes);
  auto attached = attach(in_place.span());
  auto copied = F::from_bytes(bytes, trust);
  MANKAI_ASSERT(attached.has_value() == copied.has_value());
  if (!copied) {
    MANKAI_ASSERT(attached.error().detail == copied.error().detail);
    MANKAI_ASSERT(copied.error().code == ErrorCode::corrupt || copied.error().code == ErrorCode::unsupported_version);
    return copied.error().detail;
  }
  MANKAI_ASSERT(trust == Trust::fast || copied->verify().has_value());
  use(std::move(*attached));
  use(std::move(*copied));
  return {};
}

}  // namespace mankai::test
