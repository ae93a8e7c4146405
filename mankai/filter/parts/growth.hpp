#pragma once

/// How the kinds that grow do so: what each slice is made for.
///
/// Source:  [Almeida2007] §4; [Dablooms2012] has it with counters.
/// Formula: slice i has n s^i keys at the rate p_i; total rate F = 1 - Π(1 - p_i) <= Σ p_i. Two conventions for p_i:
///   - `total` (default): p_i = F (1 - r) r^i, whose sum is F. At r = 0.5 that is dablooms' code, F 0.5^(i+1).
///   - `first`: p_i = F r^i, as dablooms' article writes it: the sum is F / (1 - r), ten times F at its r = 0.9.
///   Below a slice rate of 1e-8 nothing is gained in practice and a slice would cost hundreds of bits per key, so it
///   stays there: 4096 such slices add 4e-5.

#include <cstdint>
#include <string_view>

#include "mankai/base/error.hpp"

namespace mankai {

/// Which rate the target is. The values are part of the image format.
enum class FprBound : std::uint8_t {
  total = 0,  ///< of the whole filter, whatever it grows to
  first = 1,  ///< of the first slice: the whole reaches target / (1 - tightening)
};

/// Returns the name used in specs.
[[nodiscard]] std::string_view name(FprBound bound) noexcept;

/// How a filter grows.
struct Growth {
  static constexpr std::uint32_t kMaxFactor = 1U << 20U;

  std::uint32_t factor = 2;  ///< each slice's keys over those of the one before; 1 to kMaxFactor
  double tightening = 0.7;   ///< each slice's rate over that of the one before; above 0, below 1
  FprBound bound = FprBound::total;

  friend bool operator==(const Growth&, const Growth&) = default;
};

/// Errors: invalid_argument naming what is out of range.
[[nodiscard]] Result<void> check_growth(const Growth& growth);
/// Returns the keys that a slice is made for; generation 0 is the first slice. At most the largest request there can
/// be.
[[nodiscard]] std::uint64_t slice_keys(std::uint64_t initial_keys, const Growth& growth,
                                       std::uint64_t generation) noexcept;
/// Returns the rate that a slice is made for.
[[nodiscard]] double slice_fpr(double fpr_target, const Growth& growth, std::uint64_t generation) noexcept;
/// Returns the generation of a slice that was made for so many keys at such a rate, from what growth changes: the keys
/// where it makes slices larger, the rate where it does not. Where neither changes any more it is one of those that
/// are alike.
[[nodiscard]] std::uint64_t generation_of(std::uint64_t keys, double fpr, std::uint64_t initial_keys, double fpr_target,
                                          const Growth& growth) noexcept;

}  // namespace mankai
