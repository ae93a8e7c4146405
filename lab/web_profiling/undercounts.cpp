#include <fmt/format.h>

#include <array>
#include <utility>

#include "lab/parts.hpp"
#include "lab/web_profiling/profiles.hpp"

namespace mankai::lab::profiling {
namespace {

struct Undercount {
  const char* id;
  DecayPolicy policy;
  const char* words;
};
constexpr std::array<Undercount, 4> kUndercounts = {{
    {"fixed-point", DecayPolicy::fixed_point, "counters with fraction bits, rounded up"},
    {"ceil", DecayPolicy::ceil, "whole counters, rounded up"},
    {"floor", DecayPolicy::floor, "whole counters, rounded down, which the paper's are"},
    {"stochastic", DecayPolicy::stochastic, "whole counters, rounded by chance"},
}};

// The count that remains in the default filter after 5000 visits to one page in one epoch, then 1000 epochs without a
// visit.
Result<double> left_after_silence(DecayPolicy policy, const Context& context) {
  constexpr std::uint64_t kSilence = 1000;
  constexpr std::uint32_t kVisits = 5000;
  MANKAI_ASSIGN(auto basic,
                TimeDecayingCounts::create(
                    {.bytes = 4096, .decay = drawn_decay(kLambda), .policy = policy, .hash = context.hash()}));
  const Digest page = Hasher(context.hash())("page");
  basic.insert(page, kVisits);
  basic.advance({kSilence});
  return basic.estimate(page).raw;
}

Result<void> judge_silence(const Context& context, Findings& findings) {
  MANKAI_ASSIGN(const auto ceil, left_after_silence(DecayPolicy::ceil, context));
  MANKAI_ASSIGN(const auto floor, left_after_silence(DecayPolicy::floor, context));
  MANKAI_ASSIGN(const auto fixed, left_after_silence(DecayPolicy::fixed_point, context));
  findings.judged("fades-floor", at_most(0), exact(floor));
  findings.judged("fades-ceil", at_most(0), exact(ceil));
  findings.judged("fades-fixed-point", at_most(1.0 / 64), exact(fixed));
  return {};
}

std::string reason_of(const Tally& tally) {
  return fmt::format(
      "{} checks of pages with something left. Of {} with a count of 1 and more, {:.1f} % were counted "
      "too low, by {:.2f} at most.",
      tally.checks, tally.live, 100 * static_cast<double>(tally.live_under) / static_cast<double>(tally.live),
      tally.most_lost);
}

void judge_tally(const Undercount& item, const Tally& tally, Findings& findings) {
  findings.judged({fmt::format("never-undercounts-{}", item.id), reason_of(tally)}, equals(0), exact(tally.under));
  if (item.policy == DecayPolicy::floor) {
    findings.judged("floor-loses-at-most", at_most(1 / (1 - kLambda)), exact(tally.most_lost));
  }
  findings.judged({"all-checked-{}", item.id, item.words}, equals(0), exact(tally.saturated));
}

void add_row(Figure& figure, const std::string& name, double bytes, const Tally& tally) {
  figure.rows.push_back({name, bytes, tally.checks, tally.under, tally.live,
                         static_cast<double>(tally.live_under) / static_cast<double>(tally.live), tally.most_lost,
                         tally.most_gained});
}

}  // namespace

Result<void> measure_undercounts(const Context& context, Findings& findings) {
  constexpr std::uint64_t kBytes = 256 << 10;
  const std::uint64_t scale = context.trials(10, 1);
  const Visits visits =
      draw({.visits = 5'000'000 / scale, .pages = 500'000 / scale, .per_epoch = 50'000 / scale}, context);
  Figure figure = findings.figure("undercounts");
  for (const Undercount& item : kUndercounts) {
    context.progress(fmt::format("undercounts, {}", item.id));
    MANKAI_ASSIGN(
        auto basic,
        kMakeBasic({.bytes = kBytes / scale, .k = 3, .decay = drawn_decay(kLambda), .policy = item.policy}, context));
    const Tally tally = replay_and_check(*basic, visits, basic->filter().decay().lambda());
    judge_tally(item, tally, findings);
    add_row(figure, item.id, static_cast<double>(basic->bytes()), tally);
  }
  for (const auto& [name, rounding] :
       {std::pair("strict", CountRounding::strict), std::pair("balanced", CountRounding::balanced)}) {
    const std::string id = fmt::format("decayed-top-{}", name);
    context.progress("undercounts, " + id);
    MANKAI_ASSIGN(auto top,
                  kMakeTop({.bytes = kBytes / scale, .rounding = rounding, .decay = drawn_decay(kLambda)}, context));
    const Tally tally = replay_and_check(*top, visits, top->filter().decay().lambda());
    findings.judged({"never-undercounts-" + id, reason_of(tally)}, equals(0), exact(tally.under));
    add_row(figure, id, static_cast<double>(top->bytes()), tally);
  }
  findings.add(std::move(figure));
  return judge_silence(context, findings);
}

}  // namespace mankai::lab::profiling
