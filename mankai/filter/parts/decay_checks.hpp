#pragma once

#include <cstddef>
#include <cstdint>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"
#include "mankai/filter/parts/image.hpp"

namespace mankai {

/// State words of images of decayed counts.
struct DecayState {
  static constexpr std::size_t kTick = 0;
  static constexpr std::size_t kSaturations = 1;
  static constexpr std::size_t kCutCells = 2;
  static constexpr std::size_t kWords = 3;
};

/// Checks the decay of a new filter. Errors: invalid_argument if it is unset.
[[nodiscard]] Result<void> check_decay(const Decay& decay);

/// Checks the decay in an image's params: λ at offset 64, the epoch at offset 72. Errors: corrupt.
[[nodiscard]] Result<void> check_stored_decay(std::uint64_t lambda_q32, std::uint64_t epoch_us);

/// `largest` is the largest value of a cell. Errors: corrupt.
[[nodiscard]] Result<void> check_decay_state(const Image& image, std::uint32_t largest);

}  // namespace mankai
