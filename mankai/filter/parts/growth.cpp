#include "mankai/filter/parts/growth.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace mankai {
namespace {

constexpr std::uint64_t kGenerations = 4096;  // no filter has more slices
constexpr std::uint64_t kMaxSliceKeys = std::uint64_t{1} << 48;

double first_fpr(double fpr_target, const Growth& growth) noexcept {
  return growth.bound == FprBound::total ? fpr_target * (1 - growth.tightening) : fpr_target;
}

}  // namespace

std::string_view name(FprBound bound) noexcept { return bound == FprBound::total ? "total" : "first"; }

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
  const double first = first_fpr(fpr_target, growth);
  const double least = std::min(first, kMinSliceFpr);
  // Multiplies, as std::pow differs between machines in the last bit, and this is stored in images.
  double fpr = first;
  for (std::uint64_t i = 0; i < std::min(generation, kGenerations) && fpr > least; ++i) {
    fpr *= growth.tightening;
  }
  return std::max(fpr, least);
}

std::uint64_t generation_of(std::uint64_t keys, double fpr, std::uint64_t initial_keys, double fpr_target,
                            const Growth& growth) noexcept {
  if (growth.factor == 1) {
    const double steps = std::log(fpr / first_fpr(fpr_target, growth)) / std::log(growth.tightening);
    return steps > 0 ? static_cast<std::uint64_t>(std::round(std::min(steps, static_cast<double>(kGenerations)))) : 0;
  }
  std::uint64_t generation = 0;
  while (slice_keys(initial_keys, growth, generation) < std::min(keys, kMaxSliceKeys)) {
    ++generation;
  }
  return generation;
}

}  // namespace mankai
