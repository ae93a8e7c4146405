#pragma once

#include <cstdint>
#include <vector>

#include "mankai/base/bits.hpp"

namespace mankai::detail {

/// Draws ranks 0 … n-1 with probability proportional to 1 / (rank + 1)^exponent, by Walker's alias method: one memory
/// access per draw, 8 bytes per rank. Built with integers only, because the last bit of pow() differs between machines.
/// The error of a probability p is at most 1e-8 p + 2^-32 / n + n 2^-61.
/// Source: A. J. Walker, "An Efficient Method for Generating Discrete Random Variables" (1977); built in linear
///         time as by M. D. Vose (1991).
class ZipfTable {
 public:
  /// Pre: 0 < rank_count <= 2^31, 0 <= exponent < 16. Cost: about 150 ns per rank.
  ZipfTable(std::uint64_t rank_count, double exponent);

  [[nodiscard]] std::uint64_t rank(std::uint64_t uniform) const noexcept {
    const std::uint64_t index = fastrange(uniform, cells_.size());
    const Cell cell = cells_[index];
    // The product's low bits, below the index, are uniform again.
    const auto fraction = static_cast<std::uint32_t>((uniform * cells_.size()) >> 32);
    return fraction < cell.threshold ? index : cell.alias;
  }

 private:
  /// A column of equal weight, shared by its own rank (below the threshold) and one other.
  struct Cell {
    std::uint32_t threshold;
    std::uint32_t alias;
  };
  std::vector<Cell> cells_;
};

}  // namespace mankai::detail
