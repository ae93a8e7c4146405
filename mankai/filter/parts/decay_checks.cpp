#include "mankai/filter/parts/decay_checks.hpp"

#include <string>

namespace mankai {

Result<void> check_decay(const Decay& decay) {
  if (decay.lambda_q32 > kLambdaOne || decay.epoch <= Duration::zero()) {
    return fail(ErrorCode::invalid_argument, "no decay given; give lambda and an epoch, or a half-life");
  }
  return {};
}

Result<void> check_epoch(std::uint64_t epoch_us) {
  if (epoch_us == 0 || epoch_us > static_cast<std::uint64_t>(Duration::max().count())) {
    return fail(ErrorCode::corrupt, "impossible epoch of " + std::to_string(epoch_us) + " us at offset 72");
  }
  return {};
}

}  // namespace mankai
