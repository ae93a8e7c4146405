#include "mankai/filter/parts/image.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <string>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/base/parallel.hpp"
#include "mankai/hash/checksum.hpp"

namespace mankai {
namespace {

constexpr std::size_t kChecksumBytes = sizeof(std::uint64_t);

// Chunks for which a further thread is worth its start: 16 MiB, 1 to 2 ms.
constexpr std::size_t kChunksPerThread = (std::size_t{16} << 20) / kChunkBytes;

std::uint64_t header_checksum(const ImageHeader& header) noexcept {
  return checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(ImageHeader, checksum)));
}

std::size_t chunk_count(std::uint64_t cells_bytes) noexcept {
  return static_cast<std::size_t>(divide_up<std::uint64_t>(cells_bytes, kChunkBytes));
}

// Seeded by the chunk's index, to detect swapped chunks.
std::uint64_t chunk_checksum(std::span<const std::byte> cells, std::size_t chunk) noexcept {
  const std::size_t offset = chunk * kChunkBytes;
  return checksum(cells.subspan(offset, std::min(kChunkBytes, cells.size() - offset)), chunk);
}

std::uint64_t load(const std::byte* at) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

void store(std::byte* at, std::uint64_t value) noexcept { std::memcpy(at, &value, sizeof(value)); }

std::span<const std::byte> cells_of(std::span<const std::byte> image, const ImageHeader& header) noexcept {
  return image.subspan(sizeof(ImageHeader), static_cast<std::size_t>(header.cells_bytes));
}

// Binds the trailer to the header, to detect another filter's cells.
std::uint64_t trailer_checksum(const ImageHeader& header, std::span<const std::byte> trailer) noexcept {
  return checksum(trailer.first(trailer.size() - kChecksumBytes), identity(header));
}

Result<void> check_trailer(std::span<const std::byte> image, const ImageHeader& header) {
  const std::size_t trailer_start = sizeof(ImageHeader) + static_cast<std::size_t>(header.cells_bytes);
  const std::span<const std::byte> trailer = image.subspan(trailer_start);
  if (load(trailer.data() + trailer.size() - kChecksumBytes) != trailer_checksum(header, trailer)) {
    return fail(ErrorCode::corrupt, "checksum of the trailer at offset " + std::to_string(trailer_start) +
                                        " does not match; restore the file from a copy");
  }
  return {};
}

Result<void> check_cells(std::span<const std::byte> image, const ImageHeader& header) {
  const std::span<const std::byte> cells = cells_of(image, header);
  const std::byte* trailer = cells.data() + cells.size();
  const std::size_t chunks = chunk_count(cells.size());
  std::atomic<std::size_t> first_corrupt = chunks;
  for_ranges_in_parallel(chunks, kChunksPerThread, [&](std::size_t first, std::size_t last) {
    for (std::size_t chunk = first; chunk < last; ++chunk) {
      if (load(trailer + chunk * kChecksumBytes) != chunk_checksum(cells, chunk)) {
        std::size_t found = first_corrupt.load();
        while (chunk < found && !first_corrupt.compare_exchange_weak(found, chunk)) {
        }
        return;
      }
    }
  });
  if (first_corrupt < chunks) {
    return fail(ErrorCode::corrupt, "checksum of the cells at offset " +
                                        std::to_string(sizeof(ImageHeader) + first_corrupt * kChunkBytes) +
                                        " does not match; restore the file from a copy");
  }
  return {};
}

std::string versions(std::uint16_t found) {
  return "image format version " + std::to_string(found) + " at offset 8; this library reads version " +
         std::to_string(kImageVersion) + ": use a newer one";
}

Result<void> check_fields(const ImageHeader& header) {
  // The checksum is valid, so unknown values come from a later version, not from corruption.
  if (header.layout > static_cast<std::uint8_t>(ImageLayout::sliced) || header.flags != 0) {
    return fail(ErrorCode::unsupported_version, "layout or flags at offset 13 of a later library: use a newer one");
  }
  const HashSpec hash{.kind = static_cast<HashKind>(header.hash_kind), .seed = header.seed};
  if (std::ranges::find(kHashKinds, hash.kind) == kHashKinds.end()) {
    return fail(ErrorCode::unsupported_version,
                "hash " + std::to_string(header.hash_kind) + " at offset 12 of a later library: use a newer one");
  }
  if (trimmed(hash) != hash) {
    return fail(ErrorCode::corrupt,
                "the seed at offset 24 has more bits than " + std::string(name(hash.kind)) + " takes");
  }
  if (header.cells_bytes == 0 || header.cells_bytes % kCacheLineBytes != 0 || header.cells_bytes > kMaxImageBytes) {
    return fail(ErrorCode::corrupt, "impossible size of cells " + std::to_string(header.cells_bytes) + " at offset 16");
  }
  if (header.keys_inserted > kMaxKeysInserted) {
    return fail(ErrorCode::corrupt,
                "impossible count of keys " + std::to_string(header.keys_inserted) + " at offset 56");
  }
  return {};
}

Result<void> check_header(const ImageHeader& header, std::uint64_t total_bytes) {
  // Compares one number: in filters of a few hundred bytes, even the call to compare eight bytes is measurable.
  if (std::bit_cast<std::uint64_t>(header.magic) != std::bit_cast<std::uint64_t>(kImageMagic)) {
    return fail(ErrorCode::corrupt, "not a Mankai filter: it does not start with the 8 bytes that mark one");
  }
  if (header.format_version > kImageVersion) {
    return fail(ErrorCode::unsupported_version, versions(header.format_version));
  }
  if (header.format_version == 0 || header.checksum != header_checksum(header)) {
    return fail(ErrorCode::corrupt,
                "checksum of the header at offset 120 does not match; restore the file from a copy");
  }
  MANKAI_TRY(check_fields(header));
  const bool is_flat = header.layout == static_cast<std::uint8_t>(ImageLayout::flat);
  const std::uint64_t expected =
      is_flat ? image_bytes_for(header.cells_bytes) : sizeof(ImageHeader) + header.cells_bytes;
  if (expected != total_bytes) {
    return fail(ErrorCode::corrupt,
                "image of " + std::to_string(expected) + " bytes in " + std::to_string(total_bytes) +
                    (total_bytes < expected ? ": truncated" : ": truncated after the image, or bytes were appended") +
                    "; restore the file from a copy");
  }
  return {};
}

// Copies first: the header cannot change between check and use, and needs no alignment.
Result<void> copy_header(std::span<const std::byte> bytes, std::uint64_t total_bytes, ImageHeader& header) {
  if (bytes.size() < sizeof(header)) {
    return fail(ErrorCode::corrupt, "only " + std::to_string(bytes.size()) + " bytes: too short to be a Mankai filter");
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  return check_header(header, total_bytes);
}

Result<void> check(std::span<const std::byte> image, Trust trust) {
  ImageHeader header;
  MANKAI_TRY(copy_header(image, image.size(), header));
  if (header.layout != static_cast<std::uint8_t>(ImageLayout::flat)) {
    return fail(ErrorCode::corrupt, "layout " + std::to_string(header.layout) +
                                        " at offset 13: the image of a growing kind, where a flat one must be");
  }
  MANKAI_TRY(check_trailer(image, header));
  return trust == Trust::checked ? check_cells(image, header) : Result<void>{};
}

}  // namespace

void seal_image(std::span<std::byte> image) noexcept {
  // The destination may be unaligned.
  ImageHeader header;
  std::memcpy(&header, image.data(), sizeof(header));
  const std::uint64_t keys = header.keys_inserted;
  seal_header(header);
  // Only what changes is written: to_bytes() may be reading the rest on another thread.
  if (header.keys_inserted != keys) {
    store(image.data() + offsetof(ImageHeader, keys_inserted), header.keys_inserted);
  }
  store(image.data() + offsetof(ImageHeader, checksum), header.checksum);
  const std::span<const std::byte> cells = cells_of(image, header);
  std::byte* trailer = image.data() + sizeof(ImageHeader) + cells.size();
  const std::size_t chunks = chunk_count(cells.size());
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    store(trailer + chunk * kChecksumBytes, chunk_checksum(cells, chunk));
  }
  store(trailer + chunks * kChecksumBytes, trailer_checksum(header, {trailer, (chunks + 1) * kChecksumBytes}));
}

std::uint64_t image_bytes_for(std::uint64_t cells_bytes) noexcept {
  return sizeof(ImageHeader) + cells_bytes + (chunk_count(cells_bytes) + 1) * kChecksumBytes;
}

std::uint64_t cell_lines_within(std::uint64_t image_bytes) noexcept {
  constexpr std::uint64_t kAround = sizeof(ImageHeader) + kChecksumBytes;
  constexpr std::uint64_t kCheckedChunk = kChunkBytes + kChecksumBytes;
  const std::uint64_t bytes = image_bytes - std::min(image_bytes, kAround);
  const std::uint64_t rest = bytes % kCheckedChunk;
  return bytes / kCheckedChunk * (kChunkBytes / kCacheLineBytes) +
         (rest - std::min<std::uint64_t>(rest, kChecksumBytes)) / kCacheLineBytes;
}

Result<ImageHeader> read_header(std::span<const std::byte> bytes, std::uint64_t total_bytes) {
  ImageHeader header{};
  MANKAI_TRY(copy_header(bytes, total_bytes, header));
  return header;
}

ImageHeader make_header(std::uint16_t kind, ImageLayout layout, const FilterSettings& settings) noexcept {
  return {.magic = kImageMagic,
          .format_version = kImageVersion,
          .kind = kind,
          .hash_kind = static_cast<std::uint8_t>(settings.hash.kind),
          .layout = static_cast<std::uint8_t>(layout),
          .flags = 0,
          .canonical_version = 0,
          .cells_bytes = settings.cells_bytes,
          .seed = trimmed(settings.hash).seed,
          .capacity_keys = settings.capacity_keys,
          .fpr_target_bits = std::bit_cast<std::uint64_t>(settings.fpr_target),
          .keys_inserted = 0,
          .kind_params = {},
          .slice_tag = settings.slice_tag,
          .kind_state = {},
          .checksum = 0};
}

void seal_header(ImageHeader& header) noexcept {
  // Only a foreign image's count is so high; what is written must be readable.
  header.keys_inserted = std::min(header.keys_inserted, kMaxKeysInserted);
  header.checksum = header_checksum(header);
}

std::uint64_t identity(const ImageHeader& header) noexcept {
  std::array<std::byte, offsetof(ImageHeader, kind_state)> kept;
  std::memcpy(kept.data(), &header, kept.size());
  kept[offsetof(ImageHeader, flags)] = std::byte{0};
  std::memset(kept.data() + offsetof(ImageHeader, keys_inserted), 0, sizeof(header.keys_inserted));
  return checksum(kept);
}

Result<void> check_image(std::span<const std::byte> bytes, Trust trust) { return check(bytes, trust); }

Image::Image(Region region) noexcept
    : region_(std::move(region)), word_count_(static_cast<std::size_t>(header().cells_bytes) / sizeof(std::uint64_t)) {}

Result<Image> Image::create(std::uint16_t kind, const FilterSettings& settings, const Memory& memory) {
  if (settings.cells_bytes > kMaxCellsBytes) {
    return fail(ErrorCode::invalid_argument,
                "the filter would be larger than 2^48 bytes; give fewer keys or a higher false-positive rate");
  }
  MANKAI_ASSIGN(auto region, Region::allocate(memory, static_cast<std::size_t>(image_bytes_for(settings.cells_bytes))));
  const ImageHeader header = make_header(kind, ImageLayout::flat, settings);
  std::memcpy(region.bytes().data(), &header, sizeof(header));
  return Image(std::move(region));
}

Result<Image> Image::from_bytes(std::span<const std::byte> bytes, Trust trust, const Memory& memory) {
  MANKAI_TRY(check(bytes, trust));
  MANKAI_ASSIGN(auto region, Region::allocate(memory, bytes.size()));
  std::memcpy(region.bytes().data(), bytes.data(), bytes.size());
  return Image(std::move(region));
}

Result<Image> Image::adopt(Region region, Trust trust) {
  if (reinterpret_cast<std::uintptr_t>(region.bytes().data()) % kCacheLineBytes != 0) {
    return fail(ErrorCode::invalid_argument, "an image in place must be aligned to 64 bytes; copy it with from_bytes");
  }
  MANKAI_TRY(check(region.bytes(), trust));
  return Image(std::move(region));
}

HashSpec Image::hash() const noexcept {
  return {.kind = static_cast<HashKind>(header().hash_kind), .seed = header().seed};
}

bool Image::unused_words_are_zero(std::size_t param_words, std::size_t state_words) const noexcept {
  return is_zero(std::span(header().kind_params).subspan(param_words)) &&
         is_zero(std::span(header().kind_state).subspan(state_words));
}

std::span<const std::byte> Image::seal() noexcept {
  seal_image(region_.bytes());
  return region_.bytes();
}

void Image::to_bytes(std::span<std::byte> out) const noexcept {
  MANKAI_ASSERT(out.size() == image_bytes());
  // Without the checksums, which a checkpoint may be writing.
  const std::span<const std::byte> bytes = region_.bytes();
  std::memcpy(out.data(), bytes.data(), offsetof(ImageHeader, checksum));
  std::ranges::copy(cells_of(bytes, header()), out.data() + sizeof(ImageHeader));
  seal_image(out);
}

std::vector<std::byte> Image::to_bytes() const {
  std::vector<std::byte> out(image_bytes());
  to_bytes(out);
  return out;
}

Result<void> Image::verify() const { return check_cells(region_.bytes(), header()); }

void Image::clear() noexcept {
  std::ranges::fill(words(), 0);
  std::ranges::fill(header().kind_state, 0);
  set_keys_inserted(0);
}

}  // namespace mankai
