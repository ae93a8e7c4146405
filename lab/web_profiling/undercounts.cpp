#include <fmt/format.h>

#include <array>
#include <limits>

#include "lab/web_profiling/parts.hpp"
#include "lab/web_profiling/profiles.hpp"

namespace mankai::lab::profiling {
namespace {

constexpr const char* kPlace = "Section 4.3, Claim 1";
constexpr double kLambda = 0.9;

struct Case {
  const char* id;
  DecayPolicy policy;
  const char* words;
  bool is_strict;
};
constexpr std::array<Case, 4> kCases = {{
    {"fixed-point", DecayPolicy::fixed_point, "counters with fraction bits, rounded up", true},
    {"ceil", DecayPolicy::ceil, "whole counters, rounded up", true},
    {"floor", DecayPolicy::floor, "whole counters, rounded down, which the paper's are", false},
    {"stochastic", DecayPolicy::stochastic, "whole counters, rounded by chance", false},
}};

// The filter of 4096 bytes and k = 4 whose only page came as often as its cells hold, and what is left after so many
// epochs without a visit.
Result<double> left_after_silence(DecayPolicy policy, const Context& context) {
  constexpr std::uint64_t kSilence = 1000;
  constexpr std::uint32_t kVisits = 5000;
  MANKAI_ASSIGN(
      auto basic,
      TimeDecayingCounts::create(
          {.bytes = 4096, .decay = *Decay::of(kLambda, kDrawnEpoch), .policy = policy, .hash = hash_of(context)}));
  const Digest page = Hasher(hash_of(context))("page");
  basic.insert(page, kVisits);
  basic.advance({kSilence});
  return basic.estimate(page).raw;
}

Result<void> judge_silence(const Context& context, Findings& findings) {
  const auto ceil = left_after_silence(DecayPolicy::ceil, context);
  const auto floor = left_after_silence(DecayPolicy::floor, context);
  const auto fixed = left_after_silence(DecayPolicy::fixed_point, context);
  if (!ceil || !floor || !fixed) {
    return fail(ErrorCode::out_of_space, "no memory for three small filters");
  }
  const auto claim = [&](const char* id, const char* words, double most, double measured) {
    return Claim{.id = id,
                 .place = "Section 4.2, Decay",
                 .claim = fmt::format("A counter decays to nothing, so that its extra counters are freed: {}.", words),
                 .formula = fmt::format("5000 visits, then 1000 epochs of λ = 0.9 without one: at most {:.4g}", most),
                 .unit = "visits",
                 .expected = {.value = most, .relation = Relation::at_most},
                 .measured = {.value = measured}};
  };
  findings.judged(claim("fades-floor", "whole counters, rounded down", 0, *floor));
  Claim up = claim("fades-ceil", "whole counters, rounded up", 0, *ceil);
  up.recorded = Verdict::refuted;
  up.basis =
      "A count c with c (1 - λ) < 1 is rounded up to itself: 9 at λ = 0.9, and 10 as λ itself is rounded up, stay for "
      "ever.";
  findings.judged(std::move(up));
  findings.judged(claim("fades-fixed-point", "with fraction bits, rounded up", 1.0 / 64, *fixed));
  return {};
}

std::string reason_of(const Tally& tally) {
  return fmt::format(
      "{} checks of pages with something left. Of {} with a count of 1 and more, {:.1f} % were counted "
      "too low, by {:.2f} at most.",
      tally.checks, tally.live, 100 * static_cast<double>(tally.live_under) / static_cast<double>(tally.live),
      tally.most_lost);
}

void judge_tally(const Case& item, const Tally& tally, Findings& findings) {
  findings.judged({.id = fmt::format("never-undercounts-{}", item.id),
                   .place = kPlace,
                   .claim = fmt::format("No estimate is below the real decayed count: {}.", item.words),
                   .formula = "estimates below Σ λ^age, all pages asked at the end of every epoch: 0",
                   .unit = "undercounts",
                   .expected = {.value = 0},
                   .measured = {.value = static_cast<double>(tally.under)},
                   .recorded = item.is_strict ? Verdict::reproduced : Verdict::refuted,
                   .basis = item.is_strict
                                ? ""
                                : "The proof takes λ C for what is stored; rounding takes up to 1 of it every epoch.",
                   .reason = reason_of(tally)});
  if (item.policy == DecayPolicy::floor) {
    findings.judged({.id = "floor-loses-at-most",
                     .place = kPlace,
                     .claim = "What rounding down takes from a count is bounded (ours).",
                     .formula = "less than 1 an epoch, λ of which is left in the next: 1 / (1 - λ) = 10",
                     .unit = "visits",
                     .expected = {.value = 1 / (1 - kLambda), .relation = Relation::at_most},
                     .measured = {.value = tally.most_lost}});
  }
  findings.judged({.id = fmt::format("all-checked-{}", item.id),
                   .place = kPlace,
                   .claim = fmt::format("No estimate had to be left out of that, saturated: {}.", item.words),
                   .formula = "estimates that say a cell was at its largest value: 0",
                   .unit = "estimates",
                   .expected = {.value = 0},
                   .measured = {.value = static_cast<double>(tally.saturated)}});
}

void add_row(Figure& figure, const std::string& name, double bytes, const Tally& tally) {
  figure.rows.push_back({name, bytes, static_cast<double>(tally.checks), static_cast<double>(tally.under),
                         static_cast<double>(tally.live),
                         static_cast<double>(tally.live_under) / static_cast<double>(tally.live), tally.most_lost,
                         tally.most_gained});
}

Figure empty_figure() {
  return {.name = "undercounts",
          .title = "Estimates below the truth",
          .caption =
              "Zipf, z = 1, λ = 0.9, 100 epochs, k = 3; every page that came is asked for at the end of every "
              "epoch. The equal of the truth is no undercount.",
          .x = {.label = "bytes of cells"},
          .y = {.label = "live pages counted too low, share"},
          .columns = {"counters", "bytes", "checks", "undercounts", "checks of live pages", "live share too low",
                      "largest loss", "largest gain"}};
}

}  // namespace

Result<void> measure_undercounts(const Context& context, Findings& findings) {
  constexpr std::uint64_t kBytes = 256 << 10;
  const std::uint64_t scale = context.trials(10, 1);
  const Visits visits =
      draw({.visits = 5'000'000 / scale, .pages = 500'000 / scale, .per_epoch = 50'000 / scale}, context);
  Figure figure = empty_figure();
  for (const Case& item : kCases) {
    context.progress(fmt::format("undercounts, {}", item.id));
    MANKAI_ASSIGN(
        auto basic,
        make_basic({.bytes = kBytes / scale, .k = 3, .decay = *Decay::of(kLambda, kDrawnEpoch), .policy = item.policy},
                   context));
    const Tally tally = replay_and_check(*basic, visits, basic->filter().decay().lambda());
    judge_tally(item, tally, findings);
    add_row(figure, item.id, static_cast<double>(basic->bytes()), tally);
  }
  findings.add(std::move(figure));
  return judge_silence(context, findings);
}

}  // namespace mankai::lab::profiling
