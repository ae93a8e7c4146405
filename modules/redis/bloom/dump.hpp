#pragma once

/// A filter in pieces of at most 16 MiB: what BF.SCANDUMP gives and BF.LOADCHUNK takes, and what RDB and AOF files hold
/// (docs/formats/redis_dump.md). So a filter of any size passes through a protocol whose strings end at 512 MB.
///
/// First comes a header: the flags of the key and the headers of the filter's image and of its slices. The pieces
/// behind it are the cells of all slices, one after the other. Every piece ends in a checksum that its place is part
/// of.
///
/// Cells that change between two pieces do no harm: what was in when the header was taken, and was not removed since,
/// is in the copy, for nothing else clears its bits or counters. A filter that opened a slice meanwhile must be taken
/// again from its header on.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "mankai/base/region.hpp"
#include "modules/redis/bloom/value.hpp"
#include "modules/redis/image/pieces.hpp"

namespace mankai::redis {

/// A filter that is being put together.
///
/// Threads: none; one owner.
class BloomAssembly {
 public:
  /// Reads the header and makes room for what it announces. Errors: corrupt, unsupported_version, and nothing has been
  /// allocated; out_of_space.
  [[nodiscard]] static Result<BloomAssembly> begin(std::span<const std::byte> header);

  /// Takes the piece that ends at `end` of the cells: the next one, or one that was taken already. Errors: corrupt when
  /// its checksum is wrong; invalid_argument when it does not belong there.
  [[nodiscard]] Result<void> add(std::uint64_t end, std::span<const std::byte> piece);

  /// The bytes of cells in all, and those that have come so far.
  [[nodiscard]] std::uint64_t total_bytes() const noexcept { return total_bytes_; }
  [[nodiscard]] std::uint64_t received_bytes() const noexcept { return received_bytes_; }
  [[nodiscard]] bool is_complete() const noexcept { return received_bytes_ == total_bytes_; }

  /// Makes the filter; the assembly must be complete and is empty afterwards. Errors: corrupt.
  [[nodiscard]] Result<BloomValue> finish();

  [[nodiscard]] std::size_t memory_bytes() const noexcept;

  /// As of a filter: for those who copy one that is not complete.
  [[nodiscard]] std::vector<std::byte> header() const;
  [[nodiscard]] std::vector<std::byte> piece(std::uint64_t start, std::size_t most_cells = kMaxPieceCells) const;

 private:
  /// Where a slice's image is in the region, and its cells in the sequence of all cells.
  struct Place {
    std::size_t image_offset;
    std::size_t image_bytes;
    std::uint64_t cells_start;
    std::size_t cells_bytes;
  };

  BloomAssembly() noexcept = default;
  [[nodiscard]] Result<void> lay_out(std::span<const std::byte> headers, std::uint64_t slices_bytes);
  [[nodiscard]] Result<void> allocate(const ImageHeader& outer, std::span<const std::byte> headers);
  template <class Filter>
  [[nodiscard]] Result<BloomValue> take_over();
  void store(std::uint64_t start, std::span<const std::byte> content) noexcept;
  [[nodiscard]] std::vector<std::span<const std::byte>> cells() const;

  Region region_;
  std::vector<Place> places_;
  std::uint64_t total_bytes_ = 0;
  std::uint64_t received_bytes_ = 0;
  bool is_nonscaling_ = false;
};

/// The header of a filter. Cost: 128 bytes a slice; no pass over the cells.
[[nodiscard]] std::vector<std::byte> dump_header(const BloomValue& value);
/// The bytes of cells in all.
[[nodiscard]] std::uint64_t dump_bytes(const BloomValue& value) noexcept;
/// The piece that begins at `start` of the cells; empty at and behind their end. Errors: std::bad_alloc.
[[nodiscard]] std::vector<std::byte> dump_piece(const BloomValue& value, std::uint64_t start,
                                                std::size_t most_cells = kMaxPieceCells);

}  // namespace mankai::redis
