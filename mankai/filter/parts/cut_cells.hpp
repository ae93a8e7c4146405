#pragma once

/// Which estimates of counts that fade may be too low, since cells could not hold their sum: in one word of the image.
///
/// A cell that is at its largest value, or that finds no room for another digit, is cut: it keeps what it has and loses
/// the rest. From then on it fades and grows like any other, and so no cut cell is ever below what the lowest of them
/// would have, had nothing been added to it since. That is the first mark; estimates below it are beside the matter.
/// The second mark is how much was lost, which fades as well. Where it is gone, all is forgotten.
///
/// Tried:   the first mark alone: once it has faded, what is cut later is not said any more. What the newest cut cell
///          has left as the second mark: a cell that is cut a million times loses a million times what it holds, and
///          still lacks thousands when it has itself faded to nothing.

#include <bit>
#include <cstdint>

namespace mankai {

/// See the top of this file.
struct CutCells {
  std::uint32_t oldest = 0;  ///< in units of a cell: no cut cell has less
  float lost = 0;            ///< a count: no cell lacks more; 0: no estimate is too low

  /// One cell that has `left` and lost no more than `lost`.
  [[nodiscard]] static CutCells one(std::uint32_t left, double lost) noexcept;

  /// Whether an estimate of so many units may be too low.
  [[nodiscard]] bool may_concern(std::uint64_t units) const noexcept { return lost > 0 && units >= oldest; }

  /// Returns these and others together: what one cell lost to both adds up.
  [[nodiscard]] CutCells with(CutCells other) const noexcept;

  /// Returns what is left after so many epochs, of which `oldest_then` is known. No more than 1/64 of a count is none.
  /// Cost: a step an epoch until nothing changes any more. The same at once as one after the other.
  [[nodiscard]] CutCells faded(std::uint32_t oldest_then, std::uint64_t lambda_q32,
                               std::uint64_t epochs) const noexcept;

  /// Whether this can have come about where cells hold so much.
  [[nodiscard]] bool is_possible(std::uint32_t largest) const noexcept;

  /// As a word of the image.
  [[nodiscard]] static CutCells of_word(std::uint64_t word) noexcept { return std::bit_cast<CutCells>(word); }
  [[nodiscard]] std::uint64_t word() const noexcept { return std::bit_cast<std::uint64_t>(*this); }

  friend bool operator==(CutCells, CutCells) = default;
};

static_assert(sizeof(CutCells) == sizeof(std::uint64_t));

}  // namespace mankai
