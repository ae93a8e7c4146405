#pragma once

/// The text's formulas, whose pictures are lost, and what it leaves out of them. Nowhere but in this lab: the kind has
/// its own (filter/fading_size.hpp), which are not used here, so that the two can be compared.

#include <cstdint>

namespace mankai::lab::forgetting {

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
/// Returns 1 / (2^b - 1), where a fingerprint is left for empty places.
[[nodiscard]] double chance_match_reserved(std::uint32_t b) noexcept;

/// Returns 1 - ((1 - p)(1 - f))^n, or the probability of r matches among n; with f = 0 for exact integers, b = 32.
[[nodiscard]] double text_survival(const Shape& shape, double t) noexcept;
/// Returns what it ends at: 1 - (1 - f)^n, or the probability of r chance matches among n.
[[nodiscard]] double text_plateau(const Shape& shape) noexcept;
/// Returns -(s/n) ln(1 - 2^(-1/n)), the age at which half of the events are still known; exact integers and r = 1.
[[nodiscard]] double text_half_life(const Shape& shape) noexcept;
/// Returns s H_n / n, how many events are known at a time: the area below the curve; exact integers and r = 1.
[[nodiscard]] double text_capacity(const Shape& shape) noexcept;
/// Returns the age at which the text's curve, with r matches, falls to this share.
[[nodiscard]] double text_age(const Shape& shape, double share) noexcept;

/// Returns the survival with the three things counted that the text leaves out: two places of an event may be one; two
/// of its places may have been overwritten by one later event, whose one fingerprint matches in both or in neither; and
/// a fingerprint is left for empty places. Of r = 1.
///
///     1 - Σ_d P(d places are different) P(all d written since) (1 - f)^(different writers of d places)
///
/// with P(all d written) = Σ_i (-1)^i C(d, i) (1 - i/s)^(n t), and a place's last writer a of the t later ones with
/// probability proportional to (1 - 1/s)^(n a). Range: n <= 32, where the alternating sum still has seven digits.
[[nodiscard]] double full_survival(const Shape& shape, double t) noexcept;

}  // namespace mankai::lab::forgetting
