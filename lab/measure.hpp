#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace mankai::lab {

/// A measured value and its standard error, or an error bound that its claim states.
struct Estimate {
  double value = std::numeric_limits<double>::quiet_NaN();
  double error = 0;
};

template <class Number>
[[nodiscard]] constexpr Estimate exact(Number value) noexcept {
  return {.value = static_cast<double>(value), .error = 0};
}

/// The share `yes / trials` of independent trials. The error is the binomial one at (yes + 1) / (trials + 2), so it is
/// not 0 if yes is. Pre: trials > 0.
[[nodiscard]] Estimate share(std::uint64_t yes, std::uint64_t trials) noexcept;

/// The error is the standard error as Student's t widens it, so that three of it have the probability of three standard
/// errors: 2.2 times for 5 samples, 1.36 for 10 (within 1%; too narrow for fewer than 4). Pre: at least 2 independent
/// samples.
[[nodiscard]] Estimate mean(std::span<const double> samples) noexcept;

/// The sum of y over the sum of x, where pairs are independent but the two values of a pair are not, such as hits and
/// pages of a session. This is the ratio estimator with its first-order error. Pre: at least 2 pairs; the sum of x is
/// above 0.
[[nodiscard]] Estimate ratio_of_sums(std::span<const double> y, std::span<const double> x) noexcept;

[[nodiscard]] constexpr Estimate operator/(const Estimate& estimate, double divisor) noexcept {
  return {.value = estimate.value / divisor, .error = estimate.error / divisor};
}

/// a / b of independent estimates, with the error to first order. Pre: neither value is 0.
[[nodiscard]] Estimate quotient(const Estimate& a, const Estimate& b) noexcept;

/// The median and its standard error for normal samples, from the quartiles: sqrt(pi / 2) standard deviations by the
/// square root of n, the quartiles being 1.349 deviations apart. Pre: at least 1 sample.
[[nodiscard]] Estimate median(std::vector<double> samples);

/// Adds an independent source of error.
[[nodiscard]] Estimate widened(const Estimate& estimate, double error) noexcept;

/// The standard deviation of the share of zeros among `cells` cells after `probes_per_cell` random probes per cell:
/// sqrt((e^-x - (1 + x) e^-2x) / cells), from the occupancy problem.
[[nodiscard]] double fill_deviation(double probes_per_cell, double cells) noexcept;

/// The number of integers in [first, end) that satisfy the predicate, which is called in order.
template <class Predicate>
[[nodiscard]] std::uint64_t count_of(std::uint64_t first, std::uint64_t end, const Predicate& predicate) {
  std::uint64_t count = 0;
  for (; first < end; ++first) {
    count += predicate(first) ? 1U : 0U;
  }
  return count;
}

/// The wall clock, in seconds.
[[nodiscard]] double wall_seconds();

/// Runs each work in turn, for so many rounds. Returns nanoseconds per operation for each: the median of the rounds.
/// By the wall clock or another one, so for claims that depend on the machine only.
[[nodiscard]] std::vector<Estimate> nanoseconds_interleaved(std::size_t rounds, std::uint64_t operations,
                                                            std::span<const std::function<void()>> works,
                                                            double (*seconds)() = wall_seconds);

}  // namespace mankai::lab
