#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "lab/basket_gate/gate.hpp"
#include "lab/basket_gate/parts.hpp"

namespace mankai::lab::basket {
namespace {

constexpr const char* kPlace = "How it works";

// Baskets that are filled and then asked for, for every phase and addressing.
Result<void> measure_certainty(const Context& context, Findings& findings) {
  const std::uint64_t baskets = context.trials(20'000, 100'000);
  for (const BloomAddressing addressing : kAddressings) {
    std::uint64_t lost = 0;
    for (const std::uint32_t phase : kPhases) {
      MANKAI_ASSIGN(auto gate, make_gate({.phase = phase, .addressing = addressing}, context));
      Random cookies(context.seed + phase);
      insert_strangers(gate, baskets, cookies);
      cookies = Random(context.seed + phase);
      for (std::uint64_t i = 0; i < baskets; ++i) {
        lost += static_cast<std::uint64_t>(!gate.may_contain({cookies.next()}));
      }
    }
    findings.judged({.id = fmt::format("zero-bit-is-certain-{}", name(addressing)),
                     .place = kPlace,
                     .claim = fmt::format("If any of a shopper's bits is zero, the basket is empty for certain: no "
                                          "filled basket has a zero bit ({} addressing).",
                                          shown(addressing)),
                     .formula = "bits are set and never cleared, so filled baskets told empty = 0",
                     .unit = "baskets",
                     .expected = {.value = 0},
                     .measured = {.value = static_cast<double>(lost)},
                     .reason = fmt::format("{} baskets at each of the phases 5, 10, 15 and 20.", baskets)});
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
  findings.judged({.id = "bits-set-again",
                   .place = kPlace,
                   .claim = "As the array fills up, a bit to be set is sometimes set already.",
                   .formula = "share of settings that change nothing up to 50 % = 1 - 0.5 / ln 2",
                   .expected = {.value = 1 - 0.5 / std::numbers::ln2},
                   .measured = {.value = 1 - set / probes,
                                // The number of probes to half full varies by twice the saturation's deviation.
                                .error = set / probes * 2 * saturation_deviation(probes, cells) * cells / probes}});
  return {};
}

void state_hash_bits(Findings& findings) {
  constexpr double kFieldBits = 20;
  constexpr double kMostFields = 20;
  constexpr double kLongestDigest = 160;
  findings.depends(
      {.id = "one-hash-is-enough",
       .place = kPlace,
       .claim = "5 to 20 indexes are consecutive fields of one hashed number.",
       .formula = "bits needed = phase * log2 N = 20 * 20; SHA-1, the longest digest in use in 2000, has 160",
       .unit = "bits",
       .expected = {.value = kLongestDigest, .relation = Relation::at_most},
       .measured = {.value = kMostFields * kFieldBits},
       .reason = "On phase and array: for 2^20 bits a digest of 160 bits has 8 fields, one of 256 bits "
                 "12. Beyond that the hash must be stretched, as our literal addressing does."});
}

}  // namespace

Result<void> measure_addressing(const Context& context, Findings& findings) {
  MANKAI_TRY(measure_certainty(context, findings));
  state_hash_bits(findings);
  return measure_collisions(context, findings);
}

}  // namespace mankai::lab::basket
