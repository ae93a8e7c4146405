#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "lab/fading/arrays.hpp"
#include "lab/fading/parts.hpp"

namespace mankai::lab::forgetting {
namespace {

constexpr const char* kPlace = "Third graph (b = 8)";
constexpr double kLineWidth = 0.01;
// The writers of two places are taken for independent draws.
constexpr double kIndependent = 0.001;
constexpr std::array<std::uint32_t, 6> kPlacesAnEvent = {1, 2, 4, 8, 16, 32};

struct Curve {
  Shape shape;
  std::vector<Point> points;   // beside the text's formula
  std::vector<Point> in_full;  // beside that with what it leaves out
};

Result<Curve> measure_curve(const Shape& shape, const Context& context) {
  context.progress(fmt::format("fingerprints, n = {}, b = {}", shape.n, shape.b));
  constexpr std::size_t kPoints = 24;
  constexpr double kHardly = 0.005;
  const auto oldest = static_cast<std::size_t>(text_age({.s = shape.s, .n = shape.n}, kHardly));
  MANKAI_ASSIGN(const auto done, survey(shape, oldest + 1, context.trials(3000, 20'000), context));
  Curve curve{.shape = shape, .points = {}, .in_full = {}};
  const std::size_t apart = oldest / kPoints;
  for (std::size_t i = 0; i < kPoints; ++i) {
    curve.points.push_back(point_of(done, shape, i * apart, apart / 4, text_survival));
    curve.in_full.push_back(point_of(done, shape, i * apart, apart / 4, full_survival));
  }
  return curve;
}

bool is_off_by_formula(const Curve& curve) {
  double farthest = 0;
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    farthest = std::max(farthest, curve.points[i].formula - curve.in_full[i].formula);
  }
  return farthest > kLineWidth;
}

void claim_curve(const Curve& curve, Findings& findings) {
  const std::string id = fmt::format("{}-{}", curve.shape.b, curve.shape.n);
  const Point worst = worst_of(curve.points, kLineWidth);
  Claim text{.id = "fading-" + id,
             .place = kPlace,
             .claim = fmt::format("phi(t) = 1 - ((1 - p)(1 - f))^n with f = 2^-b is the probability of a yes ({}, b = "
                                  "{}, s = 1000).",
                                  shown(curve.shape), curve.shape.b),
             .formula = fmt::format("at t = {}, the worst of {} points; within a line's width of 0.01", worst.age,
                                    curve.points.size()),
             .expected = {.value = worst.formula, .tolerance = kLineWidth},
             .measured = worst.measured};
  if (is_off_by_formula(curve)) {
    text.recorded = Verdict::refuted;
    text.basis =
        "Places of one event hold one fingerprint: two that the same later event has overwritten match together or "
        "not at all. About n(n-1)/2 times n/2s pairs, of n = 32 in 1000 places eight, so that fewer than n chances "
        "are taken. Another fingerprint for each place, as their code has, would keep the formula.";
  }
  findings.judged(std::move(text));
  const Point worst_of_full = worst_of(curve.in_full, kIndependent);
  findings.judged({.id = "fading-exact-" + id,
                   .place = kPlace,
                   .claim = fmt::format("The same with what the formula leaves out ({}, b = {}, s = 1000).",
                                        shown(curve.shape), curve.shape.b),
                   .formula = fmt::format("an event's collisions with itself, places overwritten by one event, f = 1 / "
                                          "(2^b - 1); the worst of {} points, t = {}",
                                          curve.in_full.size(), worst_of_full.age),
                   .expected = {.value = worst_of_full.formula, .tolerance = kIndependent},
                   .measured = worst_of_full.measured});
}

Figure figure_of(const std::vector<Curve>& curves, std::uint32_t b) {
  Figure figure{.name = fmt::format("survival-fingerprints-{}", b),
                .title = fmt::format("Probability of a yes for several n, b = {}, s = 1000", b),
                .caption =
                    "Chance matches included. Lines are the text's formula, points are measured; the column "
                    "`full` has what the formula leaves out.",
                .x = {.label = "t, events since", .is_logarithmic = true},
                .y = {.label = "probability of a yes", .is_logarithmic = b > 8},
                .columns = {"n", "b", "t", "formula", "full", "measured", "error"}};
  std::size_t colour = 0;
  for (const Curve& curve : curves) {
    if (curve.shape.b != b) {
      continue;
    }
    const std::string n = fmt::format("{}", curve.shape.n);
    for (const Point& point : curve.points) {
      figure.rows.push_back({n, static_cast<double>(b), point.age, point.formula, full_survival(curve.shape, point.age),
                             point.measured.value, point.measured.error});
    }
    figure.series.push_back(
        {.title = shown(curve.shape), .x = "t", .y = "formula", .is_line = true, .only = {{"n", n}}, .colour = colour});
    figure.series.push_back(
        {.title = "", .x = "t", .y = "measured", .error = "error", .only = {{"n", n}}, .colour = colour});
    ++colour;
  }
  return figure;
}

// Half-lives of n = 2 with whole integers and with their fingerprints.
Result<void> measure_smaller(const Context& context, Findings& findings) {
  const Shape whole{.n = 2};
  const Shape prints{.n = 2, .b = 8};
  const std::size_t ages = static_cast<std::size_t>(text_half_life(whole)) * 2;
  const std::uint64_t looks = context.trials(4000, 100'000);
  const auto of_whole = survey(whole, ages, looks, context);
  const auto of_prints = survey(prints, ages, looks, context);
  if (!of_whole || !of_prints) {
    return std::unexpected(of_whole ? of_prints.error() : of_whole.error());
  }
  const auto known = [](const Survey& survey) { return mean(survey.known_in_total); };
  findings.judged({.id = "smaller-without-less",
                   .place = "Approximate matching",
                   .claim = "Entries of fewer bits decrease the storage without decreasing the capacity (n = 2, 8 bits "
                            "for 32).",
                   .formula = "events known of the last 2 t50, over those with 32 bits; at least 1, of a quarter of "
                              "the bytes",
                   .unit = "times",
                   .expected = {.value = 1, .relation = Relation::at_least},
                   .measured = quotient(known(*of_prints), known(*of_whole)),
                   .reason = "What it costs is the plateau."});
  return {};
}

}  // namespace

Result<void> measure_fingerprints(const Context& context, Findings& findings) {
  constexpr std::array<std::uint32_t, 2> kBits = {8, 16};
  std::vector<Curve> curves;
  for (const std::uint32_t b : kBits) {
    for (const std::uint32_t n : kPlacesAnEvent) {
      MANKAI_ASSIGN(auto curve, measure_curve({.n = n, .b = b}, context));
      claim_curve(curve, findings);
      curves.push_back(std::move(curve));
    }
  }
  for (const std::uint32_t b : kBits) {
    findings.add(figure_of(curves, b));
  }
  return measure_smaller(context, findings);
}

}  // namespace mankai::lab::forgetting
