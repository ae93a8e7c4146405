#include <fmt/format.h>

#include <cmath>

#include "lab/basket_gate/gate.hpp"
#include "lab/basket_gate/parts.hpp"

namespace mankai::lab::basket {
namespace {

constexpr const char* kSilent = "How it works, left out";
constexpr GateShape kShape = {.phase = 10};
// Baskets filled between two looks, as a share of the capacity at half; each is emptied by the next look.
constexpr int kLooksPerCapacity = 4;
constexpr int kCapacities = 4;
constexpr int kLooks = kCapacities * kLooksPerCapacity;

std::vector<Cell> row(const std::string& gate, double filled, const Gate& asked, double ever, const Estimate& rate) {
  return {gate,
          filled,
          1 - std::exp2(-ever),
          asked.filter().saturation(),
          formula_rate(ever * capacity_at_half(kShape), kShape).value,
          rate.value,
          rate.error};
}

Figure empty_figure() {
  Figure figure{.name = "drift",
                .title = "Baskets get emptied, bits do not",
                .caption =
                    "2^20 bits at phase 10; the unit across is the 72 682 baskets that half of the bits hold. "
                    "One gate is never rebuilt; the other is rebuilt from the database at every look, from "
                    "the baskets that are filled then. Lines are the formulas.",
                .x = {.label = "baskets ever filled, in capacities at 50 %"},
                .y = {.label = "saturation, chance of a false positive"},
                .columns = {"gate", "filled", "saturation, formula", "saturation", "rate, formula", "rate", "error"}};
  const auto add = [&figure](const std::string& gate, const std::string& y, std::size_t colour) {
    const bool is_rate = y == "rate";
    figure.series.push_back({.title = "",
                             .x = "filled",
                             .y = y + ", formula",
                             .is_line = true,
                             .only = {{"gate", gate}},
                             .colour = colour});
    figure.series.push_back({.title = gate + ": " + y,
                             .x = "filled",
                             .y = y,
                             .error = is_rate ? "error" : "",
                             .is_hollow = !is_rate,
                             .only = {{"gate", gate}},
                             .colour = colour});
  };
  add("never rebuilt", "saturation", 1);
  add("never rebuilt", "rate", 3);
  add("rebuilt", "saturation", 0);
  add("rebuilt", "rate", 2);
  return figure;
}

void judge_end(const Gate& gate, const Estimate& rate, Findings& findings) {
  const double keys = kCapacities * capacity_at_half(kShape);
  const Estimate formula = formula_rate(keys, kShape);
  findings.judged({.id = "drift-of-saturation",
                   .place = kSilent,
                   .claim = "Bits of emptied baskets stay set, so the saturation follows the baskets ever filled, not "
                            "those that are.",
                   .formula = "1 - 2^-4 after four capacities",
                   .expected = {.value = 1 - std::exp2(-4.0)},
                   .measured = {.value = gate.filter().saturation(),
                                .error = saturation_deviation(kShape.phase * keys, static_cast<double>(kCells))}});
  findings.judged({.id = "drift-of-rate",
                   .place = kSilent,
                   .claim = "With it goes the rate of false positives.",
                   .formula = "(1 - 2^-4)^10 after four capacities",
                   .expected = {.value = std::pow(1 - std::exp2(-4.0), kShape.phase)},
                   .measured = widened(rate, formula.error)});
  findings.judged({.id = "accurate-about-content",
                   .place = "What we want to do",
                   .claim = "The filter tells with a high degree of accuracy that a basket has content (read: false "
                            "positives stay at 1 % or below), baskets being emptied and the array never rebuilt.",
                   .formula = "(1 - 2^-4)^10 = 0.52 after four capacities",
                   .expected = {.value = 0.01, .relation = Relation::at_most},
                   .measured = widened(rate, formula.error),
                   .recorded = Verdict::refuted,
                   .basis = "The formula says so: the paper has no way to empty a basket, and bits only get more."});
}

}  // namespace

Result<void> measure_drift(const Context& context, Findings& findings) {
  auto gate = make_gate(kShape, context);
  if (!gate) {
    return std::unexpected(gate.error());
  }
  Random random(context.seed);
  Figure figure = empty_figure();
  const auto step = static_cast<std::uint64_t>(capacity_at_half(kShape) / kLooksPerCapacity);
  const std::uint64_t trials = context.trials(100'000, 4'000'000);
  Estimate rate;
  Estimate rebuilt_rate;
  for (int look = 1; look <= kLooks; ++look) {
    insert_strangers(*gate, step, random);
    rate = strangers_let_through(*gate, trials, random);
    auto rebuilt = make_gate(kShape, context);
    if (!rebuilt) {
      return std::unexpected(rebuilt.error());
    }
    // What is filled now: this step's baskets.
    insert_strangers(*rebuilt, step, random);
    rebuilt_rate = strangers_let_through(*rebuilt, trials, random);
    const double ever = static_cast<double>(look) / kLooksPerCapacity;
    figure.rows.push_back(row("never rebuilt", ever, *gate, ever, rate));
    figure.rows.push_back(row("rebuilt", ever, *rebuilt, 1.0 / kLooksPerCapacity, rebuilt_rate));
  }
  judge_end(*gate, rate, findings);
  findings.judged({.id = "rebuild-restores",
                   .place = kSilent,
                   .claim = "Rebuilt from the database now and then, the gate keeps the rate of the baskets that are "
                            "filled.",
                   .formula = "at most 0.5^10 with a quarter of the capacity filled",
                   .expected = {.value = std::exp2(-10.0), .relation = Relation::at_most},
                   .measured = rebuilt_rate});
  findings.add(std::move(figure));
  return {};
}

}  // namespace mankai::lab::basket
