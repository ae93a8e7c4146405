#include "lab/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <numbers>
#include <numeric>

namespace mankai::lab {

namespace {

// Student's t for the probability of three standard errors, over 3, by its expansion in 1 / degrees of freedom.
double student_factor(double degrees) noexcept {
  const double inverse = 1 / degrees;
  return 1 + inverse * (7.5 + inverse * (17.25 + inverse * (30.19 + inverse * 38.6))) / 3;
}

}  // namespace

Estimate share(std::uint64_t yes, std::uint64_t trials) noexcept {
  const auto n = static_cast<double>(trials);
  // Wilson's center for three standard errors: the error of a small count is that of the shares that it may come from.
  constexpr double kSquare = 9;
  const double center = (static_cast<double>(yes) + kSquare / 2) / (n + kSquare);
  return {.value = static_cast<double>(yes) / n, .error = std::sqrt(center * (1 - center) / (n + kSquare))};
}

Estimate mean(std::span<const double> samples) noexcept {
  const auto n = static_cast<double>(samples.size());
  const double value = std::accumulate(samples.begin(), samples.end(), 0.0) / n;
  double squares = 0;
  for (const double sample : samples) {
    squares += (sample - value) * (sample - value);
  }
  return {.value = value, .error = student_factor(n - 1) * std::sqrt(squares / (n - 1) / n)};
}

Estimate ratio_of_sums(std::span<const double> y, std::span<const double> x) noexcept {
  const auto n = static_cast<double>(y.size());
  const double sum_of_x = std::accumulate(x.begin(), x.end(), 0.0);
  const double value = std::accumulate(y.begin(), y.end(), 0.0) / sum_of_x;
  double squares = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double residual = y[i] - value * x[i];
    squares += residual * residual;
  }
  return {.value = value, .error = std::sqrt(squares * n / (n - 1)) / sum_of_x};
}

Estimate quotient(const Estimate& a, const Estimate& b) noexcept {
  const double value = a.value / b.value;
  return {.value = value, .error = std::abs(value) * std::hypot(a.error / a.value, b.error / b.value)};
}

Estimate median(std::vector<double> samples) {
  std::ranges::sort(samples);
  const std::size_t last = samples.size() - 1;
  const double distance = samples[last - last / 4] - samples[last / 4];
  constexpr double kDeviationsApart = 1.349;
  return {.value = (samples[last / 2] + samples[samples.size() / 2]) / 2,
          .error = distance / kDeviationsApart * std::sqrt(std::numbers::pi / 2 / static_cast<double>(samples.size()))};
}

Estimate widened(const Estimate& estimate, double error) noexcept {
  return {.value = estimate.value, .error = std::hypot(estimate.error, error)};
}

double fill_deviation(double probes_per_cell, double cells) noexcept {
  const double x = probes_per_cell;
  return std::sqrt((std::exp(-x) - (1 + x) * std::exp(-2 * x)) / cells);
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<Estimate> nanoseconds_interleaved(std::size_t rounds, std::uint64_t operations,
                                              std::span<const std::function<void()>> works, double (*seconds)()) {
  constexpr double kNano = 1e9;
  std::vector<std::vector<double>> samples(works.size());
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < works.size(); ++i) {
      const double start = seconds();
      works[i]();
      samples[i].push_back((seconds() - start) * kNano / static_cast<double>(operations));
    }
  }
  std::vector<Estimate> medians;
  std::ranges::transform(samples, std::back_inserter(medians), median);
  return medians;
}

}  // namespace mankai::lab
