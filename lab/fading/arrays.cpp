#include "lab/fading/arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "mankai/base/assert.hpp"

namespace mankai::lab::forgetting {
double errors_of_worst(std::size_t estimates) noexcept {
  const auto passed = [](double errors) { return std::erfc(errors / std::numbers::sqrt2); };
  const double chance = passed(kStandardErrors) / static_cast<double>(estimates);
  double low = kStandardErrors;
  double high = 10;
  constexpr int kSteps = 50;
  for (int step = 0; step < kSteps; ++step) {
    const double middle = (low + high) / 2;
    (passed(middle) > chance ? low : high) = middle;
  }
  return high;
}

Result<Array> make_array(const Shape& shape, const Context& context) {
  return make_under_test<FadingFingerprints>({.slots = shape.s, .k = shape.n, .bits = shape.b, .min_matches = shape.r},
                                             context);
}

std::uint64_t events_to_fill(const Shape& shape) noexcept {
  constexpr std::uint64_t kWritesPerPlace = 14;
  return kWritesPerPlace * shape.s / shape.n + 1;
}

Result<Survey> survey(const Shape& shape, std::size_t ages, std::uint64_t looks, const Context& context) {
  MANKAI_ASSIGN(auto array, make_array(shape, context));
  return survey(array, shape, ages, looks, context);
}

Estimate Survey::survival(std::size_t age, std::size_t reach) const noexcept {
  std::uint64_t yes = 0;
  for (std::size_t i = age - reach; i <= age + reach; ++i) {
    yes += known[i];
  }
  return share(yes, looks * (2 * reach + 1));
}

Estimate beside(const Estimate& measured, double formula, std::uint64_t trials) noexcept {
  return {.value = measured.value,
          .error = std::max(measured.error, std::sqrt(formula * (1 - formula) / static_cast<double>(trials)))};
}

Point point_of(const Survey& survey, const Shape& shape, std::size_t age, std::size_t reach, Formula formula) {
  reach = std::min({reach, age, survey.known.size() - 1 - age});
  const auto from = static_cast<double>(age - reach);
  const auto to = static_cast<double>(age + reach);
  // Simpson's rule; the curves are smooth over a window.
  const double mean = (formula(shape, from) + 4 * formula(shape, (from + to) / 2) + formula(shape, to)) / 6;
  return {.age = static_cast<double>(age),
          .measured = beside(survey.survival(age, reach), mean, survey.looks * (2 * reach + 1)),
          .formula = mean};
}

Point worst_of(std::span<const Point> points, double tolerance) {
  MANKAI_ASSERT(!points.empty());
  // If all points are within the tolerance, takes the farthest.
  const auto distance = [tolerance](const Point& point) {
    const double off = std::abs(point.measured.value - point.formula);
    return std::pair(std::max(0.0, off - tolerance) / point.measured.error, off);
  };
  Point worst = *std::ranges::max_element(points, {}, distance);
  worst.measured.error *= errors_of_worst(points.size()) / kStandardErrors;
  return worst;
}

Estimate crossing(const Survey& survey, const Shape& shape, double share_of_events) {
  constexpr std::size_t kReach = 20;  // a twentieth of the age on both sides
  const auto expected = static_cast<std::size_t>(std::lround(text_age(shape, share_of_events)));
  MANKAI_ASSERT(expected > 0 && expected + expected / kReach < survey.known.size());
  const auto age = static_cast<double>(expected);
  const double slope = (text_survival(shape, age + 1) - text_survival(shape, age - 1)) / 2;
  const Point there = point_of(survey, shape, expected, expected / kReach, text_survival);
  return {.value = text_age(shape, share_of_events) + (there.formula - there.measured.value) / slope,
          .error = std::abs(there.measured.error / slope)};
}

std::string shown(const Shape& shape) { return fmt::format("n = {}", shape.n); }

}  // namespace mankai::lab::forgetting
