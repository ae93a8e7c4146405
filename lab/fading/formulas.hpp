#pragma once

/// Formulas of the text ([Kifi2013]), whose images are lost, and corrections that it omits. Independent of the filter's
/// own formulas (fading_size.hpp), so that the two can be compared.

#include <cstdint>

namespace mankai::lab::forgetting {

inline constexpr double kHundred = 100;

/// The text's n, s and b, and the code's minHits.
struct Shape {
  std::uint64_t s = 1000;
  std::uint32_t n = 1;
  std::uint32_t b = 32;
  std::uint32_t r = 1;
};

/// Returns p(t) = (1 - 1/s)^(n t), the probability that a place was not written by the t events since.
[[nodiscard]] double untouched(const Shape& shape, double t) noexcept;

/// Returns f = 2^-b.
[[nodiscard]] double chance_match(std::uint32_t b) noexcept;
/// Returns 1 / (2^b - 1), if one fingerprint is reserved for empty places.
[[nodiscard]] double chance_match_reserved(std::uint32_t b) noexcept;

/// Returns 1 - ((1 - p)(1 - f))^n, or the probability of r matches among n; f = 0 for exact integers (b = 32).
[[nodiscard]] double text_survival(const Shape& shape, double t) noexcept;
/// Returns the limit of text_survival: 1 - (1 - f)^n, or the probability of r chance matches among n.
[[nodiscard]] double text_plateau(const Shape& shape) noexcept;
/// Returns -(s/n) ln(1 - 2^(-1/n)), the age at which half of the events are known; for exact integers and r = 1.
[[nodiscard]] double text_half_life(const Shape& shape) noexcept;
/// Returns s H_n / n, the number of events known at a time (the area below the curve); for exact integers and r = 1.
[[nodiscard]] double text_capacity(const Shape& shape) noexcept;

/// A formula for the share of events known at an age.
using Formula = double (*)(const Shape&, double);
/// Returns the age at which the formula falls to this share.
[[nodiscard]] double age_by(Formula formula, const Shape& shape, double share);
[[nodiscard]] inline double text_age(const Shape& shape, double share) { return age_by(text_survival, shape, share); }

/// Returns the survival for exact integers with what the text glosses over: two places of an event may coincide.
[[nodiscard]] double glossed_survival(const Shape& shape, double t) noexcept;

/// Returns the survival for r = 1 with three effects that the text omits: two places of an event may coincide; one
/// later event may have overwritten two of them, whose fingerprints then match both or neither; and a fingerprint is
/// reserved for empty places.
///
///     1 - Σ_d P(d places are different) P(all d written since) (1 - f)^(different writers of d places)
///
/// with P(all d written) = Σ_i (-1)^i C(d, i) (1 - i/s)^(n t), and a place's last writer is event a of the t later ones
/// with probability proportional to (1 - 1/s)^(n a). Range: n <= 32, where the alternating sum has seven digits.
[[nodiscard]] double full_survival(const Shape& shape, double t) noexcept;

}  // namespace mankai::lab::forgetting
