#include <algorithm>
#include <cmath>
#include <vector>

#include "lab/basket_gate/gate.hpp"
#include "lab/parts.hpp"

namespace mankai::lab::basket {
namespace {

struct Load {
  GateShape shape;
  double keys = 0;
  double saturation = 0;
  Estimate rate;

  [[nodiscard]] Estimate formula() const { return formula_rate(keys, shape); }
  [[nodiscard]] Estimate rate_of_any_array() const { return widened(rate, formula().error); }
};

Result<Load> measure_load(const GateShape& shape, std::uint64_t keys, const Context& context, Random& random) {
  MANKAI_ASSIGN(auto gate, make_gate(shape, context));
  insert_absent(gate, keys, random);
  const std::uint64_t trials = context.trials(std::uint64_t{1} << 22, std::uint64_t{1} << 26);
  return Load{.shape = shape,
              .keys = static_cast<double>(keys),
              .saturation = gate.filter().saturation(),
              .rate = absent_let_through(gate, trials, random)};
}

Result<std::vector<Load>> measure_loads(const std::vector<GateShape>& shapes, std::uint64_t keys,
                                        const Context& context, Random& random) {
  std::vector<Load> loads;
  for (const GateShape& shape : shapes) {
    MANKAI_ASSIGN(auto load, measure_load(shape, keys, context, random));
    loads.push_back(load);
  }
  return loads;
}

Figure figure_of(const std::vector<Load>& loads, Figure figure) {
  for (const Load& load : loads) {
    figure.rows.push_back({load.shape.cells, load.shape.phase, load.keys, load.saturation, load.formula().value,
                           load.rate.value, load.rate.error});
  }
  return figure;
}

Estimate ratio(const Load& a, const Load& b) { return quotient(a.rate_of_any_array(), b.rate_of_any_array()); }

Result<void> measure_array(const Context& context, Findings& findings, Random& random) {
  constexpr std::uint32_t kPhase = 5;
  const auto keys = static_cast<std::uint64_t>(std::llround(capacity_at_half({.phase = kPhase})));
  MANKAI_ASSIGN(const auto loads, measure_loads({{.cells = kCells / 4, .phase = kPhase},
                                                 {.cells = kCells / 2, .phase = kPhase},
                                                 {.cells = kCells, .phase = kPhase},
                                                 {.cells = kCells * 2, .phase = kPhase},
                                                 {.cells = kCells * 4, .phase = kPhase}},
                                                keys, context, random));
  Estimate largest{.value = 0};
  for (std::size_t i = 1; i < loads.size(); ++i) {
    const Estimate step = ratio(loads[i], loads[i - 1]);
    largest = step.value > largest.value ? step : largest;
  }
  findings.judged("larger-array", at_most(1), largest);
  for (const Load& load : loads) {
    findings.judged({"array-{}", load.shape.cells, keys, kPhase}, equals(load.formula().value),
                    load.rate_of_any_array());
  }
  findings.add(figure_of(loads, findings.figure({"array-size", keys, kPhase})));
  return {};
}

void judge_phases(const std::vector<Load>& loads, Findings& findings) {
  const auto at = [&loads](std::uint32_t phase) -> const Load& {
    return *std::ranges::find_if(loads, [phase](const Load& load) { return load.shape.phase == phase; });
  };
  const Load& half = at(10);
  findings.depends("higher-phase", {at_most(1), ratio(half, at(5))}, {at_most(1), ratio(at(20), half)});
  findings.judged(
      "half-is-where-the-best-is", equals(0.5),
      Estimate{.value = half.saturation,
               .error = fill_deviation(10 * half.keys / static_cast<double>(kCells), static_cast<double>(kCells))});
  Estimate best{.value = HUGE_VAL};
  for (const Load& load : loads) {
    const Estimate other = ratio(load, half);
    best = load.shape.phase != 10 && other.value < best.value ? other : best;
  }
  findings.judged("half-is-best", at_least(1), best);
}

Result<void> measure_optimum(const Context& context, Findings& findings, Random& random) {
  std::vector<GateShape> shapes;
  for (const std::uint32_t phase : {4U, 5U, 6U, 8U, 10U, 12U, 14U, 16U, 20U}) {
    shapes.push_back({.phase = phase});
  }
  const auto keys = static_cast<std::uint64_t>(std::llround(capacity_at_half({.phase = 10})));
  MANKAI_ASSIGN(const auto loads, measure_loads(shapes, keys, context, random));
  judge_phases(loads, findings);
  findings.add(figure_of(loads, findings.figure({"optimum", keys})));
  return {};
}

Result<void> measure_capacity(const Context& context, Findings& findings, Random& random) {
  Figure figure = findings.figure("capacity");
  for (const std::uint32_t phase : kPhases) {
    const GateShape shape{.phase = phase};
    MANKAI_ASSIGN(auto gate, make_gate(shape, context));
    const auto cells = static_cast<double>(kCells);
    const auto keys = static_cast<double>(fill_to(gate, 0.5, random));
    // At half full a key sets phase / 2 new bits, which converts the saturation's deviation into keys.
    const double deviation = fill_deviation(phase * keys / cells, cells) * cells * 2 / phase;
    findings.judged({"capacity-{}", phase}, equals(capacity_at_half(shape)),
                    Estimate{.value = keys, .error = deviation});
    figure.rows.push_back(
        {phase, capacity_at_half(shape), keys, deviation, cells / keys, std::exp2(-static_cast<double>(phase))});
  }
  findings.add(std::move(figure));
  return {};
}

}  // namespace

Result<void> measure_tuning(const Context& context, Findings& findings) {
  Random random(context.seed);
  for (const auto measure : {measure_array, measure_optimum, measure_capacity}) {
    MANKAI_TRY(measure(context, findings, random));
  }
  return {};
}

}  // namespace mankai::lab::basket
