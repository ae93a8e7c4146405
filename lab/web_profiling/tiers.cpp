#include <fmt/format.h>

#include <array>
#include <cmath>

#include "lab/parts.hpp"
#include "lab/web_profiling/profiles.hpp"

namespace mankai::lab::profiling {
namespace {

constexpr unsigned kWidth = 4;

Result<void> judge_memory(Findings& findings, const Context& context) {
  constexpr std::uint64_t kCounters = 80'000;
  Figure figure = findings.figure("tiers");
  for (const std::uint32_t shrink : {1U, 2U, 3U, 4U}) {
    MANKAI_ASSIGN(
        auto tiered,
        kMakeTiered({.counters = kCounters, .k = kProbes, .shrink_bits = shrink, .decay = drawn_decay(kLambda)},
                    context));
    double formula = 0;
    for (unsigned tier = 0; tier < 32 / kWidth; ++tier) {
      formula += kWidth * std::pow(2, -static_cast<double>(shrink * tier));
    }
    const double measured = 8 * static_cast<double>(tiered->bytes()) / static_cast<double>(kCounters);
    figure.rows.push_back({shrink, formula, measured});
    if (shrink == 2) {
      findings.judged("tiers-space", equals(formula), exact(measured));
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
};
constexpr std::array<Case, 4> kCases = {{
    {"floor", "rounded down at the lowest tier", DecayPolicy::floor, RemainderRule::both_ways},
    {"ceil", "rounded up there", DecayPolicy::ceil, RemainderRule::both_ways},
    {"downwards-floor", "remainders given to children, none taken; rounded down", DecayPolicy::floor,
     RemainderRule::downwards},
    {"downwards-ceil", "remainders given to children, none taken; rounded up", DecayPolicy::ceil,
     RemainderRule::downwards},
}};

auto make_case(const Case& item, std::uint64_t counters, const Context& context) {
  return kMakeTiered({.counters = counters,
                      .k = kProbes,
                      .decay = drawn_decay(kLambda),
                      .policy = item.policy,
                      .remainder = item.remainder},
                     context);
}

Result<void> judge_strictness(const Case& item, const Visits& visits, std::uint64_t counters, const Context& context,
                              Findings& findings) {
  MANKAI_ASSIGN(auto tiered, make_case(item, counters, context));
  const Tally tally = replay_and_check(*tiered, visits, tiered->filter().decay().lambda());
  findings.judged({"tiers-never-undercount-{}", item.id, item.words, tally.checks, tally.most_lost, tally.most_gained},
                  equals(0), exact(tally.under));
  return {};
}

Result<void> judge_silence(const Case& item, const Context& context, Findings& findings) {
  constexpr int kVisits = 300;
  constexpr std::uint64_t kSilence = 1000;
  MANKAI_ASSIGN(auto tiered, make_case(item, 4096, context));
  const Digest page = Hasher(context.hash())("page");
  for (int visit = 0; visit < kVisits; ++visit) {
    tiered->filter().insert(page);
  }
  tiered->advance({kSilence});
  findings.judged(fmt::format("tiers-fade-{}", item.id), equals(0), exact(tiered->estimate(page).raw));
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
