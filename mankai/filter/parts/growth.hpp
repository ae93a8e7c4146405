#pragma once

/// How growing kinds size their sub-filters (slices).
///
/// Source:  [Almeida2007] §4; [Dablooms2012] has it with counters.
/// Formula: slice i has n s^i keys at the rate p_i; total rate F = 1 - Π(1 - p_i) <= Σ p_i. Three conventions for p_i:
///   - `total` (default): p_i = F (1 - r) r^i, whose sum is F. At r = 0.5 that is dablooms' code, F 0.5^(i+1).
///   - `first`: p_i = F r^i, as dablooms' article has it: the sum is F / (1 - r), ten times F at its r = 0.9.
///   - `gradual`: p_i = F a / ((i + a) (i + a + 1)) with a = r / (1 - r), whose sum is F, too, and which begins as
///   `total`
///     does. As it falls as 1/i², not as r^i, many sub-filters take fewer bits: at 1% and r = 0.5, doubling,
///     1, 3, 7, 11 and 17 full ones take 11.6, 15.0, 20.2, 23.9 and 22.5 bits per key; with `total` 11.6, 14.1, 22.2,
///     35.6 and 73.1.
/// No p_i is below kMinSliceFpr, where one block per key costs hundreds of bits and 4096 sub-filters add 4e-5, or with
/// `gradual` below kMinGradualFpr, unless p_0 is. So the whole exceeds F in filters that grow from a rate near these.

#include <array>
#include <cstdint>
#include <string_view>

#include "mankai/base/error.hpp"

namespace mankai {

/// What the target rate applies to. The values are part of the image format.
enum class FprBound : std::uint8_t {
  total = 0,    ///< the whole filter, however large it grows
  first = 1,    ///< the first sub-filter: the whole approaches target / (1 - tightening)
  gradual = 2,  ///< the whole filter; the rates fall more slowly, for filters that grow a hundredfold and more
};

/// All of them, in the order of their values.
inline constexpr std::array kFprBounds = {FprBound::total, FprBound::first, FprBound::gradual};
/// The name used in specs.
[[nodiscard]] constexpr std::string_view name(FprBound bound) noexcept {
  return bound == FprBound::total ? "total" : bound == FprBound::first ? "first" : "gradual";
}

inline constexpr double kMinSliceFpr = 1e-8;
inline constexpr double kMinGradualFpr = 1e-12;

/// Growth parameters.
struct Growth {
  static constexpr std::uint32_t kMaxFactor = 1U << 20U;

  std::uint32_t factor = 2;  ///< capacity of a sub-filter relative to the one before; 1 to kMaxFactor
  /// Rate of a sub-filter relative to the one before; above 0, below 1. With `gradual`: the share of the target that
  /// the first leaves to the others.
  double tightening = 0.7;
  FprBound bound = FprBound::total;

  friend bool operator==(const Growth&, const Growth&) = default;
};

/// Errors: invalid_argument that names the field.
[[nodiscard]] Result<void> check_growth(const Growth& growth);
/// Capacity of a sub-filter; generation 0 is the first. At most the largest possible request.
[[nodiscard]] std::uint64_t slice_keys(std::uint64_t initial_keys, const Growth& growth,
                                       std::uint64_t generation) noexcept;
/// Rate of a sub-filter.
[[nodiscard]] double slice_fpr(double fpr_target, const Growth& growth, std::uint64_t generation) noexcept;
/// Generation of a sub-filter of this capacity and rate: from the capacity if growth changes it, else from the rate.
/// Where neither changes, one of the equal generations.
[[nodiscard]] std::uint64_t generation_of(std::uint64_t keys, double fpr, std::uint64_t initial_keys, double fpr_target,
                                          const Growth& growth) noexcept;

}  // namespace mankai
