#include "lab/basket_gate/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

#include "mankai/base/assert.hpp"

namespace mankai::lab::basket {

double capacity_at_half(const GateShape& shape) noexcept {
  return static_cast<double>(shape.cells) * std::numbers::ln2 / shape.phase;
}

Result<Gate> make_gate(const GateShape& shape, const Context& context) {
  // A filter is asked for by keys and rate: those that need just this array. One key less keeps rounding out of it.
  MANKAI_ASSIGN(auto filter, Bloom::create({.keys = static_cast<std::uint64_t>(capacity_at_half(shape)) - 1,
                                            .fpr = std::exp2(-static_cast<double>(shape.phase)),
                                            .k = shape.phase,
                                            .addressing = shape.addressing,
                                            .hash = {.kind = HashKind::xxh3, .seed = {context.seed, 0}}}));
  MANKAI_ASSERT(filter.cell_count() == shape.cells && filter.phase() == shape.phase);
  return Gate(std::move(filter), context.fault);
}

void insert_strangers(Gate& gate, std::uint64_t count, Random& random) {
  for (std::uint64_t i = 0; i < count; ++i) {
    gate.insert({random.next()});
  }
}

std::uint64_t fill_to(Gate& gate, double saturation, Random& random) {
  const auto cells = static_cast<double>(gate.filter().cell_count());
  const double phase = gate.filter().phase();
  std::uint64_t inserted = 0;
  for (double now = 0; now < saturation; now = gate.filter().saturation()) {
    // A tenth less than what is expected to be missing, so that the last steps are single keys.
    constexpr double kCareful = 0.9;
    const double missing = cells / phase * std::log((1 - now) / (1 - saturation));
    const auto step = static_cast<std::uint64_t>(std::max(1.0, kCareful * missing));
    insert_strangers(gate, step, random);
    inserted += step;
  }
  return inserted;
}

Estimate strangers_let_through(const Gate& gate, std::uint64_t trials, Random& random) {
  constexpr std::size_t kBatch = 4096;
  std::vector<Digest> digests(kBatch);
  const auto outcomes = std::make_unique<std::array<bool, kBatch>>();
  std::uint64_t yes = 0;
  for (std::uint64_t asked = 0; asked < trials; asked += kBatch) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kBatch, trials - asked));
    std::generate_n(digests.begin(), count, [&random] { return Digest{random.next()}; });
    gate.may_contain(std::span(digests).first(count), std::span(*outcomes).first(count));
    yes += static_cast<std::uint64_t>(std::count(outcomes->begin(), outcomes->begin() + count, true));
  }
  return share(yes, trials);
}

double saturation_deviation(double probes, double cells) noexcept {
  const double x = probes / cells;
  return std::sqrt((std::exp(-x) - (1 + x) * std::exp(-2 * x)) / cells);
}

Estimate formula_rate(double keys, const GateShape& shape) noexcept {
  const auto cells = static_cast<double>(shape.cells);
  const double phase = shape.phase;
  const double saturation = -std::expm1(phase * keys * std::log1p(-1 / cells));
  const double rate = std::pow(saturation, phase);
  return {.value = rate, .error = rate * phase / saturation * saturation_deviation(phase * keys, cells)};
}

Estimate widened(const Estimate& estimate, double error) noexcept {
  return {.value = estimate.value, .error = std::hypot(estimate.error, error)};
}

std::string percent(double share) {
  constexpr double kHundred = 100;
  return fmt::format("{:.0f} %", kHundred * share);
}

std::string_view shown(BloomAddressing addressing) noexcept {
  return addressing == BloomAddressing::range ? "range" : "literal fields";
}

}  // namespace mankai::lab::basket
