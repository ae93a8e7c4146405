#include "mankai/base/time.hpp"

#include <cmath>
#include <limits>
#include <string>

namespace mankai {
namespace {

constexpr std::int64_t kEpochsPerHalfLife = 64;
/// With more epochs, λ's resolution of 2^-32 would change the half-life by more than 1 %.
constexpr std::int64_t kEpochsPerHalfLifeMost = 29'000'000;
constexpr double kMicroseconds = 1e6;

// Rounds up, so that guarantees against undercounting hold for the requested λ; but a λ that only its conversion from
// decimal put above a multiple is rounded to it.
std::uint64_t fraction_of(double lambda) noexcept {
  const double scaled = lambda * static_cast<double>(kLambdaOne);
  const double nearest = std::round(scaled);
  return static_cast<std::uint64_t>(std::abs(scaled - nearest) < 1e-6 ? nearest : std::ceil(scaled));
}

}  // namespace

Result<Decay> Decay::of(double lambda, Duration epoch) {
  if (!(lambda >= 0 && lambda <= 1)) {
    return fail(ErrorCode::invalid_argument,
                "lambda " + std::to_string(lambda) + " is not valid; give a number from 0 to 1");
  }
  if (epoch <= Duration::zero()) {
    return fail(ErrorCode::invalid_argument, "an epoch must last at least a microsecond");
  }
  const Decay decay{.lambda_q32 = fraction_of(lambda), .epoch = epoch};
  if (decay.lambda_q32 == kLambdaOne && lambda < 1) {
    return fail(ErrorCode::invalid_argument,
                "lambda " + std::to_string(lambda) +
                    " is so close to 1 that counts would never decay; give a longer epoch and a smaller lambda");
  }
  return decay;
}

Result<Decay> Decay::of_half_life(Duration half_life, Duration epoch) {
  if (half_life < Duration(kEpochsPerHalfLife) || half_life > kLongestDuration) {
    return fail(ErrorCode::invalid_argument, "a half-life must last from 64 microseconds to 1000 years");
  }
  const Duration step = epoch == Duration::zero() ? half_life / kEpochsPerHalfLife : epoch;
  if (step < Duration::zero() || step > half_life) {
    return fail(ErrorCode::invalid_argument, "an epoch must be above 0 and at most the half-life");
  }
  if (half_life / step > kEpochsPerHalfLifeMost) {
    return fail(ErrorCode::invalid_argument, "the epoch is too short for the half-life; give at least " +
                                                 std::to_string(half_life / kEpochsPerHalfLifeMost / Duration(1) + 1) +
                                                 "us");
  }
  return of(std::exp2(-static_cast<double>(step.count()) / static_cast<double>(half_life.count())), step);
}

double Decay::half_life_seconds() const noexcept {
  if (lambda_q32 == 0) {
    return 0;
  }
  if (lambda_q32 >= kLambdaOne) {
    return std::numeric_limits<double>::infinity();
  }
  return -static_cast<double>(epoch.count()) / kMicroseconds / std::log2(lambda());
}

}  // namespace mankai
