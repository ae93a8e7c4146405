#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "lab/fading/arrays.hpp"
#include "lab/parts.hpp"

namespace mankai::lab::forgetting {
namespace {

constexpr std::array<std::uint32_t, 6> kPlacesPerEvent = {1, 2, 4, 8, 16, 32};

struct PairCurve {
  Shape shape;
  std::vector<Point> points;   // compared with the text's formula
  std::vector<Point> in_full;  // compared with full_survival
};

Result<PairCurve> measure_pair_curve(const Shape& shape, const Context& context) {
  context.progress(fmt::format("fingerprints, n = {}, b = {}", shape.n, shape.b));
  constexpr std::size_t kPoints = 24;
  constexpr double kHardly = 0.005;
  const auto oldest = static_cast<std::size_t>(text_age({.s = shape.s, .n = shape.n}, kHardly));
  MANKAI_ASSIGN(const auto done, survey(shape, oldest + 1, context.trials(3000, 20'000), context));
  PairCurve curve{.shape = shape, .points = {}, .in_full = {}};
  const std::size_t apart = oldest / kPoints;
  for (std::size_t i = 0; i < kPoints; ++i) {
    curve.points.push_back(point_of(done, shape, i * apart, apart / 4, text_survival));
    curve.in_full.push_back(point_of(done, shape, i * apart, apart / 4, full_survival));
  }
  return curve;
}

void claim_curve(const PairCurve& curve, Findings& findings) {
  const std::string id = fmt::format("{}-{}", curve.shape.b, curve.shape.n);
  const Point worst = worst_of(curve.points, findings.tolerance("fading-{}").absolute);
  findings.judged({"fading-{}", id, shown(curve.shape), curve.shape.b, worst.age, curve.points.size()},
                  equals(worst.formula), worst.measured);
  const Point worst_of_full = worst_of(curve.in_full, findings.tolerance("fading-exact-{}").absolute);
  findings.judged({"fading-exact-{}", id, shown(curve.shape), curve.shape.b, curve.in_full.size(), worst_of_full.age},
                  equals(worst_of_full.formula), worst_of_full.measured);
}

Figure figure_of(const std::vector<PairCurve>& curves, std::uint32_t b, Figure figure) {
  for (const PairCurve& curve : curves) {
    if (curve.shape.b != b) {
      continue;
    }
    const std::string n = fmt::format("{}", curve.shape.n);
    for (const Point& point : curve.points) {
      figure.rows.push_back({n, b, point.age, point.formula, full_survival(curve.shape, point.age),
                             point.measured.value, point.measured.error});
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
      MANKAI_ASSIGN(auto curve, measure_pair_curve({.n = n, .b = b}, context));
      claim_curve(curve, findings);
      curves.push_back(std::move(curve));
    }
  }
  for (const std::uint32_t b : kBits) {
    findings.add(figure_of(curves, b, findings.figure(fmt::format("survival-fingerprints-{}", b))));
  }
  return measure_smaller(context, findings);
}

}  // namespace mankai::lab::forgetting
