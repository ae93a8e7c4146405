#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "lab/fading/arrays.hpp"
#include "lab/parts.hpp"

namespace mankai::lab::forgetting {
namespace {

constexpr const char* kFirstGraph = "First graph (s = 1000)";
constexpr const char* kSecondGraph = "Second graph (s proportional to log2 n)";
constexpr std::uint64_t kPlaces = 1000;
constexpr double kHalf = 0.5;

struct Curve {
  Shape shape;
  Survey survey;
  std::vector<Point> points;
  Estimate half_life;
  Estimate capacity;  // number of events known at a time
};

// Share of the oldest events that are looked up. Those that are older, so many times s / n, are not measured.
constexpr double kHardly = 0.001;

std::size_t oldest(const Shape& shape) { return static_cast<std::size_t>(text_age(shape, kHardly)) + 1; }

std::vector<Point> points_of(const Shape& shape, const Survey& survey, Formula formula) {
  constexpr std::size_t kPoints = 24;
  const std::size_t apart = survey.known.size() / kPoints;
  std::vector<Point> points;
  for (std::size_t i = 0; i < kPoints; ++i) {
    points.push_back(point_of(survey, shape, i * apart, apart / 4, formula));
  }
  return points;
}

Result<Curve> measure_curve(const Shape& shape, const Context& context) {
  context.progress(fmt::format("survival, n = {}, s = {}", shape.n, shape.s));
  MANKAI_ASSIGN(auto done, survey(shape, oldest(shape), context.trials(1000, 20'000), context));
  Curve curve{.shape = shape, .survey = std::move(done), .points = {}, .half_life = {}, .capacity = {}};
  curve.points = points_of(shape, curve.survey, text_survival);
  curve.half_life = crossing(curve.survey, shape, kHalf);
  curve.capacity = mean(curve.survey.known_in_total);
  return curve;
}

Result<std::vector<Curve>> measure_curves(std::span<const Shape> shapes, const Context& context) {
  std::vector<Curve> curves;
  for (const Shape& shape : shapes) {
    MANKAI_ASSIGN(auto curve, measure_curve(shape, context));
    curves.push_back(std::move(curve));
  }
  return curves;
}

Figure figure_of(const std::vector<Curve>& curves, Figure figure) {
  for (const Curve& curve : curves) {
    const std::string n = fmt::format("{}", curve.shape.n);
    for (const Point& point : curve.points) {
      figure.rows.push_back({n, curve.shape.s, point.age, point.formula, point.measured.value, point.measured.error});
    }
    figure.add_series("formula", shown(curve.shape), {.x = "t", .y = "measured", .error = "error", .only = {{"n", n}}});
  }
  return figure;
}

void claim_curve(const Curve& curve, const char* place, const std::string& id, Findings& findings) {
  const Point worst = worst_of(curve.points, findings.tolerance("survival-{}").absolute);
  findings.judged({"survival-{}", id, place, shown(curve.shape), curve.shape.s, worst.age, curve.points.size()},
                  equals(worst.formula), worst.measured);
  const double half_life = text_half_life(curve.shape);
  findings.judged(
      {"half-life-{}", id, place, shown(curve.shape), half_life / static_cast<double>(kPlaces)},
      equals(half_life).with_formula_error(std::abs(half_life - age_by(glossed_survival, curve.shape, kHalf))),
      curve.half_life);
  const double capacity = text_capacity(curve.shape);
  const double older = kHardly * static_cast<double>(curve.shape.s) / curve.shape.n;
  findings.judged({"capacity-{}", id, place, shown(curve.shape)}, equals(capacity).with_formula_error(older),
                  curve.capacity);
}

// Compares with full_survival, without tolerance.
void claim_full(const Curve& curve, Findings& findings) {
  const std::vector<Point> points = points_of(curve.shape, curve.survey, full_survival);
  const Point worst = worst_of(points, 0);
  findings.judged({"survival-exact-{}", curve.shape.n, shown(curve.shape), points.size(), worst.age},
                  equals(worst.formula), worst.measured);
}

// A share that falls by one factor over equal times: known after 2 t, over the square of those known after t. At three
// ages, up to an eighth that is known.
void claim_exponential(const Curve& curve, Findings& findings) {
  std::vector<Point> points;
  for (const double known : {0.7, 0.5, 0.35}) {
    const auto age = static_cast<std::size_t>(text_age(curve.shape, known));
    const Estimate once = curve.survey.survival(age, age / 40);
    const Estimate twice = curve.survey.survival(2 * age, age / 20);
    points.push_back(
        {.age = static_cast<double>(age),
         .measured = quotient(twice, {.value = once.value * once.value, .error = 2 * once.value * once.error}),
         .formula = 1});
  }
  const Point worst = worst_of(points, findings.tolerance("exponential-decay").relative);
  findings.judged({"exponential-decay", worst.age}, equals(1), worst.measured);
}

// Judges the effects that the text omits, at the age where the two formulas differ most.
void claim_gloss(const Curve& curve, Findings& findings) {
  std::size_t age = 0;
  double farthest = 0;
  for (std::size_t t = 1; t < curve.survey.known.size(); ++t) {
    const auto at = static_cast<double>(t);
    const double apart = text_survival(curve.shape, at) - full_survival(curve.shape, at);
    if (apart > farthest) {
      farthest = apart;
      age = t;
    }
  }
  const Point there = point_of(curve.survey, curve.shape, age, age / 20, text_survival);
  findings.judged({"gloss", farthest, age}, at_most(findings.threshold("gloss")),
                  Estimate{.value = there.formula - there.measured.value, .error = there.measured.error});
}

// Returns the greatest value over the one before. Its error is widened as for the worst of so many.
template <class Value>
Estimate greatest_step(const std::vector<Curve>& curves, std::size_t first, const Value& value) {
  Estimate greatest = exact(0);
  for (std::size_t i = first + 1; i < curves.size(); ++i) {
    const Estimate step = quotient(value(curves[i]), value(curves[i - 1]));
    greatest = step.value > greatest.value ? step : greatest;
  }
  greatest.error *= errors_of_worst(curves.size() - 1 - first) / kStandardErrors;
  return greatest;
}

double forgotten_until(const Curve& curve, std::size_t age) {
  double known = 0;
  for (std::size_t i = 0; i <= age; ++i) {
    known += static_cast<double>(curve.survey.known[i]);
  }
  return 1 - known / static_cast<double>((age + 1) * curve.survey.looks);
}

// Returns the first age at which less than this share is known.
double age_of(const Curve& curve, double share_known) {
  constexpr std::size_t kReach = 20;  // a twentieth of the age on both sides
  for (std::size_t age = 0; age + age / kReach < curve.survey.known.size(); ++age) {
    if (curve.survey.survival(age, age / kReach).value < share_known) {
      return static_cast<double>(age);
    }
  }
  return static_cast<double>(curve.survey.known.size());
}

double steepness(const Curve& curve) {
  constexpr double kMost = 0.9;
  constexpr double kFew = 0.1;
  return age_of(curve, kFew) / age_of(curve, kMost);
}

void claim_beginning(const std::vector<Curve>& curves, Findings& findings) {
  constexpr std::size_t kYoung = 20;
  double more = 0;
  std::string shares;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    more += i > 0 && forgotten_until(curves[i], kYoung) > forgotten_until(curves[i - 1], kYoung) ? 1 : 0;
    shares += fmt::format("{}{:.2g}", i > 0 ? ", " : "", forgotten_until(curves[i], kYoung));
  }
  findings.judged({"slow-beginning", shares}, equals(0), exact(more));
}

// The share known at a point over that of the newer point before it, where it exceeds 1 by the most errors.
void claim_newer(const std::vector<Curve>& curves, Findings& findings) {
  Estimate worst = exact(0);
  std::size_t pairs = 0;
  const auto excess = [](const Estimate& ratio) {
    return ratio.error > 0 ? (ratio.value - 1) / ratio.error : -HUGE_VAL;
  };
  for (const Curve& curve : curves) {
    for (std::size_t i = 1; i < curve.points.size(); ++i) {
      const Estimate& newer = curve.points[i - 1].measured;
      const Estimate& older = curve.points[i].measured;
      if (newer.value > 0 && older.value > 0) {
        const Estimate ratio = quotient(older, newer);
        worst = excess(ratio) > excess(worst) ? ratio : worst;
        ++pairs;
      }
    }
  }
  worst.error *= errors_of_worst(pairs) / kStandardErrors;
  findings.judged({"newer-is-remembered-better", pairs}, at_most(1), worst);
}

void claim_shape(const std::vector<Curve>& curves, Findings& findings) {
  std::string ratios;
  for (const Curve& curve : curves) {
    ratios += fmt::format("{}{:.1f}", ratios.empty() ? "" : ", ", steepness(curve));
  }
  findings.judged({"step-function", ratios}, at_most(1),
                  greatest_step(curves, 0, [](const Curve& c) { return exact(steepness(c)); }));
  findings.judged("capacity-decreases", at_most(1),
                  greatest_step(curves, 0, [](const Curve& c) { return c.capacity; }));
}

void claim_log(const std::vector<Curve>& curves, Findings& findings) {
  findings.depends("log-still-decreasing",
                   {at_most(1), greatest_step(curves, 1, [](const Curve& c) { return c.capacity; })},
                   {at_most(1), quotient(curves[1].capacity, curves[0].capacity)});
  const auto [least, most] = std::ranges::minmax(std::span(curves).first(curves.size() - 1), {},
                                                 [](const Curve& c) { return c.capacity.value; });
  findings.judged("log-guide-line", at_most(findings.threshold("log-guide-line")),
                  quotient(most.capacity, least.capacity));
  findings.judged("log-guide-line-64", at_least(findings.threshold("log-guide-line-64")),
                  quotient(most.capacity, curves.back().capacity));
}

// Two recurring events, each directly after the other: how often all places of one are overwritten, over that with one
// hash function less.
Result<void> measure_frequent(const Context& context, Findings& findings) {
  constexpr std::uint64_t kFew = 100;
  const std::uint64_t trials = context.trials(400'000, 8'000'000);
  Estimate before;
  for (const std::uint32_t n : {1U, 2U, 3U}) {
    const Shape shape{.s = kFew, .n = n};
    MANKAI_ASSIGN(auto array, make_array(shape, context));
    const Events events(context.seed);
    std::uint64_t lost = 0;
    for (std::uint64_t i = 0; i < trials; ++i) {
      array.insert(events[2 * i]);
      array.insert(events[2 * i + 1]);
      lost += static_cast<std::uint64_t>(!array.may_contain(events[2 * i]));
    }
    const Estimate overwritten = share(lost, trials);
    if (n > 1) {
      findings.judged({"frequent-{}", n, overwritten.value}, at_most(1), quotient(overwritten, before));
    }
    before = overwritten;
  }
  return {};
}

Figure half_lives(const std::vector<Curve>& fixed, const std::vector<Curve>& growing, const Findings& findings) {
  Figure figure = findings.figure("half-life");
  const auto add = [&figure](const char* graph, const std::vector<Curve>& curves) {
    constexpr double kUnit = kPlaces;
    for (const Curve& curve : curves) {
      figure.rows.push_back({graph, curve.shape.n, text_half_life(curve.shape) / kUnit, curve.half_life.value / kUnit,
                             curve.half_life.error / kUnit, text_capacity(curve.shape) / kUnit,
                             curve.capacity.value / kUnit, curve.capacity.error / kUnit, steepness(curve)});
    }
  };
  add("s", fixed);
  add("s log2 n", growing);
  for (const char* const graph : {"s", "s log2 n"}) {
    for (const char* const what : {"half-life", "capacity"}) {
      figure.add_series(fmt::format("{} by formula", what), fmt::format("{}, {}", what, graph),
                        {.x = "n",
                         .y = fmt::format("{} measured", what),
                         .error = fmt::format("{} error", what),
                         .only = {{"graph", graph}}});
    }
  }
  return figure;
}

std::vector<Shape> shapes_of(std::span<const std::uint32_t> ns, bool is_growing) {
  std::vector<Shape> shapes;
  for (const std::uint32_t n : ns) {
    const double factor = is_growing ? std::log2(n) : 1;
    shapes.push_back({.s = static_cast<std::uint64_t>(std::lround(factor * kPlaces)), .n = n});
  }
  return shapes;
}

}  // namespace

Result<void> measure_survival(const Context& context, Findings& findings) {
  constexpr std::array<std::uint32_t, 6> kFixed = {1, 2, 4, 8, 16, 32};
  constexpr std::array<std::uint32_t, 6> kGrowing = {2, 4, 8, 16, 32, 64};
  MANKAI_ASSIGN(const auto fixed, measure_curves(shapes_of(kFixed, false), context));
  MANKAI_ASSIGN(const auto growing, measure_curves(shapes_of(kGrowing, true), context));
  MANKAI_TRY(measure_frequent(context, findings));
  for (const Curve& curve : fixed) {
    claim_curve(curve, kFirstGraph, fmt::format("{}", curve.shape.n), findings);
    claim_full(curve, findings);
  }
  claim_exponential(fixed.front(), findings);
  if (!context.quick) {
    claim_gloss(fixed.back(), findings);
  }
  claim_newer(fixed, findings);
  claim_beginning(fixed, findings);
  claim_shape(fixed, findings);
  for (const Curve& curve : growing) {
    claim_curve(curve, kSecondGraph, fmt::format("log-{}", curve.shape.n), findings);
  }
  claim_log(growing, findings);
  findings.add(figure_of(fixed, findings.figure("survival")));
  findings.add(figure_of(growing, findings.figure("survival-log")));
  findings.add(half_lives(fixed, growing, findings));
  return {};
}

}  // namespace mankai::lab::forgetting
