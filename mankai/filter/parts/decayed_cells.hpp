#pragma once

/// A view of the decaying counters of time-decaying-counts. A key has one cell in each of k partitions, so its cells
/// are distinct:
///
///     cells: | partition 0: cells_per_probe | partition 1 | … | partition k - 1 | zeros up to a whole line |
///
/// A cell of 8, 16 or 32 bits holds a count in units of 2^-fraction_bits. The owner of the words keeps the tick.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "mankai/filter/parts/cut_cells.hpp"
#include "mankai/filter/parts/sizing.hpp"
#include "mankai/hash/digest.hpp"
#include "mankai/kernel/decay_ops.hpp"
#include "mankai/kernel/narrow_cells.hpp"

namespace mankai {

/// How a decayed count is rounded. The values are part of the image format.
enum class DecayPolicy : std::uint8_t {
  fixed_point = 0,  ///< up, in cells with fraction bits: never too low, and at most 1/64 never decays
  floor = 1,        ///< down, as in the paper's integers: too low by up to 1 / (1 - λ)
  ceil = 2,         ///< up, in whole numbers: never too low, but counts below 1 / (1 - λ) never decay
  stochastic = 3,   ///< up with a probability equal to the fraction: unbiased
};

/// Which of a key's cells an insertion raises. The values are part of the image format.
enum class IncrementRule : std::uint8_t {
  all = 0,      ///< each by the amount inserted
  minimum = 1,  ///< up to the smallest plus the amount inserted: counts fewer collisions
};

/// The names used in specs.
[[nodiscard]] constexpr std::string_view name(DecayPolicy policy) noexcept {
  return std::array{"fixed-point", "floor", "ceil", "stochastic"}[static_cast<std::size_t>(policy)];
}
[[nodiscard]] constexpr std::string_view name(IncrementRule rule) noexcept {
  return rule == IncrementRule::all ? "all" : "minimum";
}

/// Shape and rules of the cells.
struct DecayedShape {
  std::uint64_t cells_per_probe = 0;  ///< >= 1
  std::uint64_t lambda_q32 = 0;       ///< at most 2^32
  std::uint64_t seed = 0;             ///< for stochastic rounding
  std::uint32_t k = 0;                ///< 1 to 64
  std::uint32_t width_bits = 0;       ///< 8, 16, 32
  std::uint32_t fraction_bits = 0;    ///< fewer than width_bits
  DecayPolicy policy = DecayPolicy::fixed_point;
  IncrementRule rule = IncrementRule::all;
};

/// Fewest fraction bits F for which the largest count that never decays when rounded up, 2^-F / (1 - λ), is at most
/// 1/64; 0 if λ is 1.
[[nodiscard]] std::uint32_t fraction_bits_for(std::uint64_t lambda_q32) noexcept;

/// See the top of this file. Amounts are in units of 2^-fraction_bits. A cell that cannot hold a sum keeps its largest
/// value, and is reported as cut. Cost: a cache line per cell, k per key; batches prefetch.
/// Threads: any number of readers beside one writer, which see each cell before or after a change. `decay` and `merge`
///          need the cells alone.
class DecayedCells {
 public:
  struct Added {
    std::uint64_t cut = 0;    ///< number of cells that could not hold their sum
    std::uint32_t least = 0;  ///< the smallest cell of the key before
  };

  /// Shape: words[count] hold k * cells_per_probe cells, then zeros. Pre: the words outlive the view.
  DecayedCells(std::span<std::uint64_t> words, const DecayedShape& shape) noexcept;

  Added insert(Digest digest, std::uint64_t units) noexcept;
  /// Batches, equal to single calls in this order. Return the number of cells that could not hold their sum.
  std::uint64_t insert(std::span<const Digest> digests, std::uint64_t units) noexcept;
  std::uint64_t observe(std::span<const Digest> digests, std::span<bool> seen, std::uint64_t units) noexcept;
  [[nodiscard]] std::uint32_t smallest(Digest digest) const noexcept;
  void smallest(std::span<const Digest> digests, std::span<std::uint32_t> found) const noexcept;

  /// Whether a key with this smallest cell is present. A value that never decays does not count as present if it is at
  /// most 1/64 of an insertion; otherwise no key would ever expire when rounding up.
  [[nodiscard]] bool is_left(std::uint64_t units) const noexcept { return units > faint_; }

  /// Decays all cells by `epochs` epochs that start at `tick`.
  void decay(std::uint64_t tick, std::uint64_t epochs) noexcept;
  /// A lower bound of a cell's value after `epochs`.
  [[nodiscard]] std::uint32_t decayed(std::uint32_t units, std::uint64_t epochs) const noexcept;
  /// Adds `cut` more, each of which lost at most `units`. Cost: a step for each, so that a batch equals single calls.
  [[nodiscard]] CutCells with_cut(CutCells cells, std::uint64_t cut, std::uint64_t units) const noexcept;
  /// The cut cells after `epochs`.
  [[nodiscard]] CutCells decayed(CutCells cells, std::uint64_t epochs) const noexcept;
  /// The largest amount that never decays: 0 if rounding is not up or λ is 0; every amount if λ is 1.
  [[nodiscard]] std::uint64_t stuck() const noexcept;
  /// λ^epochs of one insertion, rounded by the policy; `draw` is a uniform random number for the stochastic policy.
  [[nodiscard]] std::uint64_t late_units(std::uint64_t epochs, std::uint64_t draw) const noexcept;
  /// Adds cells of the same shape at the same tick. Returns the number of cells that could not hold their sum.
  std::uint64_t merge(std::span<const std::uint64_t> other) noexcept;

  [[nodiscard]] const DecayedShape& shape() const noexcept { return shape_; }
  [[nodiscard]] std::span<std::uint64_t> words() const noexcept { return words_; }
  [[nodiscard]] std::uint64_t cell_count() const noexcept { return shape_.cells_per_probe * shape_.k; }
  [[nodiscard]] std::uint64_t one() const noexcept { return std::uint64_t{1} << shape_.fraction_bits; }
  [[nodiscard]] std::uint32_t largest() const noexcept { return kernel::largest_cell(shape_.width_bits); }
  [[nodiscard]] double count_of(std::uint64_t units) const noexcept {
    return static_cast<double>(units) / static_cast<double>(one());
  }
  /// Counts the cells for which is_left. Cost: a pass over the cells.
  [[nodiscard]] PartitionFill partitions() const noexcept;

 private:
  [[nodiscard]] kernel::DecayStep step() const noexcept;

  std::span<std::uint64_t> words_;
  DecayedShape shape_;
  std::uint64_t faint_;  // the largest value that does not count as present
};

}  // namespace mankai
