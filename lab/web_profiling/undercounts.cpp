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
};
constexpr std::array<Undercount, 4> kUndercounts = {{
    {"fixed-point", DecayPolicy::fixed_point},
    {"ceil", DecayPolicy::ceil},
    {"floor", DecayPolicy::floor},
    {"stochastic", DecayPolicy::stochastic},
}};

// The largest count that remains of pages with 5000 visits each in one epoch, then 1000 epochs without a visit.
Result<double> left_after_silence(DecayPolicy policy, const Context& context) {
  constexpr std::uint64_t kSilence = 1000;
  constexpr std::uint64_t kPages = 500;
  const Visits visits = draw({.visits = 5000 * kPages, .pages = kPages, .per_epoch = 5000 * kPages, .z = 0}, context);
  MANKAI_ASSIGN(auto basic, kMakeBasic({.keys = kPages, .decay = drawn_decay(kLambda), .policy = policy}, context));
  basic->insert(visits);
  basic->advance({kSilence});
  double most = 0;
  for (const Digest page : visits.digests) {
    most = std::max(most, basic->estimate(page).raw);
  }
  return most;
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
      "{} checks of pages with something left, and {} saturated estimates. Of {} with a count of 1 and more, {:.1f}% "
      "were counted too low, by {:.2f} at most.",
      tally.checks, tally.saturated, tally.live,
      100 * static_cast<double>(tally.live_under) / static_cast<double>(tally.live), tally.most_lost);
}

// A saturated estimate is not checked, so that it counts as a failure.
double failures(const Tally& tally) { return static_cast<double>(tally.under + tally.saturated); }

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
  double up = 0;
  double down = 0;
  for (const Undercount& item : kUndercounts) {
    context.progress(fmt::format("undercounts, {}", item.id));
    MANKAI_ASSIGN(
        auto basic,
        kMakeBasic({.bytes = kBytes / scale, .k = 3, .decay = drawn_decay(kLambda), .policy = item.policy}, context));
    const Tally tally = replay_and_check(*basic, visits, basic->filter().decay().lambda());
    findings.judged({fmt::format("never-undercounts-{}", item.id), reason_of(tally)}, equals(0),
                    exact(failures(tally)));
    if (item.policy == DecayPolicy::floor) {
      findings.judged("floor-loses-at-most", at_most(1 / (1 - kLambda)), exact(tally.most_lost));
    }
    const bool is_up = item.policy == DecayPolicy::fixed_point || item.policy == DecayPolicy::ceil;
    (is_up ? up : down) += failures(tally);
    add_row(figure, item.id, static_cast<double>(basic->bytes()), tally);
  }
  findings.depends("claim-1", {.expected = equals(0), .measured = exact(up)},
                   {.expected = equals(0), .measured = exact(down)});
  for (const auto& [name, rounding] :
       {std::pair("strict", CountRounding::strict), std::pair("balanced", CountRounding::balanced)}) {
    const std::string id = fmt::format("decayed-top-{}", name);
    context.progress("undercounts, " + id);
    MANKAI_ASSIGN(auto top,
                  kMakeTop({.bytes = kBytes / scale, .rounding = rounding, .decay = drawn_decay(kLambda)}, context));
    const Tally tally = replay_and_check(*top, visits, top->filter().decay().lambda());
    findings.judged({"never-undercounts-" + id, reason_of(tally)}, equals(0), exact(failures(tally)));
    add_row(figure, id, static_cast<double>(top->bytes()), tally);
  }
  findings.add(std::move(figure));
  return judge_silence(context, findings);
}

}  // namespace mankai::lab::profiling
