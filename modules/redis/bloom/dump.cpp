#include "modules/redis/bloom/dump.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "mankai/base/assert.hpp"
#include "mankai/filter/image.hpp"
#include "mankai/filter/sliced_image.hpp"
#include "mankai/hash/checksum.hpp"
#include "modules/redis/engine/memory.hpp"

namespace mankai::redis {
namespace {

/// What a header starts with.
struct Prefix {
  std::array<char, 8> magic;
  std::uint16_t version;
  std::uint8_t is_nonscaling;
  std::array<std::uint8_t, 5> reserved;
};
static_assert(sizeof(Prefix) == 16);

constexpr std::array<char, 8> kMagic = {'m', 'a', 'n', 'k', 'a', 'i', 'b', 'f'};
constexpr std::uint16_t kVersion = 1;
constexpr std::size_t kOuterOffset = sizeof(Prefix);
constexpr std::size_t kSlicesOffset = kOuterOffset + sizeof(ImageHeader);
// What a piece's checksum starts from: its place. The header stands before all cells.
constexpr std::uint64_t kHeaderPlace = ~std::uint64_t{0};

void append(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <class T>
void append_value(std::vector<std::byte>& out, const T& value) {
  append(out, std::as_bytes(std::span(&value, 1)));
}

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t offset) noexcept {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

std::vector<std::byte> header_of(bool is_nonscaling, const ImageHeader& outer, std::span<const ImageHeader> slices) {
  std::vector<std::byte> out;
  out.reserve(kSlicesOffset + slices.size_bytes() + kPieceChecksumBytes);
  append_value(out, Prefix{.magic = kMagic,
                           .version = kVersion,
                           .is_nonscaling = static_cast<std::uint8_t>(is_nonscaling),
                           .reserved = {}});
  append_value(out, outer);
  append(out, std::as_bytes(slices));
  append_value(out, checksum(out, kHeaderPlace));
  return out;
}

// Copies the cells from `start` on, from as many slices as it takes.
std::vector<std::byte> piece_of(std::span<const std::span<const std::byte>> slices, std::uint64_t start,
                                std::uint64_t end, std::size_t most_cells) {
  std::vector<std::byte> out;
  if (start >= end) {
    return out;
  }
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(end - start, most_cells));
  out.reserve(wanted + kPieceChecksumBytes);
  std::uint64_t skip = start;
  for (const std::span<const std::byte> slice : slices) {
    if (skip < slice.size()) {
      const auto from = static_cast<std::size_t>(skip);
      append(out, slice.subspan(from, std::min(slice.size() - from, wanted - out.size())));
    }
    skip -= std::min<std::uint64_t>(skip, slice.size());
  }
  append_value(out, checksum(out, start));
  return out;
}

// Returns the piece without its checksum. Errors: corrupt.
Result<std::span<const std::byte>> checked(std::span<const std::byte> piece, std::uint64_t place) {
  if (piece.size() <= kPieceChecksumBytes) {
    return fail(ErrorCode::corrupt, "a piece of " + std::to_string(piece.size()) + " bytes is truncated");
  }
  const auto content = piece.first(piece.size() - kPieceChecksumBytes);
  if (value_at<std::uint64_t>(piece, content.size()) != checksum(content, place)) {
    return fail(ErrorCode::corrupt, "the checksum of a piece does not match");
  }
  return content;
}

Result<void> check_prefix(const Prefix& prefix) {
  if (prefix.magic != kMagic) {
    return fail(ErrorCode::corrupt, "not a header of a Mankai filter: no magic at offset 0");
  }
  if (prefix.version != kVersion || prefix.is_nonscaling > 1 || prefix.reserved != decltype(prefix.reserved){}) {
    return fail(ErrorCode::unsupported_version,
                "version " + std::to_string(prefix.version) + " at offset 8 of a later module: use a newer one");
  }
  return {};
}

// The size of the image follows from its outer header, which must agree with the slices' own.
Result<ImageHeader> read_outer(std::span<const std::byte> content) {
  const auto claimed = value_at<ImageHeader>(content, kOuterOffset);
  const auto bytes = content.subspan(kOuterOffset, sizeof(ImageHeader));
  auto outer = read_header(bytes, sizeof(ImageHeader) + std::min(claimed.cells_bytes, kMaxImageBytes));
  if (!outer) {
    return outer;
  }
  const std::size_t slices = (content.size() - kSlicesOffset) / sizeof(ImageHeader);
  const bool is_filter = outer->kind == ScalableBloom::kKind || outer->kind == ScalableCountingBloom::kKind;
  if (!is_filter || outer->layout != static_cast<std::uint8_t>(ImageLayout::sliced)) {
    return fail(ErrorCode::corrupt, "an image of kind " + std::to_string(outer->kind) + ", not of a scalable filter");
  }
  if (outer->kind_state[kSliceCount] != slices || slices > kMaxSlices) {
    return fail(ErrorCode::corrupt, "not as many slices as the header says");
  }
  return outer;
}

Result<ImageHeader> read_slice(std::span<const std::byte> bytes) {
  const std::uint64_t cells = std::min(value_at<ImageHeader>(bytes, 0).cells_bytes, kMaxImageBytes);
  auto header = read_header(bytes, image_bytes_for(cells));
  if (header && header->layout != static_cast<std::uint8_t>(ImageLayout::flat)) {
    return fail(ErrorCode::corrupt, "a slice that has slices");
  }
  return header;
}

}  // namespace

Result<BloomAssembly> BloomAssembly::begin(std::span<const std::byte> header) {
  const auto content = checked(header, kHeaderPlace);
  if (!content) {
    return std::unexpected(content.error());
  }
  if (content->size() < kSlicesOffset + sizeof(ImageHeader) ||
      (content->size() - kSlicesOffset) % sizeof(ImageHeader) != 0) {
    return fail(ErrorCode::corrupt, "a header of " + std::to_string(content->size()) + " bytes");
  }
  const auto prefix = value_at<Prefix>(*content, 0);
  if (auto valid = check_prefix(prefix); !valid) {
    return std::unexpected(valid.error());
  }
  const auto outer = read_outer(*content);
  if (!outer) {
    return std::unexpected(outer.error());
  }
  BloomAssembly assembly;
  assembly.is_nonscaling_ = prefix.is_nonscaling != 0;
  const auto slices = content->subspan(kSlicesOffset);
  if (auto fits = assembly.lay_out(slices, outer->cells_bytes); !fits) {
    return std::unexpected(fits.error());
  }
  if (auto made = assembly.allocate(*outer, slices); !made) {
    return std::unexpected(made.error());
  }
  return assembly;
}

// Errors: corrupt, when the slices are not what the outer header has room for.
Result<void> BloomAssembly::lay_out(std::span<const std::byte> headers, std::uint64_t slices_bytes) {
  std::uint64_t offset = 0;
  for (std::size_t at = 0; at < headers.size(); at += sizeof(ImageHeader)) {
    const auto slice = read_slice(headers.subspan(at, sizeof(ImageHeader)));
    if (!slice) {
      return std::unexpected(slice.error());
    }
    const std::uint64_t image_bytes = image_bytes_for(slice->cells_bytes);
    places_.push_back({.image_offset = static_cast<std::size_t>(sizeof(ImageHeader) + offset),
                       .image_bytes = static_cast<std::size_t>(image_bytes),
                       .cells_start = total_bytes_,
                       .cells_bytes = static_cast<std::size_t>(slice->cells_bytes)});
    total_bytes_ += slice->cells_bytes;
    offset += slice_bytes(image_bytes);
    if (offset > slices_bytes) {
      break;
    }
  }
  if (offset != slices_bytes) {
    return fail(ErrorCode::corrupt, "slices of " + std::to_string(offset) +
                                        " bytes, where the header at offset 16 says " + std::to_string(slices_bytes));
  }
  return {};
}

// Errors: out_of_space.
Result<void> BloomAssembly::allocate(const ImageHeader& outer, std::span<const std::byte> headers) {
  auto region = Region::allocate(engine_memory(), sizeof(ImageHeader) + static_cast<std::size_t>(outer.cells_bytes));
  if (!region) {
    return std::unexpected(region.error());
  }
  region_ = std::move(*region);
  std::memcpy(region_.bytes().data(), &outer, sizeof(outer));
  for (std::size_t i = 0; i < places_.size(); ++i) {
    std::memcpy(region_.bytes().data() + places_[i].image_offset, headers.data() + i * sizeof(ImageHeader),
                sizeof(ImageHeader));
  }
  return {};
}

Result<void> BloomAssembly::add(std::uint64_t end, std::span<const std::byte> piece) {
  const std::uint64_t content_bytes = piece.size() - std::min(piece.size(), kPieceChecksumBytes);
  if (end > total_bytes_ || content_bytes > end) {
    return fail(ErrorCode::invalid_argument, "a piece that is too large for the filter");
  }
  const std::uint64_t start = end - content_bytes;
  if (start > received_bytes_) {
    return fail(ErrorCode::invalid_argument, "a piece before the one in front of it");
  }
  const auto content = checked(piece, start);
  if (!content) {
    return std::unexpected(content.error());
  }
  store(start, *content);
  received_bytes_ = std::max(received_bytes_, end);
  return {};
}

void BloomAssembly::store(std::uint64_t start, std::span<const std::byte> content) noexcept {
  auto place = std::ranges::upper_bound(places_, start, {}, &Place::cells_start) - 1;
  while (!content.empty()) {
    const auto inside = static_cast<std::size_t>(start - place->cells_start);
    const std::size_t count = std::min(content.size(), place->cells_bytes - inside);
    std::memcpy(region_.bytes().data() + place->image_offset + sizeof(ImageHeader) + inside, content.data(), count);
    content = content.subspan(count);
    start += count;
    ++place;
  }
}

Result<BloomValue> BloomAssembly::finish() {
  MANKAI_ASSERT(is_complete());
  std::vector<std::span<const std::byte>> slices;
  slices.reserve(places_.size());
  for (const Place& place : places_) {
    const auto image = region_.bytes().subspan(place.image_offset, place.image_bytes);
    seal_image(image);
    slices.emplace_back(image);
  }
  auto outer = value_at<ImageHeader>(region_.bytes(), 0);
  seal_outer(outer, slices);
  std::memcpy(region_.bytes().data(), &outer, sizeof(outer));
  const bool is_deletable = outer.kind == ScalableCountingBloom::kKind;
  return is_deletable ? take_over<ScalableCountingBloom>() : take_over<ScalableBloom>();
}

template <class Filter>
Result<BloomValue> BloomAssembly::take_over() {
  // Whatever the cells are, they are a filter's; all else is checked here.
  auto filter = Filter::from_region(std::move(region_), Trust::fast, engine_memory());
  if (!filter) {
    return std::unexpected(filter.error());
  }
  return BloomValue(std::move(*filter), is_nonscaling_);
}

std::vector<std::span<const std::byte>> BloomAssembly::cells() const {
  std::vector<std::span<const std::byte>> cells;
  for (const Place& place : places_) {
    cells.push_back(region_.bytes().subspan(place.image_offset + sizeof(ImageHeader), place.cells_bytes));
  }
  return cells;
}

std::vector<std::byte> BloomAssembly::header() const {
  std::vector<ImageHeader> slices;
  for (const Place& place : places_) {
    slices.push_back(value_at<ImageHeader>(region_.bytes(), place.image_offset));
  }
  return header_of(is_nonscaling_, value_at<ImageHeader>(region_.bytes(), 0), slices);
}

std::vector<std::byte> BloomAssembly::piece(std::uint64_t start, std::size_t most_cells) const {
  return piece_of(cells(), start, received_bytes_, most_cells);
}

std::size_t BloomAssembly::memory_bytes() const noexcept {
  return sizeof(BloomAssembly) + engine_bytes(region_.size()) + places_.capacity() * sizeof(Place);
}

std::vector<std::byte> dump_header(const BloomValue& value) {
  std::vector<ImageHeader> slices;
  value.for_each_slice([&](const auto& slice) { slices.push_back(slice.sealed_header()); });
  return header_of(value.is_nonscaling(), value.sealed_header(), slices);
}

std::uint64_t dump_bytes(const BloomValue& value) noexcept { return value.cells_bytes(); }

std::vector<std::byte> dump_piece(const BloomValue& value, std::uint64_t start, std::size_t most_cells) {
  std::vector<std::span<const std::byte>> cells;
  value.for_each_slice([&](const auto& slice) { cells.push_back(slice.cells()); });
  return piece_of(cells, start, dump_bytes(value), most_cells);
}

}  // namespace mankai::redis
