#pragma once

/// Serializes a value in pieces of at most 16 MiB, for SCANDUMP and LOADCHUNK, RDB and AOF files
/// (docs/formats/redis_dump.md). So a filter of any size passes through a protocol whose strings end at 512 MB.
///
/// The first piece is a header: flags and state of the key, and the headers of its image. The next pieces are the cells
/// of all slices in order. The checksum at the end of each piece covers the position, too.
///
/// Each piece has its cells as of the moment it is made. A copy has every key that was present from the header to the
/// last piece. If the filter opens a slice in between, the copy must be made again. For some families, cells have no
/// meaning without the header of the same moment (decayed counts). There every checksum includes state and headers, so
/// pieces of a filter that changed in between are refused.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mankai/base/region.hpp"
#include "mankai/takeover/fields.hpp"
#include "modules/redis/engine/format.hpp"
#include "modules/redis/image/family.hpp"

namespace mankai::redis {

inline constexpr std::size_t kMaxPieceBytes = std::size_t{16} << 20;
inline constexpr std::size_t kPieceChecksumBytes = sizeof(std::uint64_t);
inline constexpr std::size_t kMaxPieceCells = kMaxPieceBytes - kPieceChecksumBytes;

/// Errors: std::bad_alloc.
[[nodiscard]] std::vector<std::byte> header_of(const ImageFamily& family, const ImageParts& parts);
/// The piece that begins at cell byte `start`; empty at and after the end. Errors: std::bad_alloc.
[[nodiscard]] std::vector<std::byte> piece_of(const ImageParts& parts, std::uint64_t start,
                                              std::size_t most_cells = kMaxPieceCells);

/// Enlarges a region of engine_memory() that is filled in order, so that it has at least `needed` of `total` bytes, and
/// keeps its content. The sizes are the total's, halved repeatedly: the last step holds half of the total and all of
/// it, and the bytes copied add up to at most the total. Pre: needed <= total. Errors: out_of_space; then nothing has
/// changed.
[[nodiscard]] Result<void> make_room(Region& region, std::size_t needed, std::size_t total);

/// A value that is built from pieces. Its memory grows with the cells received, to at most twice their image: a header
/// that announces a huge filter allocates nothing. Threads: one owner.
class Assembly {
 public:
  [[nodiscard]] static Result<Assembly> begin(const ImageFamily& family, std::span<const std::byte> header);

  /// Adds the piece that ends at cell byte `end`: the next one, or one received before. Errors: corrupt for a wrong
  /// checksum; invalid_argument for a piece in the wrong place; out_of_space, after which the piece may be sent again.
  [[nodiscard]] Result<void> add(std::uint64_t end, std::span<const std::byte> piece);
  /// Allocates for the first `cells` bytes at once, for callers that know these exist. Errors: out_of_space.
  [[nodiscard]] Result<void> make_room(std::uint64_t cells);

  /// Bytes of cells: all, and those received so far.
  [[nodiscard]] std::uint64_t total_bytes() const noexcept { return total_bytes_; }
  [[nodiscard]] std::uint64_t received_bytes() const noexcept { return received_bytes_; }
  [[nodiscard]] bool is_complete() const noexcept { return received_bytes_ == total_bytes_; }
  [[nodiscard]] std::uint64_t image_bytes() const noexcept { return image_bytes_; }

  /// Returns the image and leaves the assembly empty. Cost: a pass over the cells. Pre: is_complete().
  [[nodiscard]] AssembledImage finish();

  /// As of a value, with the cells received so far: to save or copy an incomplete one.
  [[nodiscard]] ImageParts parts() const;
  [[nodiscard]] std::size_t memory_bytes() const noexcept;

 private:
  /// Position of a flat image in the region, and of its cells in the sequence of all cells.
  struct Place {
    std::size_t image_offset;
    std::size_t image_bytes;
    std::uint64_t cells_start;
    std::size_t cells_bytes;
  };

  Assembly() noexcept = default;
  [[nodiscard]] Result<void> place_flat(std::span<const std::byte> headers);
  [[nodiscard]] Result<void> place_slices(std::span<const std::byte> headers);
  [[nodiscard]] std::size_t bytes_up_to(std::uint64_t cells) const noexcept;
  void store(std::uint64_t start, std::span<const std::byte> content) noexcept;

  Region region_;  ///< the image up to the last cell received; headers are written by `finish`
  std::vector<ImageHeader> headers_;
  std::vector<Place> places_;  ///< in order
  std::uint64_t total_bytes_ = 0;
  std::uint64_t received_bytes_ = 0;
  std::uint64_t image_bytes_ = 0;
  std::vector<std::byte> state_;
  std::uint64_t moment_ = 0;
  std::uint8_t flags_ = 0;
  bool is_sliced_ = false;
};

// Each may throw std::bad_alloc.

/// Reads what `save_parts` wrote. Errors: corrupt, unsupported_version, out_of_space, io.
[[nodiscard]] Result<Assembly> load_assembly(takeover::FieldReader& fields, const ImageFamily& family);
void save_parts(takeover::FieldWriter& fields, const ImageFamily& family, const ImageParts& parts);
void rewrite_parts(const EmitCommand& emit, const ImageFamily& family, const ImageParts& parts);
/// Errors: out_of_space.
[[nodiscard]] Result<Assembly> copy_parts(const ImageFamily& family, const ImageParts& parts);

}  // namespace mankai::redis
