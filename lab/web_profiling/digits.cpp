#include <algorithm>
#include <cmath>

#include "lab/parts.hpp"
#include "lab/web_profiling/profiles.hpp"

namespace mankai::lab::profiling {
namespace {

Result<void> judge_example(const Context& context, Findings& findings) {
  constexpr std::uint64_t kExample = 256 * 1 + 16 * 2 + 0;
  MANKAI_ASSIGN(auto pooled,
                kMakePooled({.counters = 1024, .k = kProbes, .decay = drawn_decay(0.9), .gate = true}, context));
  const Digest page = Hasher(context.hash())("q");
  for (std::uint64_t visit = 0; visit < kExample; ++visit) {
    pooled->filter().insert(page);
  }
  findings.judged("worked-example", equals(288), exact(pooled->estimate(page).raw));
  findings.judged("worked-example-digits", equals(2 * kProbes), exact(pooled->filter().use().digits_in_use));
  return {};
}

double largest_difference(const Profile& a, const Profile& b, const Visits& visits) {
  double most = 0;
  for (const Digest page : visits.digests) {
    most = std::max(most, std::abs(a.estimate(page).raw - b.estimate(page).raw));
  }
  return most;
}

struct Trio {
  std::unique_ptr<Basic> basic;
  std::unique_ptr<Pooled> each;
  std::unique_ptr<Pooled> all;
};

Result<Trio> make_trio(const Setting& setting, double lambda, DecayPolicy policy, const Context& context) {
  const Decay decay = drawn_decay(lambda);
  constexpr std::uint32_t kWidth = 32;
  // The same number of cells, so that keys have the same positions. A fault is in the optimized filters only.
  Context sound = context;
  sound.fault = Fault::none;
  MANKAI_ASSIGN(auto basic, kMakeBasic({.bytes = setting.counters * kWidth / 8,
                                        .k = kProbes,
                                        .decay = decay,
                                        .width_bits = kWidth,
                                        .policy = policy},
                                       sound));
  TimeDecayingPooledCounts::Options options{
      .counters = setting.counters, .k = kProbes, .decay = decay, .policy = policy};
  MANKAI_ASSIGN(auto each, kMakePooled(options, context));
  options.overflow = OverflowRule::all;
  MANKAI_ASSIGN(auto all, kMakePooled(options, context));
  for (Profile* const profile :
       {static_cast<Profile*>(basic.get()), static_cast<Profile*>(each.get()), static_cast<Profile*>(all.get())}) {
    profile->insert(setting.visits);
  }
  return Trio{.basic = std::move(basic), .each = std::move(each), .all = std::move(all)};
}

// The paper does not say how λ C is rounded, so both ways.
Result<void> judge_rules(const Setting& setting, const Context& context, Findings& findings) {
  for (const auto& [id, policy] : {std::pair("down", DecayPolicy::floor), std::pair("up", DecayPolicy::ceil)}) {
    MANKAI_ASSIGN(const auto trio, make_trio(setting, kLambda, policy, context));
    findings.judged({"same-results-{}", id}, equals(0),
                    exact(largest_difference(*trio.basic, *trio.each, setting.visits)));
    findings.judged({"same-results-prose-{}", id}, equals(0),
                    exact(largest_difference(*trio.basic, *trio.all, setting.visits)));
  }
  return {};
}

Result<void> judge_strictness(const Setting& setting, const Context& context, Findings& findings) {
  MANKAI_ASSIGN(auto pooled, kMakePooled({.counters = setting.counters,
                                          .k = kProbes,
                                          .decay = drawn_decay(0.9),
                                          .policy = DecayPolicy::ceil,
                                          .overflow = OverflowRule::all},
                                         context));
  const Tally tally = replay_and_check(*pooled, setting.visits, pooled->filter().decay().lambda());
  findings.judged({"prose-never-undercounts", tally.checks}, equals(0), exact(tally.under));
  return {};
}

void add_row(Figure& figure, double lambda, const Setting& setting, const Trio& trio) {
  const auto each = static_cast<double>(trio.each->filter().use().digits_peak);
  const auto all = static_cast<double>(trio.all->filter().use().digits_peak);
  figure.rows.push_back(
      {lambda, each / static_cast<double>(setting.counters), all / static_cast<double>(setting.counters), all / each});
}

}  // namespace

Result<void> measure_digits(const Context& context, Findings& findings) {
  MANKAI_TRY(judge_example(context, findings));
  const Setting setting = figure_3(context);
  Figure figure = findings.figure("overflow-rules");
  double least_ratio = 1;
  double most_ratio = 0;
  double most_extra = 0;
  for (const double lambda : {0.1, 0.5, 0.9, 0.99, 1.0}) {
    MANKAI_ASSIGN(const auto trio, make_trio(setting, lambda, DecayPolicy::floor, context));
    add_row(figure, lambda, setting, trio);
    const double ratio = std::get<double>(figure.rows.back().back());
    least_ratio = std::min(least_ratio, ratio);
    most_ratio = std::max(most_ratio, ratio);
    most_extra = std::max(most_extra, std::get<double>(figure.rows.back()[1]));
  }
  findings.judged("pool-suffices", at_most(0.5), exact(most_extra));
  findings.judged({"prose-saves-digits", 100 * (1 - least_ratio)}, at_most(1), exact(most_ratio));
  findings.add(std::move(figure));
  MANKAI_TRY(judge_rules(setting, context, findings));
  return judge_strictness(setting, context, findings);
}

}  // namespace mankai::lab::profiling
