#include <numbers>

#include "lab/basket_gate/gate.hpp"
#include "lab/parts.hpp"

namespace mankai::lab::basket {
namespace {

Result<void> measure_certainty(const Context& context, Findings& findings) {
  const std::uint64_t baskets = context.trials(20'000, 100'000);
  for (const BloomAddressing addressing : kAddressings) {
    std::uint64_t lost = 0;
    for (const std::uint32_t phase : kPhases) {
      MANKAI_ASSIGN(auto gate, make_gate({.phase = phase, .addressing = addressing}, context));
      Random cookies(context.seed + phase);
      insert_absent(gate, baskets, cookies);
      cookies = Random(context.seed + phase);
      lost += count_of(0, baskets, [&](std::uint64_t /*i*/) { return !gate.may_contain({cookies.next()}); });
    }
    findings.judged({"zero-bit-is-certain-{}", name(addressing), shown(addressing), baskets}, equals(0), exact(lost));
  }
  return {};
}

Result<void> measure_collisions(const Context& context, Findings& findings) {
  constexpr std::uint32_t kPhase = 10;
  MANKAI_ASSIGN(auto gate, make_gate({.phase = kPhase}, context));
  Random random(context.seed);
  const auto cells = static_cast<double>(kCells);
  const double probes = kPhase * static_cast<double>(fill_to(gate, 0.5, random));
  const double set = gate.filter().saturation() * cells;
  // The number of probes to half full varies by twice the saturation's deviation.
  findings.judged("bits-set-again", equals(1 - 0.5 / std::numbers::ln2),
                  Estimate{.value = 1 - set / probes,
                           .error = set / probes * 2 * fill_deviation(probes / cells, cells) * cells / probes});
  return {};
}

void state_hash_bits(Findings& findings) {
  constexpr double kFieldBits = 20;
  constexpr double kMostFields = 20;
  constexpr double kLongestDigest = 160;
  findings.undecided("one-hash-is-enough", at_most(kLongestDigest), exact(kMostFields * kFieldBits));
}

}  // namespace

Result<void> measure_addressing(const Context& context, Findings& findings) {
  MANKAI_TRY(measure_certainty(context, findings));
  state_hash_bits(findings);
  return measure_collisions(context, findings);
}

}  // namespace mankai::lab::basket
