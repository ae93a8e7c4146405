#include <cmath>

#include "lab/basket_gate/gate.hpp"
#include "lab/parts.hpp"

namespace mankai::lab::basket {
namespace {

constexpr GateShape kShape = {.phase = 10};
// Each step fills a quarter of the capacity at half saturation; baskets are emptied by the next step.
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

void judge_end(const Gate& gate, const Estimate& rate, Findings& findings) {
  const double keys = kCapacities * capacity_at_half(kShape);
  const Estimate formula = formula_rate(keys, kShape);
  findings.judged("drift-of-saturation", equals(1 - std::exp2(-4.0)),
                  Estimate{.value = gate.filter().saturation(),
                           .error = fill_deviation(kShape.phase * keys / static_cast<double>(kCells),
                                                   static_cast<double>(kCells))});
  findings.judged("drift-of-rate", equals(std::pow(1 - std::exp2(-4.0), kShape.phase)), widened(rate, formula.error));
}

}  // namespace

Result<void> measure_drift(const Context& context, Findings& findings) {
  MANKAI_ASSIGN(auto gate, make_gate(kShape, context));
  Random random(context.seed);
  Figure figure = findings.figure("drift");
  const auto step = static_cast<std::uint64_t>(capacity_at_half(kShape) / kLooksPerCapacity);
  const std::uint64_t trials = context.trials(100'000, 4'000'000);
  Estimate rate;
  Estimate rebuilt_rate;
  for (int look = 1; look <= kLooks; ++look) {
    insert_absent(gate, step, random);
    rate = absent_let_through(gate, trials, random);
    MANKAI_ASSIGN(auto rebuilt, make_gate(kShape, context));
    insert_absent(rebuilt, step, random);
    rebuilt_rate = absent_let_through(rebuilt, trials, random);
    if (look == kLooksPerCapacity) {  // as if no basket had been emptied yet
      constexpr const char* kAccurate = "accurate-about-content";
      findings.judged(kAccurate, at_most(findings.threshold(kAccurate)), rate);
    }
    const double ever = static_cast<double>(look) / kLooksPerCapacity;
    figure.rows.push_back(row("never rebuilt", ever, gate, ever, rate));
    figure.rows.push_back(row("rebuilt", ever, rebuilt, 1.0 / kLooksPerCapacity, rebuilt_rate));
  }
  judge_end(gate, rate, findings);
  constexpr const char* kEmptied = "accurate-when-baskets-are-emptied";
  const Expected few = at_most(findings.threshold(kEmptied));
  findings.depends(kEmptied, {few, rebuilt_rate}, {few, rate});
  findings.add(std::move(figure));
  return {};
}

}  // namespace mankai::lab::basket
