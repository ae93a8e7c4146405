#pragma once

/// How long an array remembers that forgets by being overwritten, and how large it must be to remember so long.

#include <cstdint>

#include "mankai/base/error.hpp"

namespace mankai {

/// The array: what Kifi call s, n and b, and their minHits r.
struct FadingShape {
  std::uint64_t slots = 0;        ///< s, at least 1
  std::uint32_t k = 0;            ///< n: slots that an event writes, 1 to 64
  std::uint32_t bits = 0;         ///< b: 4, 8, 16 or 32
  std::uint32_t min_matches = 1;  ///< r: slots that must hold the fingerprint for a yes, 1 to k

  friend bool operator==(const FadingShape&, const FadingShape&) = default;
};

/// Returns the probability that an event is still known when `age` more have come, chance matches included:
///
///     p(t) = (1 - 1/s)^(n t)             one of its slots was not written since
///     m(t) = p + (1 - p) f               it holds the fingerprint; f = 1 / (2^b - 1), 0 being left for empty slots
///     φ(t) = P[Binomial(n, m) >= r]
///
/// of which the last is put right to first order in 1/s for two slots that are one (1/s for each pair), or that one
/// later event wrote with one fingerprint ((1 - p²)(n - 1)/2s): alone they match once, together they match twice, which
/// is most of the plateau where r >= 2 and b is large.
///
/// Errors:  none; a shape as above.
/// Threads: pure.
/// Source:  [Kifi2013], where the formulas are pictures: 1 - ((1 - p)(1 - f))^n with f = 2^-b. Differs: f as here, the
///          r of their code, and the correction. Checked against measurement for n n <= s / 10.
[[nodiscard]] double fading_survival(const FadingShape& shape, double age) noexcept;

/// Returns the share of absent keys that are answered yes when the share of slots that are used is `fill`; the plateau,
/// which survival ends at, is that at 1. Errors, threads, source: as fading_survival.
[[nodiscard]] double fading_fpr(const FadingShape& shape, double fill = 1) noexcept;

/// Returns the share of slots that are used after so many events: 1 - p(events). Threads: pure.
[[nodiscard]] double fading_fill(const FadingShape& shape, double events) noexcept;

/// Returns the age at which half of the events are still known; infinite where the plateau is a half or more.
[[nodiscard]] double fading_half_life(const FadingShape& shape) noexcept;

/// Returns the bytes of the slots in an image: whole cache lines.
[[nodiscard]] std::uint64_t fading_cells_bytes(const FadingShape& shape) noexcept;

/// What to remember.
struct FadingRequest {
  std::uint64_t events = 0;       ///< at this age, counted in events that came later,
  double survival = 0.5;          ///< this share of events is still known at least,
  double fpr = 0.01;              ///< and of absent keys this share is reported as present at most, however many came
  std::uint32_t k = 0;            ///< 0: any, 1 to 32
  std::uint32_t bits = 0;         ///< 0: any of 4, 8, 16, 32
  std::uint32_t min_matches = 1;  ///< r
};

/// Returns the array of the fewest bytes that does; of equal ones that with the fewest slots an event.
///
/// Errors:  invalid_argument where the request contradicts itself, or no array of up to 2^48 bytes does it.
/// Cost:    a search for each k and bits that are open: .05 to 2.5 ms measured, 7 µs where both are given.
[[nodiscard]] Result<FadingShape> fading_size(const FadingRequest& request);

/// Whether there are fingerprints of so many bits. Threads: pure.
[[nodiscard]] bool is_fading_bits(std::uint32_t bits) noexcept;

/// Checks the parts of a shape that a user can give. Errors: invalid_argument with what would do.
[[nodiscard]] Result<void> check_fading_shape(const FadingShape& shape);

}  // namespace mankai
