#pragma once

/// Which estimates of decayed counts may be too low because cells could not hold their sum, in one word of the image.
///
/// A cell at its largest value, or for which the pool has no further digit, is cut: it loses what cannot be added. It
/// then decays and grows like any other, so no cut cell is ever below the value that the lowest of them would have
/// without later additions. That value is the first mark; estimates below it are not affected. The second mark is the
/// amount lost, which also decays. When it has decayed to nothing, both are reset.
///
/// Tried:   the first mark alone: after it has decayed, later cuts are not reported. The value of the newest cut cell
///          as the second mark: a cell that is cut a million times loses a million times its value, and still lacks
///          thousands when that value has decayed to nothing.

#include <bit>
#include <cstdint>

namespace mankai {

/// See the top of this file.
struct CutCells {
  std::uint32_t oldest = 0;  ///< in units of a cell: lower bound of all cut cells
  float lost = 0;            ///< a count: no cell lacks more; 0: no estimate is too low

  /// One cell of value `left` that lost at most `lost`.
  [[nodiscard]] static CutCells one(std::uint32_t left, double lost) noexcept;

  /// Whether an estimate of `units` may be too low.
  [[nodiscard]] bool may_concern(std::uint64_t units) const noexcept { return lost > 0 && units >= oldest; }

  /// The union of both; losses add up.
  [[nodiscard]] CutCells with(CutCells other) const noexcept;

  /// The marks after `epochs`, given the first mark then. Drops a loss of at most 1/64 of a count. Cost: a step per
  /// epoch until nothing changes any more; equal to single epochs.
  [[nodiscard]] CutCells faded(std::uint32_t oldest_then, std::uint64_t lambda_q32,
                               std::uint64_t epochs) const noexcept;

  /// Whether these marks are valid for cells with this largest value.
  [[nodiscard]] bool is_possible(std::uint32_t largest) const noexcept;

  [[nodiscard]] static CutCells of_word(std::uint64_t word) noexcept { return std::bit_cast<CutCells>(word); }
  [[nodiscard]] std::uint64_t word() const noexcept { return std::bit_cast<std::uint64_t>(*this); }

  friend bool operator==(CutCells, CutCells) = default;
};

static_assert(sizeof(CutCells) == sizeof(std::uint64_t));

}  // namespace mankai
