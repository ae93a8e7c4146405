#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace mankai::lab {

/// A measured value, and one standard error of it or a bound that its claim states.
struct Estimate {
  double value = std::numeric_limits<double>::quiet_NaN();
  double error = 0;
};

/// Returns a value that has no error, such as a count.
template <class Number>
[[nodiscard]] constexpr Estimate exact(Number value) noexcept {
  return {.value = static_cast<double>(value), .error = 0};
}

/// Returns `yes` of `trials` independent trials as a share. The error is the binomial one at (yes + 1) / (trials + 2),
/// so that it is not 0 when nothing was hit. Pre: trials > 0.
[[nodiscard]] Estimate share(std::uint64_t yes, std::uint64_t trials) noexcept;

/// Returns the mean of independent samples. Pre: at least 2.
[[nodiscard]] Estimate mean(std::span<const double> samples) noexcept;

/// Returns the sum of y over the sum of x where pairs are independent but a pair's values are not, such as hits and
/// pages of one session: the ratio estimator with its first-order error. Pre: at least 2 pairs, a sum of x above 0.
[[nodiscard]] Estimate ratio_of_sums(std::span<const double> y, std::span<const double> x) noexcept;

[[nodiscard]] constexpr Estimate operator/(const Estimate& estimate, double divisor) noexcept {
  return {.value = estimate.value / divisor, .error = estimate.error / divisor};
}

/// Returns a / b of independent estimates, errors taken over to first order. Pre: neither value is 0.
[[nodiscard]] Estimate quotient(const Estimate& a, const Estimate& b) noexcept;

/// Returns the estimate with an independent source of error added.
[[nodiscard]] Estimate widened(const Estimate& estimate, double error) noexcept;

/// Returns the standard deviation of the share of zeros among `cells` cells after `probes_per_cell` random probes per
/// cell: the occupancy problem's sqrt((e^-x - (1 + x) e^-2x) / cells).
[[nodiscard]] double fill_deviation(double probes_per_cell, double cells) noexcept;

/// Returns for how many numbers from `first` up to `end`, in order, the predicate holds.
template <class Predicate>
[[nodiscard]] std::uint64_t count_of(std::uint64_t first, std::uint64_t end, const Predicate& predicate) {
  std::uint64_t count = 0;
  for (; first < end; ++first) {
    count += predicate(first) ? 1U : 0U;
  }
  return count;
}

/// Runs each work in turn, so many rounds, and returns for each the nanoseconds an operation takes: the median of the
/// rounds, and half the distance between their quartiles. Wall clock: for claims that depend on the machine.
[[nodiscard]] std::vector<Estimate> nanoseconds_interleaved(std::size_t rounds, std::uint64_t operations,
                                                            std::span<const std::function<void()>> works);

}  // namespace mankai::lab
