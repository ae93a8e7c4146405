#include <fmt/format.h>

#include <array>
#include <cmath>

#include "lab/web_profiling/parts.hpp"
#include "lab/web_profiling/tiered.hpp"

namespace mankai::lab::profiling {
namespace {

constexpr const char* kPlace = "Section 1, the exponential filter";
constexpr double kLambda = 0.9;
constexpr std::uint32_t kProbes = 4;
constexpr unsigned kWidth = 4;

Result<void> judge_memory(Findings& findings, const Context& context) {
  constexpr std::uint64_t kCounters = 80'000;
  Figure figure{.name = "tiers",
                .title = "Space of the tiers",
                .caption =
                    "Counters of 4 bits, each tier 2^a times smaller than the one below, 32 bits in all: k = 4, "
                    "80000 counters in the lowest tier. The basic filter has 16 bits.",
                .x = {.label = "a"},
                .y = {.label = "bits for each counter of the lowest tier"},
                .columns = {"a", "formula", "measured"},
                .series = {{.title = "w Σ 2^(-a j)", .x = "a", .y = "formula", .is_line = true, .colour = 0},
                           {.title = "measured", .x = "a", .y = "measured", .colour = 0}}};
  for (const std::uint32_t shrink : {1U, 2U, 3U, 4U}) {
    MANKAI_ASSIGN(
        auto tiered,
        make_tiered(
            {.counters = kCounters, .k = kProbes, .shrink_bits = shrink, .decay = *Decay::of(kLambda, kDrawnEpoch)},
            context));
    double formula = 0;
    for (unsigned tier = 0; tier < 32 / kWidth; ++tier) {
      formula += kWidth * std::pow(2, -static_cast<double>(shrink * tier));
    }
    const double measured = 8 * static_cast<double>(tiered->bytes()) / static_cast<double>(kCounters);
    figure.rows.push_back({static_cast<double>(shrink), formula, measured});
    if (shrink == 2) {
      findings.judged({.id = "tiers-space",
                       .place = kPlace,
                       .claim = "Components for higher bits are quite efficient, since only few items reach them: "
                                "reconstructed with a quarter of the counters in each next tier.",
                       .formula = "w Σ 2^(-a j) bits a counter, w = 4, a = 2; tiers end at whole lines",
                       .unit = "bits",
                       .expected = {.value = formula, .tolerance = 0.1},
                       .measured = {.value = measured}});
    }
  }
  findings.add(std::move(figure));
  return {};
}

struct Case {
  const char* id;
  const char* words;
  DecayPolicy policy;
  RemainderRule remainder;
  bool is_strict;
  bool fades;
};
constexpr std::array<Case, 4> kCases = {{
    {"floor", "rounded down at the lowest tier", DecayPolicy::floor, RemainderRule::both_ways, false, true},
    {"ceil", "rounded up there", DecayPolicy::ceil, RemainderRule::both_ways, true, false},
    {"downwards-floor", "remainders given to children, none taken; rounded down", DecayPolicy::floor,
     RemainderRule::downwards, false, true},
    {"downwards-ceil", "remainders given to children, none taken; rounded up", DecayPolicy::ceil,
     RemainderRule::downwards, true, false},
}};

Result<void> judge_strictness(const Case& item, const Visits& visits, std::uint64_t counters, const Context& context,
                              Findings& findings) {
  MANKAI_ASSIGN(auto tiered, make_tiered({.counters = counters,
                                          .k = kProbes,
                                          .decay = *Decay::of(kLambda, kDrawnEpoch),
                                          .policy = item.policy,
                                          .remainder = item.remainder},
                                         context));
  const Tally tally = replay_and_check(*tiered, visits, tiered->filter().decay().lambda());
  Claim claim{.id = fmt::format("tiers-never-undercount-{}", item.id),
              .place = "Section 4.3, Claim 1",
              .claim = fmt::format("No estimate of the tiers is below the real decayed count: {}.", item.words),
              .formula = "shared parents only add; estimates below Σ λ^age: 0",
              .unit = "undercounts",
              .expected = {.value = 0},
              .measured = {.value = static_cast<double>(tally.under)},
              .reason = fmt::format("{} checks; {:.2f} too low at most, {:.0f} too high.", tally.checks,
                                    tally.most_lost, tally.most_gained)};
  if (!item.is_strict) {
    claim.recorded = Verdict::refuted;
    claim.basis = "Rounding down takes up to 1 of the lowest digit every epoch.";
  }
  findings.judged(std::move(claim));
  return {};
}

// One page alone, that came 300 times, after epochs of silence.
Result<void> judge_silence(const Case& item, const Context& context, Findings& findings) {
  constexpr int kVisits = 300;
  constexpr std::uint64_t kSilence = 1000;
  MANKAI_ASSIGN(auto tiered, make_tiered({.counters = 4096,
                                          .k = kProbes,
                                          .decay = *Decay::of(kLambda, kDrawnEpoch),
                                          .policy = item.policy,
                                          .remainder = item.remainder},
                                         context));
  const Digest page = Hasher(hash_of(context))("page");
  for (int visit = 0; visit < kVisits; ++visit) {
    tiered->filter().insert(page);
  }
  tiered->advance({kSilence});
  Claim claim{.id = fmt::format("tiers-fade-{}", item.id),
              .place = kPlace,
              .claim = fmt::format("A counter in tiers decays to nothing: {}.", item.words),
              .formula = "300 visits, then 1000 epochs of λ = 0.9 without one: 0",
              .unit = "visits",
              .expected = {.value = 0},
              .measured = {.value = tiered->estimate(page).raw}};
  if (!item.fades) {
    claim.recorded = Verdict::refuted;
    claim.basis = item.remainder == RemainderRule::downwards
                      ? "A parent is rounded up to itself when its child cannot hold the remainder, again and again."
                      : "As for whole counters: what is below 1 / (1 - λ) is rounded up to itself.";
  }
  findings.judged(std::move(claim));
  return {};
}

}  // namespace

Result<void> measure_tiers(const Context& context, Findings& findings) {
  const std::uint64_t scale = context.trials(10, 1);
  const Visits visits =
      draw({.visits = 1'000'000 / scale, .pages = 40'000 / scale, .per_epoch = 20'000 / scale}, context);
  MANKAI_TRY(judge_memory(findings, context));
  for (const Case& item : kCases) {
    MANKAI_TRY(judge_strictness(item, visits, 80'000 / scale, context, findings));
    MANKAI_TRY(judge_silence(item, context, findings));
  }
  return {};
}

}  // namespace mankai::lab::profiling
