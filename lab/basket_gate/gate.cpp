#include "lab/basket_gate/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "mankai/base/assert.hpp"

namespace mankai::lab::basket {

double capacity_at_half(const GateShape& shape) noexcept {
  return static_cast<double>(shape.cells) * std::numbers::ln2 / shape.phase;
}

Result<Gate> make_gate(const GateShape& shape, const Context& context) {
  // Requests keys and rate that give exactly this array; one key less avoids rounding up.
  MANKAI_ASSIGN(auto gate, make_under_test<Bloom>({.keys = static_cast<std::uint64_t>(capacity_at_half(shape)) - 1,
                                                   .fpr = std::exp2(-static_cast<double>(shape.phase)),
                                                   .k = shape.phase,
                                                   .addressing = shape.addressing},
                                                  context));
  MANKAI_ASSERT(gate.filter().cell_count() == shape.cells && gate.filter().phase() == shape.phase);
  return gate;
}

void insert_absent(Gate& gate, std::uint64_t count, Random& random) {
  for (std::uint64_t i = 0; i < count; ++i) {
    gate.insert({random.next()});
  }
}

std::uint64_t fill_to(Gate& gate, double saturation, Random& random) {
  const auto cells = static_cast<double>(gate.filter().cell_count());
  const double phase = gate.filter().phase();
  std::uint64_t inserted = 0;
  for (double now = 0; now < saturation; now = gate.filter().saturation()) {
    // Inserts 10% less than expected, so that the last steps are single keys.
    constexpr double kCareful = 0.9;
    const double missing = cells / phase * std::log((1 - now) / (1 - saturation));
    const auto step = static_cast<std::uint64_t>(std::max(1.0, kCareful * missing));
    insert_absent(gate, step, random);
    inserted += step;
  }
  return inserted;
}

Estimate formula_rate(double keys, const GateShape& shape) noexcept {
  const auto cells = static_cast<double>(shape.cells);
  const double phase = shape.phase;
  const double saturation = -std::expm1(phase * keys * std::log1p(-1 / cells));
  const double rate = std::pow(saturation, phase);
  return {.value = rate, .error = rate * phase / saturation * fill_deviation(phase * keys / cells, cells)};
}

std::string percent(double share) {
  constexpr double kHundred = 100;
  return fmt::format("{:.0f}%", kHundred * share);
}

std::string_view shown(BloomAddressing addressing) noexcept {
  return addressing == BloomAddressing::range ? "range" : "literal fields";
}

}  // namespace mankai::lab::basket
