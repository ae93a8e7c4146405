#pragma once

/// A value in pieces of at most 16 MiB: what SCANDUMP gives and LOADCHUNK takes, and what RDB and AOF files hold
/// (docs/formats/redis_dump.md). So a filter of any size passes through a protocol whose strings end at 512 MB.
///
/// First comes a header: flags and state of the key and the headers of its image. The pieces after it are the cells of
/// all slices, one after the other. Every piece ends in a checksum that its place is part of.
///
/// Cells that change between two pieces are taken as they are then. What was in when the header was taken, and still is
/// when the last piece is, is in the copy. A filter that opened a slice meanwhile must be taken again. Where cells mean
/// nothing without the header of the same moment (counts that fade), state and headers are part of every checksum:
/// pieces of a filter that changed meanwhile are refused.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "modules/redis/image/family.hpp"

namespace mankai::redis {

/// The most bytes of a piece, its checksum included.
inline constexpr std::size_t kMaxPieceBytes = std::size_t{16} << 20;
inline constexpr std::size_t kPieceChecksumBytes = sizeof(std::uint64_t);
/// The most cells of a piece.
inline constexpr std::size_t kMaxPieceCells = kMaxPieceBytes - kPieceChecksumBytes;

/// The header of a value. Errors: std::bad_alloc.
[[nodiscard]] std::vector<std::byte> header_of(const ImageFamily& family, const ImageParts& parts);
/// The piece that begins at `start` of the cells; empty at and after their end. Errors: std::bad_alloc.
[[nodiscard]] std::vector<std::byte> piece_of(const ImageParts& parts, std::uint64_t start,
                                              std::size_t most_cells = kMaxPieceCells);

/// A value that is being put together. Its memory grows with the cells that have arrived: at most twice their image, so
/// a header that announces more than it brings takes none.
///
/// Threads: none; one owner.
class Assembly {
 public:
  /// Reads the header. Errors: corrupt, unsupported_version.
  [[nodiscard]] static Result<Assembly> begin(const ImageFamily& family, std::span<const std::byte> header);

  /// Takes the piece that ends at `end` of the cells: the next one, or one that was taken already. Errors: corrupt when
  /// its checksum is wrong; invalid_argument when it does not belong there; out_of_space, after which it may be sent
  /// again.
  [[nodiscard]] Result<void> add(std::uint64_t end, std::span<const std::byte> piece);
  /// Allocates for the first `cells` bytes of cells at once, where they are known to exist. Errors: out_of_space.
  [[nodiscard]] Result<void> make_room(std::uint64_t cells);

  /// The bytes of cells in all, and those that have come so far.
  [[nodiscard]] std::uint64_t total_bytes() const noexcept { return total_bytes_; }
  [[nodiscard]] std::uint64_t received_bytes() const noexcept { return received_bytes_; }
  [[nodiscard]] bool is_complete() const noexcept { return received_bytes_ == total_bytes_; }
  /// The size of the image when all pieces have arrived, as the header says.
  [[nodiscard]] std::uint64_t image_bytes() const noexcept { return image_bytes_; }

  /// Gives the image away; the assembly must be complete and is empty afterwards. Cost: a pass over the cells.
  [[nodiscard]] AssembledImage finish();

  /// As of a value, with the cells that have come: for saving or copying an incomplete one.
  [[nodiscard]] ImageParts parts() const;
  [[nodiscard]] std::size_t memory_bytes() const noexcept;

 private:
  /// Where a flat image is in the region, and its cells in the sequence of all cells.
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

  Region region_;  ///< the image, as far as its cells have arrived; headers are written at the end
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

}  // namespace mankai::redis
