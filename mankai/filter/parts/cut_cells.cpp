#include "mankai/filter/parts/cut_cells.hpp"

#include <algorithm>

namespace mankai {
namespace {

/// A count of 1/64 may never decay (fraction_bits_for), so a smaller loss is not reported.
constexpr float kForgotten = 1.0F / 64;
/// More than can be inserted.
constexpr float kMostLost = 0x1p64F;

// A loss is never understated. The next float has the next integer as its bits.
float round_up(double value) noexcept {
  const auto nearest = static_cast<float>(value);
  return nearest < value ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(nearest) + 1) : nearest;
}

}  // namespace

CutCells CutCells::one(std::uint32_t left, double lost) noexcept {
  return {.oldest = left, .lost = std::min(round_up(lost), kMostLost)};
}

CutCells CutCells::with(CutCells other) const noexcept {
  if (lost == 0 || other.lost == 0) {
    return lost == 0 ? other : *this;
  }
  return one(std::min(oldest, other.oldest), static_cast<double>(lost) + static_cast<double>(other.lost));
}

CutCells CutCells::faded(std::uint32_t oldest_then, std::uint64_t lambda_q32, std::uint64_t epochs) const noexcept {
  const double lambda = static_cast<double>(lambda_q32) * 0x1p-32;
  float left = lost;
  for (; epochs != 0 && left > kForgotten; --epochs) {
    const float next = round_up(static_cast<double>(left) * lambda);
    if (next == left) {
      return {.oldest = oldest_then, .lost = left};
    }
    left = next;
  }
  return left > kForgotten ? CutCells{.oldest = oldest_then, .lost = left} : CutCells{};
}

bool CutCells::is_possible(std::uint32_t largest) const noexcept {
  return lost > 0 ? oldest <= largest && lost <= kMostLost : word() == 0;
}

}  // namespace mankai
