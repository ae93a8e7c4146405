#include "mankai/filter/parts/decay_checks.hpp"

#include <string>

#include "mankai/filter/parts/cut_cells.hpp"

namespace mankai {

Result<void> check_decay(const Decay& decay) {
  if (decay.lambda_q32 > kLambdaOne || decay.epoch <= Duration::zero()) {
    return fail(ErrorCode::invalid_argument, "no decay given; give lambda and an epoch, or a half-life");
  }
  return {};
}

Result<void> check_stored_decay(std::uint64_t lambda_q32, std::uint64_t epoch_us) {
  if (lambda_q32 > kLambdaOne) {
    return fail(ErrorCode::corrupt, "lambda at offset 64 is above 1");
  }
  if (epoch_us == 0 || epoch_us > static_cast<std::uint64_t>(Duration::max().count())) {
    return fail(ErrorCode::corrupt, "impossible epoch of " + std::to_string(epoch_us) + " us at offset 72");
  }
  return {};
}

Result<void> check_decay_state(const Image& image, std::uint32_t largest) {
  if (image.state(DecayState::kTick) > kMaxTick) {
    return fail(ErrorCode::corrupt,
                "impossible tick " + std::to_string(image.state(DecayState::kTick)) + " at offset 96");
  }
  const std::uint64_t saturations = image.state(DecayState::kSaturations);
  const CutCells cut = CutCells::of_word(image.state(DecayState::kCutCells));
  if (saturations > kMaxKeysInserted || (saturations == 0 && cut.word() != 0)) {
    return fail(ErrorCode::corrupt, "impossible count of saturations at offset 104");
  }
  if (!cut.is_possible(largest)) {
    return fail(ErrorCode::corrupt, "impossible cut cells at offset 112");
  }
  return {};
}

}  // namespace mankai
