#pragma once

/// How long an array of fingerprints finds an event that later ones overwrite, and how large it must be.

#include <cstdint>

#include "mankai/base/error.hpp"

namespace mankai {

/// The array, in Kifi's terms: s, n, b, and their minHits r.
struct FadingShape {
  std::uint64_t slots = 0;        ///< s, at least 1
  std::uint32_t k = 0;            ///< n: slots per event, 1 to 64
  std::uint32_t bits = 0;         ///< b: 4, 8, 16 or 32
  std::uint32_t min_matches = 1;  ///< r: slots that must hold the fingerprint, 1 to k

  friend bool operator==(const FadingShape&, const FadingShape&) = default;
};

/// Probability that an event is still found after `age` later ones, chance matches included:
///
///     p(t) = (1 - 1/s)^(n t)             one of its slots was not written since
///     m(t) = p + (1 - p) f               it holds the fingerprint; f = 1 / (2^b - 1), as 0 marks empty slots
///     φ(t) = P[Binomial(n, m) >= r]
///
/// with a correction of φ to first order in 1/s for two slots that coincide (1/s per pair), or that one later event
/// wrote with one fingerprint ((1 - p²)(n - 1)/2s): alone they match once, together twice, which is most of the plateau
/// if r >= 2 and b is large.
///
/// Pre: a valid shape. Threads: pure.
/// Source:  [Kifi2013], where the formulas are pictures: 1 - ((1 - p)(1 - f))^n with f = 2^-b. Differs: f as here, the
///          r of their code, and the correction. Verified by measurement for n² <= s / 10.
[[nodiscard]] double fading_survival(const FadingShape& shape, double age) noexcept;

/// False-positive rate at a share `fill` of used slots; at 1 it is the plateau that survival converges to. Threads,
/// source: as fading_survival.
[[nodiscard]] double fading_fpr(const FadingShape& shape, double fill = 1) noexcept;

/// Share of used slots after so many events: 1 - p(events). Threads: pure.
[[nodiscard]] double fading_fill(const FadingShape& shape, double events) noexcept;

/// Age at which half of the events are still found; infinite if the plateau is at least a half.
[[nodiscard]] double fading_half_life(const FadingShape& shape) noexcept;

/// Bytes of the slots in an image: whole cache lines.
[[nodiscard]] std::uint64_t fading_cells_bytes(const FadingShape& shape) noexcept;

/// A request for a size.
struct FadingRequest {
  std::uint64_t events = 0;       ///< age, counted in later events
  double survival = 0.5;          ///< share of events that must still be found at that age
  double fpr = 0.01;              ///< largest false-positive rate, after any number of events
  std::uint32_t k = 0;            ///< 0: any, 1 to 32
  std::uint32_t bits = 0;         ///< 0: any of 4, 8, 16, 32
  std::uint32_t min_matches = 1;  ///< r
};

/// The array with the fewest bytes for the request; of equal ones that with the fewest slots per event. Errors:
/// invalid_argument if the request contradicts itself, or needs more than 2^48 bytes. Cost: a search for each k and
/// bits that are open: .05 to 2.5 ms measured, 7 µs if both are set.
[[nodiscard]] Result<FadingShape> fading_size(const FadingRequest& request);

/// Whether fingerprints may have this many bits. Threads: pure.
[[nodiscard]] bool is_fading_bits(std::uint32_t bits) noexcept;

/// Checks a shape given by a user. Errors: invalid_argument that names a valid value.
[[nodiscard]] Result<void> check_fading_shape(const FadingShape& shape);

}  // namespace mankai
