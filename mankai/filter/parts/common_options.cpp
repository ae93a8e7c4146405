#include "mankai/filter/parts/common_options.hpp"

namespace mankai {

Result<Decay> decay_from(const DecayOptions& options, bool counts_in_wholes) {
  if (!options.lambda) {
    const Duration half_life = options.half_life == Duration::zero() ? kDefaultHalfLife : options.half_life;
    const bool is_stepped = options.epoch == Duration::zero() && counts_in_wholes;
    return Decay::of_half_life(half_life, is_stepped ? half_life : options.epoch);
  }
  if (options.half_life != Duration::zero()) {
    return fail(ErrorCode::invalid_argument, "lambda and half-life cannot be combined: give one of them");
  }
  if (options.epoch == Duration::zero()) {
    return fail(ErrorCode::invalid_argument,
                "lambda needs an epoch: give the time between two decay steps, such as epoch=10m");
  }
  return Decay::of(*options.lambda, options.epoch);
}

}  // namespace mankai
