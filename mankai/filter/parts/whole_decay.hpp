#pragma once

/// Decay of whole counts, for the kinds whose counters are split into digits or tiers.

#include <algorithm>
#include <cstdint>

#include "mankai/base/bits.hpp"
#include "mankai/base/time.hpp"
#include "mankai/filter/concepts.hpp"

namespace mankai {

/// Multiplies integer counts by λ, rounding down, as the paper does, or up.
struct WholeDecay {
  std::uint64_t lambda_q32 = 0;  ///< at most 2^32
  bool rounds_up = false;

  /// A count after `epochs`; equals single epochs. Pre: value < 2^32.
  ///
  /// An epoch subtracts ⌈v (1 − λ)⌉, or rounding up ⌊v (1 − λ)⌋, which is constant while v exceeds a bound: so epochs
  /// are computed in strides, at most about 2^17 for any λ and epochs, and a few in practice.
  [[nodiscard]] constexpr std::uint64_t after(std::uint64_t value, std::uint64_t epochs) const noexcept {
    const std::uint64_t lost_q32 = kLambdaOne - lambda_q32;
    while (epochs != 0) {
      const std::uint64_t product = value * lost_q32;
      const std::uint64_t step = (product + (rounds_up ? 0 : kLambdaOne - 1)) / kLambdaOne;
      if (step == 0) {
        break;
      }
      const std::uint64_t least =
          rounds_up ? divide_up(step * kLambdaOne, lost_q32) : (step - 1) * kLambdaOne / lost_q32 + 1;
      const std::uint64_t strides = std::min(epochs, (value - least) / step + 1);
      value -= strides * step;
      epochs -= strides;
    }
    return value;
  }
};

/// The estimate of an integer count.
[[nodiscard]] inline DecayedCount decayed_count(std::uint64_t count, const Decay& decay, bool is_saturated) noexcept {
  const auto raw = static_cast<double>(count);
  return {.raw = raw, .rate = (1 - decay.lambda()) * raw, .is_saturated = is_saturated};
}

}  // namespace mankai
