#pragma once

/// The count-min sketch of a CMS.* key: counts of items in constant memory, never too low.
///
///     item ──hash──▶ one cell in each of `depth` rows       cells: depth rows of `width` cells of 32 bits
///                                                           an increment adds to all of them; the count is the least
///
/// Source:  [Cormode2005]. With width w and depth d a count is too high by more than 2/w of all increments with
///          probability 2^-d at most.
/// Linear:  cells are sums, so a weighted sum of sketches is the sketch of the weighted sum of their streams. Not
///          so with conservative update, which would be more accurate.
/// Cells:   a cell that would exceed 2^32 - 1 stays at that, so a count of 2^32 - 1 is a lower bound.
/// Cost:    one cache line per row; a window of items is processed row by row, so that its lines are fetched together.
/// Memory:  the cells only. The header of an image, which is what is saved, is computed when it is needed.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "mankai/base/region.hpp"
#include "mankai/hash/hasher.hpp"
#include "modules/redis/engine/memory.hpp"
#include "modules/redis/image/family.hpp"

namespace mankai::redis {

/// What a sketch is created with; replicas get all of it.
struct SketchSettings {
  std::uint64_t width = 0;
  std::uint64_t depth = 0;
  /// A constant seed by default: sketches that were created apart must be mergeable, in other servers too.
  HashSpec hash{};
};

class Sketch {
 public:
  static constexpr std::uint16_t kKind = 15;
  static constexpr ImageFamily kFamily{.type_name = "mankai-cm",
                                       .magic = {'m', 'a', 'n', 'k', 'a', 'i', 'c', 'm'},
                                       .kinds = {kKind},
                                       .layout = ImageLayout::flat,
                                       .load_command = "cms.loadchunk"};
  struct Params {
    std::uint64_t width;
    std::uint64_t depth;
  };
  /// A sketch with a weight, to be merged.
  struct Term {
    const Sketch* sketch;
    std::int64_t weight;
  };

  static constexpr std::uint64_t kMaxDepth = std::uint64_t{1} << 16;
  static constexpr std::uint32_t kMaxCount = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t kWindow = 64;  ///< items per call of `add` and `count`, at most

  /// Errors: invalid_argument, out_of_space.
  [[nodiscard]] static Result<Sketch> create(const SketchSettings& settings);
  /// Errors: corrupt.
  [[nodiscard]] static Result<Sketch> from_image(AssembledImage source);

  [[nodiscard]] Hasher hasher() const noexcept { return Hasher(hash_); }
  [[nodiscard]] HashSpec hash() const noexcept { return hash_; }
  [[nodiscard]] std::uint64_t width() const noexcept { return width_; }
  [[nodiscard]] std::uint64_t depth() const noexcept { return depth_; }
  [[nodiscard]] std::uint64_t cell_count() const noexcept { return width() * depth(); }
  /// With the zeros that fill the last line.
  [[nodiscard]] std::span<const std::byte> cells() const noexcept {
    return memory_.bytes().subspan(start_, cells_bytes());
  }
  /// The sum of all increments, modulo 2^64.
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }

  /// Adds increments below 2^63 in order. Shape: items[c], increments[c], counts[c]: after each of them; c <= kWindow.
  void add(std::span<const std::string_view> items, std::span<const std::uint64_t> increments,
           std::span<std::uint32_t> counts) noexcept;
  /// Shape: items[c], counts[c], c <= kWindow.
  void count(std::span<const std::string_view> items, std::span<std::uint32_t> counts) const noexcept;

  /// Replaces the cells by the sum of weighted ones. Returns false, and changes nothing, if a cell would lie outside
  /// [0, 2^32 - 1], the total outside [0, 2^63 - 1], or a sum on the way outside 64 bits. Pre: each has the width and
  /// the depth of this one.
  [[nodiscard]] bool assign_sum(std::span<const Term> terms) noexcept;

  // For ImageKey.
  [[nodiscard]] ImageParts parts() const;
  [[nodiscard]] std::size_t heap_bytes() const noexcept { return engine_bytes(memory_.size()); }
  void relocate(const Mover& mover) noexcept { memory_.relocate(mover); }

 private:
  Sketch(const SketchSettings& settings, Region memory, std::uint32_t start) noexcept
      : memory_(std::move(memory)),
        width_(settings.width),
        depth_(static_cast<std::uint32_t>(settings.depth)),
        start_(start),
        hash_(settings.hash) {}

  [[nodiscard]] std::size_t cells_bytes() const noexcept;
  [[nodiscard]] std::uint32_t* table() noexcept {
    return reinterpret_cast<std::uint32_t*>(memory_.bytes().data() + start_);
  }
  [[nodiscard]] const std::uint32_t* table() const noexcept {
    return reinterpret_cast<const std::uint32_t*>(memory_.bytes().data() + start_);
  }
  template <class Cell, class Visit>
  void for_each_cell(Cell* table, std::span<const std::string_view> items, const Visit& visit) const noexcept;

  Region memory_;
  std::uint64_t width_;
  std::uint32_t depth_;
  std::uint32_t start_;  ///< of the cells: a large sketch that was loaded still has the header before them
  std::uint64_t total_ = 0;
  HashSpec hash_;
};

}  // namespace mankai::redis
