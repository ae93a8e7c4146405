#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/web_profiling/parts.hpp"
#include "lab/web_profiling/pooled.hpp"

namespace mankai::lab::profiling {
namespace {

constexpr const char* kProse = "Section 4.1";
constexpr std::uint32_t kProbes = 4;

// The setting of figure 3, read as below, in small when quick.
struct Setting {
  std::uint64_t counters = 0;
  Visits visits;
};
Setting make_setting(const Context& context) {
  const std::uint64_t scale = context.trials(5, 1);
  return {.counters = 80'000 / scale,
          .visits = draw({.visits = 1'000'000 / scale, .pages = 40'000 / scale, .per_epoch = 20'000 / scale}, context)};
}

Result<void> judge_example(const Context& context, Findings& findings) {
  constexpr std::uint64_t kExample = 256 * 1 + 16 * 2 + 0;
  MANKAI_ASSIGN(
      auto pooled,
      make_pooled({.counters = 1024, .k = kProbes, .decay = *Decay::of(0.9, kDrawnEpoch), .gate = true}, context));
  const Digest page = Hasher(hash_of(context))("q");
  for (std::uint64_t visit = 0; visit < kExample; ++visit) {
    pooled->filter().insert(page);
  }
  findings.judged({.id = "worked-example",
                   .place = "Section 4.1, figure 2",
                   .claim = "A counter with the digits 0, 2, 1 of 4 bits, lowest first, stands for 288.",
                   .formula = "256 · 1 + 2 · 16 + 0",
                   .unit = "visits",
                   .expected = {.value = 288},
                   .measured = {.value = pooled->estimate(page).raw}});
  findings.judged({.id = "worked-example-digits",
                   .place = "Section 4.1, figure 2",
                   .claim = "It has two extra counters.",
                   .formula = "2 for each of the k = 4 counters",
                   .unit = "digits",
                   .expected = {.value = 2 * kProbes},
                   .measured = {.value = static_cast<double>(pooled->filter().use().digits_in_use)}});
  return {};
}

// The largest difference between the estimates of two filters, over all pages.
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

Result<Trio> make_trio(const Setting& setting, double lambda, const Context& context) {
  const Decay decay = *Decay::of(lambda, kDrawnEpoch);
  constexpr std::uint32_t kWidth = 32;
  // As many cells, so that all are at the same places.
  auto basic = make_basic({.bytes = setting.counters * kWidth / 8,
                           .k = kProbes,
                           .decay = decay,
                           .width_bits = kWidth,
                           .policy = DecayPolicy::floor},
                          context);
  auto each = make_pooled({.counters = setting.counters, .k = kProbes, .decay = decay}, context);
  auto all =
      make_pooled({.counters = setting.counters, .k = kProbes, .decay = decay, .overflow = OverflowRule::all}, context);
  if (!basic || !each || !all) {
    return fail(ErrorCode::out_of_space, "no memory for three filters");
  }
  for (Profile* const profile :
       {static_cast<Profile*>(basic->get()), static_cast<Profile*>(each->get()), static_cast<Profile*>(all->get())}) {
    profile->insert(setting.visits);
  }
  return Trio{.basic = std::move(*basic), .each = std::move(*each), .all = std::move(*all)};
}

void judge_rules(const Setting& setting, const Trio& trio, Findings& findings) {
  findings.judged({.id = "same-results",
                   .place = "Abstract",
                   .claim =
                       "The optimized filter gives the same results as the basic one, carrying as in the algorithm: "
                       "each counter for itself.",
                   .formula = "largest difference of two estimates of a page: 0; λ = 0.9",
                   .unit = "visits",
                   .expected = {.value = 0},
                   .measured = {.value = largest_difference(*trio.basic, *trio.each, setting.visits)}});
  findings.judged(
      {.id = "same-results-prose",
       .place = kProse,
       .claim = "It does so carrying as in the prose: only when all k counters overflow.",
       .formula = "largest difference of two estimates of a page: 0; λ = 0.9",
       .unit = "visits",
       .expected = {.value = 0},
       .measured = {.value = largest_difference(*trio.basic, *trio.all, setting.visits)},
       .recorded = Verdict::refuted,
       .basis = "A counter that waits does not count what collides with it: the two rules are two filters."});
}

Result<void> judge_strictness(const Setting& setting, const Context& context, Findings& findings) {
  MANKAI_ASSIGN(auto pooled, make_pooled({.counters = setting.counters,
                                          .k = kProbes,
                                          .decay = *Decay::of(0.9, kDrawnEpoch),
                                          .policy = DecayPolicy::ceil,
                                          .overflow = OverflowRule::all},
                                         context));
  const Tally tally = replay_and_check(*pooled, setting.visits, pooled->filter().decay().lambda());
  findings.judged({.id = "prose-never-undercounts",
                   .place = kProse,
                   .claim =
                       "Waiting for all k counters does not undercount: no estimate is below the real count, rounded "
                       "up at the decay.",
                   .formula = "a counter v below its ceiling is at least the page's count; v + 1 is no more than the "
                              "ceiling: 0 undercounts",
                   .unit = "undercounts",
                   .expected = {.value = 0},
                   .measured = {.value = static_cast<double>(tally.under)},
                   .reason = fmt::format("{} checks.", tally.checks)});
  return {};
}

void add_row(Figure& figure, double lambda, const Setting& setting, const Trio& trio) {
  const auto each = static_cast<double>(trio.each->filter().use().digits_peak);
  const auto all = static_cast<double>(trio.all->filter().use().digits_peak);
  figure.rows.push_back({lambda, each / static_cast<double>(setting.counters),
                         all / static_cast<double>(setting.counters), 1 - all / each});
}

Figure empty_figure() {
  return {.name = "overflow-rules",
          .title = "Extra digits by the two overflow rules",
          .caption =
              "The most that were ever in use, for each counter: m = 80000, k = 4, 1e6 visits to 40000 pages by "
              "Zipf's law, z = 1, an epoch of 20000 visits; a fifth of all when quick.",
          .x = {.label = "λ"},
          .y = {.label = "extra digits for each counter", .is_logarithmic = true},
          .columns = {"λ", "each for itself", "when all overflow", "saved"},
          .series = {{.title = "each counter for itself (section 4.2)", .x = "λ", .y = "each for itself"},
                     {.title = "when all overflow (section 4.1)", .x = "λ", .y = "when all overflow"}}};
}

}  // namespace

Result<void> measure_digits(const Context& context, Findings& findings) {
  MANKAI_TRY(judge_example(context, findings));
  const Setting setting = make_setting(context);
  Figure figure = empty_figure();
  double least_saved = 1;
  double most_saved = 0;
  for (const double lambda : {0.1, 0.5, 0.9, 0.99, 1.0}) {
    MANKAI_ASSIGN(const auto trio, make_trio(setting, lambda, context));
    add_row(figure, lambda, setting, trio);
    const double saved = std::get<double>(figure.rows.back().back());
    least_saved = std::min(least_saved, saved);
    most_saved = std::max(most_saved, saved);
    if (lambda == 0.9) {
      judge_rules(setting, trio, findings);
      findings.judged({.id = "pool-suffices",
                       .place = kProse,
                       .claim = "A pool of m / 2 free counters is enough.",
                       .formula = "digits in use at most, over m: at most 1/2; λ = 0.9",
                       .expected = {.value = 0.5, .relation = Relation::at_most},
                       .measured = {.value = static_cast<double>(trio.each->filter().use().digits_peak) /
                                             static_cast<double>(setting.counters)},
                       .reason = "The paper does not say what happens when it is empty."});
    }
  }
  findings.judged(
      {.id = "prose-saves-digits",
       .place = kProse,
       .claim = "Waiting for all k counters takes no more extra counters than each carrying for itself (ours).",
       .formula = "share of digits saved, the least over λ = 0.1 to 1: at least 0",
       .expected = {.value = 0, .relation = Relation::at_least},
       .measured = {.value = least_saved},
       .reason = fmt::format("Up to {:.1f} %.", 100 * most_saved)});
  findings.add(std::move(figure));
  return judge_strictness(setting, context, findings);
}

}  // namespace mankai::lab::profiling
