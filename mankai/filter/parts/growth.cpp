#include "mankai/filter/parts/growth.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace mankai {
namespace {

constexpr std::uint64_t kGenerations = 4096;  // no filter has more slices
constexpr std::uint64_t kMaxSliceKeys = std::uint64_t{1} << 48;

double first_fpr(double fpr_target, const Growth& growth) noexcept {
  return growth.bound == FprBound::first ? fpr_target : fpr_target * (1 - growth.tightening);
}

// The `a` of FprBound::gradual.
double gradual_start(const Growth& growth) noexcept { return growth.tightening / (1 - growth.tightening); }

// Only the basic operations, as std::pow differs between machines in the last bit, and this is stored in images.
double exact_fpr(double fpr_target, const Growth& growth, std::uint64_t generation, double least) noexcept {
  if (growth.bound == FprBound::gradual) {
    const double start = gradual_start(growth);
    const double place = static_cast<double>(generation) + start;
    return fpr_target * start / (place * (place + 1));
  }
  double fpr = first_fpr(fpr_target, growth);
  for (std::uint64_t i = 0; i < generation && fpr > least; ++i) {
    fpr *= growth.tightening;
  }
  return fpr;
}

}  // namespace

Result<void> check_growth(const Growth& growth) {
  if (growth.factor == 0 || growth.factor > Growth::kMaxFactor) {
    return fail(ErrorCode::invalid_argument, "a growth of " + std::to_string(growth.factor) +
                                                 " is impossible: give a factor from 1 to " +
                                                 std::to_string(Growth::kMaxFactor) + ", such as 2");
  }
  if (!(growth.tightening > 0 && growth.tightening < 1)) {
    return fail(ErrorCode::invalid_argument, "a tightening of " + std::to_string(growth.tightening) +
                                                 " is impossible: give a ratio between 0 and 1, such as 0.5");
  }
  return {};
}

std::uint64_t slice_keys(std::uint64_t initial_keys, const Growth& growth, std::uint64_t generation) noexcept {
  if (growth.factor == 1) {
    return initial_keys;
  }
  std::uint64_t keys = initial_keys;
  for (std::uint64_t i = 0; i < generation && keys < kMaxSliceKeys; ++i) {
    keys = keys > kMaxSliceKeys / growth.factor ? kMaxSliceKeys : keys * growth.factor;
  }
  return keys;
}

double slice_fpr(double fpr_target, const Growth& growth, std::uint64_t generation) noexcept {
  const double floor = growth.bound == FprBound::gradual ? kMinGradualFpr : kMinSliceFpr;
  const double least = std::min(first_fpr(fpr_target, growth), floor);
  return std::max(exact_fpr(fpr_target, growth, std::min(generation, kGenerations), least), least);
}

std::uint64_t generation_of(std::uint64_t keys, double fpr, std::uint64_t initial_keys, double fpr_target,
                            const Growth& growth) noexcept {
  if (growth.factor == 1) {
    const double start = gradual_start(growth);
    const double steps = growth.bound == FprBound::gradual
                             ? std::sqrt(fpr_target * start / fpr + 0.25) - 0.5 - start
                             : std::log(fpr / first_fpr(fpr_target, growth)) / std::log(growth.tightening);
    return steps > 0 ? static_cast<std::uint64_t>(std::round(std::min(steps, static_cast<double>(kGenerations)))) : 0;
  }
  std::uint64_t generation = 0;
  while (slice_keys(initial_keys, growth, generation) < std::min(keys, kMaxSliceKeys)) {
    ++generation;
  }
  return generation;
}

}  // namespace mankai
