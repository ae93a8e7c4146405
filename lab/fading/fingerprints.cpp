#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "lab/fading/arrays.hpp"
#include "lab/fading/original.hpp"
#include "lab/parts.hpp"

namespace mankai::lab::forgetting {
namespace {

constexpr std::array<std::uint32_t, 6> kPlacesPerEvent = {1, 2, 4, 8, 16, 32};
constexpr std::size_t kTailPoints = 8;

struct PairCurve {
  Shape shape;
  std::vector<Point> points;   // compared with the text's formula
  std::vector<Point> in_full;  // compared with full_survival
};

// Adds points from the oldest age of the curve's bend to a hundred times the number of places, evenly apart on a
// logarithmic axis. What is found there are chance matches; each point is of many events in a few arrays.
template <class Make>
Result<void> measure_tail(PairCurve& curve, double oldest, const Make& make, const Context& context) {
  constexpr std::size_t kHalfWidth = 8;  // of a point's ages: its age over that
  const Shape& shape = curve.shape;
  const auto last = kHundred * static_cast<double>(shape.s);
  const std::uint64_t arrays = context.trials(2, 40);
  std::array<std::uint64_t, kTailPoints> found{};
  const auto age_of = [&](std::size_t i) {
    return static_cast<std::uint64_t>(oldest * std::pow(last / oldest, static_cast<double>(i + 1) / kTailPoints));
  };
  const auto count = static_cast<std::uint64_t>(last * (1 + 1.0 / kHalfWidth)) + 1;
  for (std::uint64_t look = 0; look < arrays; ++look) {
    MANKAI_ASSIGN(auto array, make());
    const Events events(context.seed + shape.n + (look << 32U));
    insert_events(array, events, 0, events_to_fill(shape) + count);
    const std::uint64_t newest = events_to_fill(shape) + count - 1;
    for (std::size_t i = 0; i < kTailPoints; ++i) {
      const std::uint64_t age = age_of(i);
      found.at(i) += count_of(age - age / kHalfWidth, age + age / kHalfWidth,
                              [&](std::uint64_t t) { return array.may_contain(events[newest - t]); });
    }
  }
  for (std::size_t i = 0; i < kTailPoints; ++i) {
    const std::uint64_t trials = arrays * 2 * (age_of(i) / kHalfWidth);
    const auto age = static_cast<double>(age_of(i));
    for (const auto& [points, formula] :
         {std::pair(&curve.points, Formula{text_survival}), std::pair(&curve.in_full, Formula{full_survival})}) {
      const double from = formula(shape, age * (1 - 1.0 / kHalfWidth));
      const double to = formula(shape, age * (1 + 1.0 / kHalfWidth));
      const double expected = (from + 4 * formula(shape, age) + to) / 6;
      points->push_back(
          {.age = age, .measured = beside(share(found.at(i), trials), expected, trials), .formula = expected});
    }
  }
  return {};
}

// `make` returns an empty array of the shape.
template <class Make>
Result<PairCurve> measure_pair_curve(const Shape& shape, const Make& make, const Context& context) {
  context.progress(fmt::format("fingerprints, n = {}, b = {}", shape.n, shape.b));
  constexpr std::size_t kPoints = 24;
  constexpr double kHardly = 0.005;
  const auto oldest = static_cast<std::size_t>(text_age({.s = shape.s, .n = shape.n}, kHardly));
  MANKAI_ASSIGN(auto array, make());
  const Survey done = survey(array, shape, oldest + 1, context.trials(3000, 20'000), context);
  PairCurve curve{.shape = shape, .points = {}, .in_full = {}};
  // Evenly apart on a logarithmic axis.
  constexpr double kYoungest = 4;
  for (std::size_t i = 0; i < kPoints; ++i) {
    const double share_of_axis = static_cast<double>(i) / (kPoints - 1);
    const auto age =
        static_cast<std::size_t>(kYoungest * std::pow(static_cast<double>(oldest) / kYoungest, share_of_axis));
    curve.points.push_back(point_of(done, shape, age, age / 8, text_survival));
    curve.in_full.push_back(point_of(done, shape, age, age / 8, full_survival));
  }
  MANKAI_TRY(measure_tail(curve, static_cast<double>(oldest), make, context));
  return curve;
}

Side worst_side(const PairCurve& curve, const Findings& findings) {
  const Point worst = worst_of(curve.points, findings.tolerance("fading-{}").absolute);
  const Shape whole{.s = curve.shape.s, .n = curve.shape.n};
  const double glossed_over = text_survival(whole, worst.age) - glossed_survival(whole, worst.age);
  return {equals(worst.formula).with_formula_error(glossed_over), worst.measured};
}

// The authors' code has a fingerprint per place, the text one per event. That matters for n = 32.
Result<void> claim_fading(const PairCurve& curve, const std::string& id, const std::string& place,
                          const Context& context, Findings& findings) {
  const Entry entry("fading-{}", id, shown(curve.shape), curve.shape.b, curve.points.size(), place);
  const Side text = worst_side(curve, findings);
  if (curve.shape.b != 8 || curve.shape.n != kPlacesPerEvent.back()) {
    findings.judged(entry, text.expected, text.measured);
    return {};
  }
  const auto make = [&curve]() -> Result<CodeArray> { return CodeArray(curve.shape); };
  MANKAI_ASSIGN(const auto of_code, measure_pair_curve(curve.shape, make, context));
  findings.depends(entry, worst_side(of_code, findings), text);
  return {};
}

Result<void> claim_curve(const PairCurve& curve, const Context& context, Findings& findings) {
  const std::string id = fmt::format("{}-{}", curve.shape.b, curve.shape.n);
  const std::string place =
      curve.shape.b == 8 ? "Third graph (b = 8)" : "Practical choices, b = 16; no graph in the text";
  MANKAI_TRY(claim_fading(curve, id, place, context, findings));
  const Point worst_of_full = worst_of(curve.in_full, findings.tolerance("fading-exact-{}").absolute);
  findings.judged(
      {"fading-exact-{}", id, shown(curve.shape), curve.shape.b, curve.in_full.size(), worst_of_full.age, place},
      equals(worst_of_full.formula), worst_of_full.measured);
  if (curve.shape.b == 8) {
    const Point& middle = curve.points[curve.points.size() - 1 - kTailPoints / 2];
    const Point& last = curve.points.back();
    findings.judged(
        {"does-not-approach-zero-{}", curve.shape.n, shown(curve.shape), last.age, middle.age, last.measured.value},
        at_least(findings.threshold("does-not-approach-zero-{}")), quotient(last.measured, middle.measured));
  }
  return {};
}

Figure figure_of(const std::vector<PairCurve>& curves, std::uint32_t b, Figure figure) {
  for (const PairCurve& curve : curves) {
    if (curve.shape.b != b) {
      continue;
    }
    const std::string n = fmt::format("{}", curve.shape.n);
    for (std::size_t i = 0; i < curve.points.size(); ++i) {
      const Point& point = curve.points[i];
      figure.rows.push_back({n, b, point.age, point.formula, curve.in_full[i].formula,
                             point.measured.value > 0 ? point.measured.value : NAN, point.measured.error});
    }
    figure.add_series("formula", shown(curve.shape), {.x = "t", .y = "measured", .error = "error", .only = {{"n", n}}});
  }
  return figure;
}

// Compares the number of known events for n = 2 with 32-bit integers and with 8-bit fingerprints.
Result<void> measure_smaller(const Context& context, Findings& findings) {
  const Shape whole{.n = 2};
  const Shape prints{.n = 2, .b = 8};
  const std::size_t ages = static_cast<std::size_t>(text_half_life(whole)) * 2;
  const std::uint64_t looks = context.trials(4000, 100'000);
  MANKAI_ASSIGN(const auto of_whole, survey(whole, ages, looks, context));
  MANKAI_ASSIGN(const auto of_prints, survey(prints, ages, looks, context));
  const auto known = [](const Survey& survey) { return mean(survey.known_in_total); };
  findings.judged("smaller-without-less", at_least(1), quotient(known(of_prints), known(of_whole)));
  return {};
}

}  // namespace

Result<void> measure_fingerprints(const Context& context, Findings& findings) {
  constexpr std::array<std::uint32_t, 2> kBits = {8, 16};
  std::vector<PairCurve> curves;
  for (const std::uint32_t b : kBits) {
    for (const std::uint32_t n : kPlacesPerEvent) {
      const Shape shape{.n = n, .b = b};
      MANKAI_ASSIGN(auto curve, measure_pair_curve(shape, [&] { return make_array(shape, context); }, context));
      MANKAI_TRY(claim_curve(curve, context, findings));
      curves.push_back(std::move(curve));
    }
  }
  for (const std::uint32_t b : kBits) {
    findings.add(figure_of(curves, b, findings.figure(fmt::format("survival-fingerprints-{}", b))));
  }
  return measure_smaller(context, findings);
}

}  // namespace mankai::lab::forgetting
