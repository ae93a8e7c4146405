#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "lab/basket_gate/gate.hpp"
#include "lab/basket_gate/parts.hpp"

namespace mankai::lab::basket {
namespace {

constexpr const char* kPlace = "Tuning the Bloom filter";

// One gate with so many keys: how full it gets and how often it is wrong.
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
  insert_strangers(gate, keys, random);
  const std::uint64_t trials = context.trials(std::uint64_t{1} << 22, std::uint64_t{1} << 26);
  return Load{.shape = shape,
              .keys = static_cast<double>(keys),
              .saturation = gate.filter().saturation(),
              .rate = strangers_let_through(gate, trials, random)};
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

Figure figure_of(const std::vector<Load>& loads, Figure figure, const std::string& x) {
  figure.columns = {"bits", "phase", "keys", "saturation", "formula", "measured", "error"};
  for (const Load& load : loads) {
    figure.rows.push_back({static_cast<double>(load.shape.cells), static_cast<double>(load.shape.phase), load.keys,
                           load.saturation, load.formula().value, load.rate.value, load.rate.error});
  }
  figure.series = {{.title = "formula", .x = x, .y = "formula", .is_line = true},
                   {.title = "measured", .x = x, .y = "measured", .error = "error"}};
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
  findings.judged({.id = "larger-array",
                   .place = kPlace,
                   .claim = "The larger the bit array, the less likely a false positive.",
                   .formula = "largest rate(2N) / rate(N) over four doublings, same keys, phase 5; formula: 0.33",
                   .expected = {.value = 1, .relation = Relation::at_most},
                   .measured = largest});
  for (const Load& load : loads) {
    findings.judged({.id = fmt::format("array-{}", load.shape.cells),
                     .place = kPlace,
                     .claim = fmt::format("An array of {} bits for {} keys at phase {} has the formula's rate.",
                                          load.shape.cells, keys, kPhase),
                     .formula = "(1 - (1 - 1/N)^(phase n))^phase",
                     .expected = {.value = load.formula().value},
                     .measured = load.rate_of_any_array()});
  }
  findings.add(figure_of(loads,
                         {.name = "array-size",
                          .title = "False positives over the size of the array",
                          .caption = fmt::format("{} keys at phase {}.", keys, kPhase),
                          .x = {.label = "bits in the array", .is_logarithmic = true},
                          .y = {.label = "chance of a false positive", .is_logarithmic = true}},
                         "bits"));
  return {};
}

void judge_phases(const std::vector<Load>& loads, Findings& findings) {
  const auto at = [&loads](std::uint32_t phase) -> const Load& {
    return *std::ranges::find_if(loads, [phase](const Load& load) { return load.shape.phase == phase; });
  };
  const Load& half = at(10);
  findings.judged({.id = "higher-phase-to-half",
                   .place = kPlace,
                   .claim = "The higher the phase, the less likely a false positive: from 5 to 10, where half of the "
                            "bits are set.",
                   .formula = "rate(10) / rate(5), 72682 keys in 2^20 bits; formula: 0.45",
                   .expected = {.value = 1, .relation = Relation::at_most},
                   .measured = ratio(half, at(5))});
  findings.judged({.id = "higher-phase-past-half",
                   .place = kPlace,
                   .claim = "The higher the phase, the less likely a false positive: from 10 to 20, past half.",
                   .formula = "rate(20) / rate(10), 72682 keys in 2^20 bits; formula: 0.75^20 / 0.5^10 = 3.25",
                   .expected = {.value = 1, .relation = Relation::at_most},
                   .measured = ratio(at(20), half),
                   .recorded = Verdict::refuted,
                   .basis = "The formula says so: with the keys given, more probes fill the array, and past half of "
                            "its bits that costs more than it gains. The sentence holds at a fixed saturation only."});
  findings.judged({.id = "half-is-where-the-best-is",
                   .place = kPlace,
                   .claim = "With (N/n) ln 2 probes, half of the bits are set.",
                   .formula = "1 - (1 - 1/N)^(10 n) at n = N ln 2 / 10",
                   .expected = {.value = 0.5},
                   .measured = {.value = half.saturation,
                                .error = saturation_deviation(10 * half.keys, static_cast<double>(kCells))}});
  Estimate best{.value = HUGE_VAL};
  for (const Load& load : loads) {
    const Estimate other = ratio(load, half);
    best = load.shape.phase != 10 && other.value < best.value ? other : best;
  }
  findings.judged({.id = "half-is-best",
                   .place = kPlace,
                   .claim = "Bloom's optimum is where half of the bits are set: no other phase does better with the "
                            "same keys in the same array.",
                   .formula = "smallest rate(phase) / rate(10) over the other phases; formula: 1.10, at 8",
                   .expected = {.value = 1, .relation = Relation::at_least},
                   .measured = best,
                   .reason = "The minimum is flat: from 40 % to 60 % set the rate is within a fifth of the best."});
}

Result<void> measure_optimum(const Context& context, Findings& findings, Random& random) {
  std::vector<GateShape> shapes;
  for (const std::uint32_t phase : {4U, 5U, 6U, 8U, 10U, 12U, 14U, 16U, 20U}) {
    shapes.push_back({.phase = phase});
  }
  const auto keys = static_cast<std::uint64_t>(std::llround(capacity_at_half({.phase = 10})));
  MANKAI_ASSIGN(const auto loads, measure_loads(shapes, keys, context, random));
  judge_phases(loads, findings);
  findings.add(figure_of(loads,
                         {.name = "optimum",
                          .title = "The optimum: half of the bits set",
                          .caption = fmt::format("{} keys in 2^20 bits. At phase 10 half of the bits are set.", keys),
                          .x = {.label = "phase"},
                          .y = {.label = "chance of a false positive"}},
                         "phase"));
  return {};
}

Result<void> measure_capacity(const Context& context, Findings& findings, Random& random) {
  Figure figure{.name = "capacity",
                .title = "Cookies that 2^20 bits hold at 50 % saturation",
                .caption = "N ln 2 / phase, and how many random cookies it took to set half of the bits.",
                .x = {.label = "phase"},
                .y = {.label = "cookies"},
                .columns = {"phase", "formula", "measured", "error", "bits a cookie", "false positives"}};
  for (const std::uint32_t phase : kPhases) {
    const GateShape shape{.phase = phase};
    MANKAI_ASSIGN(auto gate, make_gate(shape, context));
    const auto cells = static_cast<double>(kCells);
    const auto keys = static_cast<double>(fill_to(gate, 0.5, random));
    // A key sets phase / 2 new bits there, so that is what the saturation's deviation is worth.
    const double deviation = saturation_deviation(phase * keys, cells) * cells * 2 / phase;
    findings.judged({.id = fmt::format("capacity-{}", phase),
                     .place = kPlace,
                     .claim = fmt::format("The phase changes the capacity: 2^20 bits at phase {} and 50 % saturation "
                                          "hold N ln 2 / phase cookies.",
                                          phase),
                     .formula = fmt::format("2^20 ln 2 / {}", phase),
                     .unit = "cookies",
                     .expected = {.value = std::round(capacity_at_half(shape)), .tolerance = 1},
                     .measured = {.value = keys, .error = deviation}});
    figure.rows.push_back({static_cast<double>(phase), capacity_at_half(shape), keys, deviation, cells / keys,
                           std::exp2(-static_cast<double>(phase))});
  }
  figure.series = {{.title = "N ln 2 / phase", .x = "phase", .y = "formula", .is_line = true},
                   {.title = "measured", .x = "phase", .y = "measured", .error = "error"}};
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
