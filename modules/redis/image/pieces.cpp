#include "modules/redis/image/pieces.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/filter/parts/sliced_image.hpp"
#include "mankai/hash/checksum.hpp"
#include "modules/redis/engine/memory.hpp"

namespace mankai::redis {
namespace {

/// First bytes of a header; the family's state and the headers of the image follow.
struct Prefix {
  std::array<char, 8> magic;
  std::uint16_t version;
  std::uint8_t flags;
  std::array<std::uint8_t, 5> reserved;
};
static_assert(sizeof(Prefix) == 16);

constexpr std::uint16_t kVersion = 1;
constexpr std::size_t kMinPieceCells = 4096;
// Start value of a piece's checksum: its position. This one is the header's.
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

std::size_t headers_offset(const ImageFamily& family) noexcept { return sizeof(Prefix) + family.state_bytes; }

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

Result<void> check_prefix(const ImageFamily& family, const Prefix& prefix) {
  if (prefix.magic != family.magic) {
    return fail(ErrorCode::corrupt, "not the header of a filter of this type: no magic at offset 0");
  }
  const bool is_known = prefix.version == kVersion && (prefix.flags & ~unsigned{family.flags}) == 0 &&
                        prefix.reserved == decltype(prefix.reserved){};
  if (!is_known) {
    return fail(ErrorCode::unsupported_version,
                "version " + std::to_string(prefix.version) + " at offset 8 of a later module: use a newer one");
  }
  return {};
}

Result<void> check_kind(const ImageFamily& family, const ImageHeader& header) {
  const bool is_known = header.kind != 0 && std::ranges::find(family.kinds, header.kind) != family.kinds.end();
  if (!is_known || header.layout != static_cast<std::uint8_t>(family.layout)) {
    return fail(ErrorCode::corrupt, "an image of kind " + std::to_string(header.kind) + ", not of this type's");
  }
  return {};
}

Result<ImageHeader> read_flat(std::span<const std::byte> bytes) {
  const std::uint64_t cells = std::min(value_at<ImageHeader>(bytes, 0).cells_bytes, kMaxImageBytes);
  auto header = read_header(bytes, image_bytes_for(cells));
  if (header && header->layout != static_cast<std::uint8_t>(ImageLayout::flat)) {
    return fail(ErrorCode::corrupt, "slices where a flat image must be");
  }
  return header;
}

// The outer header determines the size of the image, and must agree with the slices' headers.
Result<ImageHeader> read_outer(std::span<const std::byte> bytes, std::size_t slices) {
  const std::uint64_t cells = std::min(value_at<ImageHeader>(bytes, 0).cells_bytes, kMaxImageBytes);
  auto outer = read_header(bytes, sizeof(ImageHeader) + cells);
  if (outer && (outer->kind_state[kSliceCount] != slices || slices > kMaxSlices)) {
    return fail(ErrorCode::corrupt, "not as many slices as the header says");
  }
  return outer;
}

}  // namespace

std::uint64_t ImageParts::cells_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const std::span<const std::byte> part : cells) {
    bytes += part.size();
  }
  return bytes;
}

void bind_to_moment(ImageParts& parts) {
  std::vector<std::byte> all = parts.state;
  append(all, std::as_bytes(std::span(parts.headers)));
  parts.moment = checksum(all, kHeaderPlace);
}

std::vector<std::byte> header_of(const ImageFamily& family, const ImageParts& parts) {
  MANKAI_ASSERT(parts.state.size() == family.state_bytes);
  const auto headers = std::as_bytes(std::span(parts.headers));
  std::vector<std::byte> out(headers_offset(family) + headers.size());
  const Prefix prefix{.magic = family.magic, .version = kVersion, .flags = parts.flags, .reserved = {}};
  std::memcpy(out.data(), &prefix, sizeof(prefix));
  std::ranges::copy(parts.state, out.begin() + sizeof(prefix));
  std::ranges::copy(headers, out.begin() + static_cast<std::ptrdiff_t>(headers_offset(family)));
  append_value(out, checksum(out, kHeaderPlace));
  return out;
}

std::vector<std::byte> piece_of(const ImageParts& parts, std::uint64_t start, std::size_t most_cells) {
  std::vector<std::byte> out;
  const std::uint64_t end = parts.cells_bytes();
  if (start >= end) {
    return out;
  }
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(end - start, most_cells));
  out.reserve(wanted + kPieceChecksumBytes);
  std::uint64_t skip = start;
  for (const std::span<const std::byte> cells : parts.cells) {
    if (skip < cells.size()) {
      const auto from = static_cast<std::size_t>(skip);
      append(out, cells.subspan(from, std::min(cells.size() - from, wanted - out.size())));
    }
    skip -= std::min<std::uint64_t>(skip, cells.size());
  }
  append_value(out, checksum(out, start ^ parts.moment));
  return out;
}

Result<void> make_room(Region& region, std::size_t needed, std::size_t total) {
  if (needed <= region.size()) {
    return {};
  }
  std::size_t bytes = total;
  while (bytes / 2 >= needed) {
    bytes /= 2;
  }
  MANKAI_ASSIGN(auto larger, Region::allocate(engine_memory(), bytes));
  std::ranges::copy(region.bytes(), larger.bytes().begin());
  region = std::move(larger);
  return {};
}

Result<Assembly> Assembly::begin(const ImageFamily& family, std::span<const std::byte> header) {
  MANKAI_ASSIGN(const auto content, checked(header, kHeaderPlace));
  const std::size_t offset = headers_offset(family);
  if (content.size() < offset + sizeof(ImageHeader) || (content.size() - offset) % sizeof(ImageHeader) != 0) {
    return fail(ErrorCode::corrupt, "a header of " + std::to_string(content.size()) + " bytes");
  }
  const auto prefix = value_at<Prefix>(content, 0);
  MANKAI_TRY(check_prefix(family, prefix));
  const auto headers = content.subspan(offset);
  MANKAI_TRY(check_kind(family, value_at<ImageHeader>(headers, 0)));
  Assembly assembly;
  assembly.is_sliced_ = family.layout == ImageLayout::sliced;
  assembly.flags_ = prefix.flags;
  const bool is_of_one_moment = family.is_of_one_moment || value_at<ImageHeader>(headers, 0).kind == family.moment_kind;
  assembly.moment_ = is_of_one_moment ? checksum(content.subspan(sizeof(Prefix)), kHeaderPlace) : 0;
  append(assembly.state_, content.subspan(sizeof(Prefix), family.state_bytes));
  MANKAI_TRY(assembly.is_sliced_ ? assembly.place_slices(headers) : assembly.place_flat(headers));
  assembly.headers_.resize(headers.size() / sizeof(ImageHeader));
  std::memcpy(assembly.headers_.data(), headers.data(), headers.size());
  return assembly;
}

Result<void> Assembly::place_flat(std::span<const std::byte> headers) {
  MANKAI_ASSIGN(const auto header, read_flat(headers));
  if (headers.size() != sizeof(ImageHeader)) {
    return fail(ErrorCode::corrupt, "slices of a flat image");
  }
  total_bytes_ = header.cells_bytes;
  image_bytes_ = image_bytes_for(total_bytes_);
  places_.push_back({.image_offset = 0,
                     .image_bytes = static_cast<std::size_t>(image_bytes_),
                     .cells_start = 0,
                     .cells_bytes = static_cast<std::size_t>(total_bytes_)});
  return {};
}

// Errors: corrupt if the slices do not fill exactly what the outer header says.
Result<void> Assembly::place_slices(std::span<const std::byte> headers) {
  const auto outer = read_outer(headers, headers.size() / sizeof(ImageHeader) - 1);
  if (!outer) {
    return std::unexpected(outer.error());
  }
  image_bytes_ = sizeof(ImageHeader) + outer->cells_bytes;
  std::uint64_t offset = sizeof(ImageHeader);
  for (std::size_t at = sizeof(ImageHeader); at < headers.size() && offset <= image_bytes_; at += sizeof(ImageHeader)) {
    MANKAI_ASSIGN(const auto slice, read_flat(headers.subspan(at, sizeof(ImageHeader))));
    const std::uint64_t image_bytes = image_bytes_for(slice.cells_bytes);
    places_.push_back({.image_offset = static_cast<std::size_t>(offset),
                       .image_bytes = static_cast<std::size_t>(image_bytes),
                       .cells_start = total_bytes_,
                       .cells_bytes = static_cast<std::size_t>(slice.cells_bytes)});
    total_bytes_ += slice.cells_bytes;
    offset += slice_bytes(image_bytes);
  }
  if (offset != image_bytes_) {
    return fail(ErrorCode::corrupt, "slices of " + std::to_string(offset) + " bytes, where the outer header says " +
                                        std::to_string(image_bytes_));
  }
  return {};
}

std::size_t Assembly::bytes_up_to(std::uint64_t cells) const noexcept {
  if (cells == total_bytes_) {
    return static_cast<std::size_t>(image_bytes_);
  }
  const Place& place = *(std::ranges::upper_bound(places_, cells, {}, &Place::cells_start) - 1);
  return place.image_offset + sizeof(ImageHeader) + static_cast<std::size_t>(cells - place.cells_start);
}

Result<void> Assembly::make_room(std::uint64_t cells) {
  return redis::make_room(region_, bytes_up_to(cells), static_cast<std::size_t>(image_bytes_));
}

Result<void> Assembly::add(std::uint64_t end, std::span<const std::byte> piece) {
  const std::uint64_t content_bytes = piece.size() - std::min(piece.size(), kPieceChecksumBytes);
  if (end > total_bytes_ || content_bytes > end) {
    return fail(ErrorCode::invalid_argument, "a piece that is too large for the filter");
  }
  const std::uint64_t start = end - content_bytes;
  if (start > received_bytes_) {
    return fail(ErrorCode::invalid_argument, "a piece before the one in front of it");
  }
  MANKAI_ASSIGN(const auto content, checked(piece, start ^ moment_));
  MANKAI_TRY(make_room(end));
  store(start, content);
  received_bytes_ = std::max(received_bytes_, end);
  return {};
}

void Assembly::store(std::uint64_t start, std::span<const std::byte> content) noexcept {
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

AssembledImage Assembly::finish() {
  MANKAI_ASSERT(is_complete() && region_.size() == image_bytes_);
  const auto slice_headers = std::span(headers_).subspan(is_sliced_ ? 1 : 0);
  std::vector<std::span<const std::byte>> images;
  images.reserve(places_.size());
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const auto image = region_.bytes().subspan(places_[i].image_offset, places_[i].image_bytes);
    std::memcpy(image.data(), &slice_headers[i], sizeof(ImageHeader));
    seal_image(image);
    images.emplace_back(image);
  }
  if (is_sliced_) {
    seal_outer(headers_[0], images);
    std::memcpy(region_.bytes().data(), headers_.data(), sizeof(ImageHeader));
  }
  return {.image = std::move(region_), .flags = flags_, .state = std::move(state_)};
}

ImageParts Assembly::parts() const {
  ImageParts parts{.flags = flags_, .state = state_, .headers = headers_, .cells = {}, .moment = moment_};
  for (const Place& place : places_) {
    if (received_bytes_ <= place.cells_start) {
      break;
    }
    const std::uint64_t arrived = received_bytes_ - place.cells_start;
    parts.cells.push_back(region_.bytes().subspan(place.image_offset + sizeof(ImageHeader),
                                                  std::min<std::uint64_t>(arrived, place.cells_bytes)));
  }
  return parts;
}

std::size_t Assembly::memory_bytes() const noexcept {
  return sizeof(Assembly) + (region_.size() == 0 ? 0 : engine_bytes(region_.size())) +
         headers_.capacity() * sizeof(ImageHeader) + places_.capacity() * sizeof(Place) + state_.capacity();
}

namespace {

// A save must be complete, so the pieces become smaller if memory is short.
std::vector<std::byte> piece_with_little_memory(const ImageParts& parts, std::uint64_t start) {
  for (std::size_t most = kMaxPieceCells; most > kMinPieceCells; most /= 2) {
    try {
      return piece_of(parts, start, most);
    } catch (const std::bad_alloc&) {
      continue;
    }
  }
  return piece_of(parts, start, kMinPieceCells);
}

// Calls `use(end, piece)` per piece.
template <class Use>
void for_each_piece(const ImageParts& parts, const Use& use) {
  const std::uint64_t bytes = parts.cells_bytes();
  for (std::uint64_t start = 0; start < bytes;) {
    const std::vector<std::byte> piece = piece_with_little_memory(parts, start);
    start += piece.size() - kPieceChecksumBytes;
    use(start, piece);
  }
}

}  // namespace

Result<Assembly> load_assembly(takeover::FieldReader& fields, const ImageFamily& family) {
  MANKAI_ASSIGN(const auto header, fields.string());
  MANKAI_ASSIGN(auto assembly, Assembly::begin(family, header));
  MANKAI_ASSIGN(const std::uint64_t received, fields.unsigned_number());
  if (received > assembly.total_bytes()) {
    return fail(ErrorCode::corrupt, "an impossible count of bytes");
  }
  while (assembly.received_bytes() < received) {
    MANKAI_ASSIGN(const auto piece, fields.string());
    if (piece.size() <= kPieceChecksumBytes) {
      return fail(ErrorCode::corrupt, "truncated");
    }
    MANKAI_TRY(assembly.add(assembly.received_bytes() + piece.size() - kPieceChecksumBytes, piece));
  }
  return assembly;
}

void save_parts(takeover::FieldWriter& fields, const ImageFamily& family, const ImageParts& parts) {
  fields.string(header_of(family, parts));
  fields.unsigned_number(parts.cells_bytes());
  for_each_piece(parts, [&](std::uint64_t, std::span<const std::byte> piece) { fields.string(piece); });
}

void rewrite_parts(const EmitCommand& emit, const ImageFamily& family, const ImageParts& parts) {
  emit(family.load_command, 1, header_of(family, parts));
  for_each_piece(parts, [&](std::uint64_t end, std::span<const std::byte> piece) {
    emit(family.load_command, static_cast<long long>(end) + 1, piece);
  });
}

Result<Assembly> copy_parts(const ImageFamily& family, const ImageParts& parts) {
  MANKAI_ASSIGN(auto assembly, Assembly::begin(family, header_of(family, parts)));
  MANKAI_TRY(assembly.make_room(parts.cells_bytes()));
  for_each_piece(
      parts, [&](std::uint64_t end, std::span<const std::byte> piece) { static_cast<void>(assembly.add(end, piece)); });
  return assembly;
}

}  // namespace mankai::redis
