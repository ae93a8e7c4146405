#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "lab/fading/arrays.hpp"
#include "lab/fading/original.hpp"
#include "lab/parts.hpp"

namespace mankai::lab::forgetting {
namespace {

// Enough places that collisions among an event's own places do not matter.
constexpr std::uint64_t kManyPlaces = 65536;
constexpr std::uint64_t kAbsentKeys = 0x5eed;

Result<Array> full_array(const Shape& shape, const Context& context) {
  auto array = make_array(shape, context);
  if (array) {
    insert_events(*array, Events(context.seed), 0, events_to_fill(shape));
  }
  return array;
}

Result<Estimate> plateau(const Shape& shape, std::uint64_t trials, const Context& context) {
  MANKAI_ASSIGN(const auto array, full_array(shape, context));
  return beside(absent_found(array, context.seed + kAbsentKeys, trials), text_plateau(shape), trials);
}

// Returns the error of the text's formula: f is slightly higher with a fingerprint reserved for empty places, and some
// pairs of an event's places coincide or were overwritten by one event, so that they match together.
double left_out(const Shape& shape) {
  const double f = chance_match_reserved(shape.b);
  const double pairs = shape.n * (shape.n - 1) / 2.0;
  const double together = pairs * (shape.n + 1) / (2.0 * static_cast<double>(shape.s));
  const double rest = shape.r > 2 ? (shape.n - 2) * f : 1;
  return text_plateau(shape) * (std::pow(f / chance_match(shape.b), shape.r) - 1) + together * f * rest;
}

Result<void> measure_single_place(const Context& context, Findings& findings) {
  for (const std::uint32_t b : {4U, 8U, 16U}) {
    const Shape shape{.s = kManyPlaces, .n = 1, .b = b};
    const std::uint64_t trials = b > 8 ? context.trials(4'000'000, 40'000'000) : context.trials(400'000, 4'000'000);
    TextArray text(shape);
    insert_events(text, Events(context.seed), 0, events_to_fill(shape));
    findings.judged({"single-place-{}", b}, equals(chance_match(b)),
                    absent_found(text, context.seed + kAbsentKeys, trials));
    MANKAI_ASSIGN(const auto ours, plateau(shape, trials, context));
    findings.judged({"single-place-{}-ours", b}, equals(chance_match_reserved(b)), ours);
  }
  return {};
}

struct Wanted {
  std::uint32_t b;
  std::uint32_t n;
};
constexpr std::array<Wanted, 13> kPlateaus = {
    {{4, 4}, {4, 32}, {8, 1}, {8, 2}, {8, 3}, {8, 4}, {8, 8}, {8, 16}, {8, 32}, {16, 4}, {16, 8}, {16, 16}, {16, 32}}};

// Judges the advice by one limit for all, which is ours: the threshold of each row.
void judge_advice(const std::map<std::pair<std::uint32_t, std::uint32_t>, Estimate>& rates, Findings& findings) {
  const auto rate = [&rates](std::uint32_t b, std::uint32_t n) { return rates.at({b, n}); };
  const auto side = [&](const char* id, std::uint32_t b, std::uint32_t n) {
    return Side{at_most(findings.threshold(id)), rate(b, n)};
  };
  for (const auto& [b, n] : {std::pair{8U, 3U}, {16U, 4U}, {16U, 32U}}) {
    findings.judged({"advice-{}-{}", b, n, kHundred * text_plateau({.n = n, .b = b})},
                    at_most(findings.threshold("advice-{}-{}")), rate(b, n));
  }
  constexpr const char* kLarge = "large-n-needs-large-b";
  constexpr const char* kSmall = "small-b-needs-small-n";
  findings.depends(kLarge, side(kLarge, 16, 16), side(kLarge, 8, 16));
  findings.depends(kSmall, side(kSmall, 8, 3), side(kSmall, 8, 8));
  findings.judged({"high-for-many", rate(8, 32).value}, at_least(findings.threshold("high-for-many")), rate(8, 32));
}

Result<void> measure_plateaus(const Context& context, Findings& findings) {
  Figure figure = findings.figure("plateau");
  std::map<std::pair<std::uint32_t, std::uint32_t>, Estimate> rates;
  for (const Wanted& wanted : kPlateaus) {
    const Shape shape{.s = kManyPlaces, .n = wanted.n, .b = wanted.b};
    context.progress(fmt::format("plateau, n = {}, b = {}", shape.n, shape.b));
    const std::uint64_t trials =
        shape.b > 8 ? context.trials(1'500'000, 60'000'000) : context.trials(150'000, 6'000'000);
    MANKAI_ASSIGN(const auto rate, plateau(shape, trials, context));
    findings.judged({"plateau-{}-{}", shape.b, shape.n, shown(shape)},
                    equals(text_plateau(shape)).with_formula_error(left_out(shape)), rate);
    rates.emplace(std::pair(shape.b, shape.n), rate);
    figure.rows.push_back(
        {fmt::format("{}", shape.b), static_cast<double>(shape.n), text_plateau(shape), rate.value, rate.error});
  }
  for (const char* const b : {"4", "8", "16"}) {
    figure.add_series("formula", fmt::format("b = {}", b),
                      {.x = "n", .y = "measured", .error = "error", .only = {{"b", b}}});
  }
  judge_advice(rates, findings);
  findings.add(std::move(figure));
  return {};
}

Result<void> measure_empty(const Context& context, Findings& findings) {
  const std::uint64_t trials = context.trials(300'000, 3'000'000);
  for (const std::uint32_t n : {2U, 8U}) {
    const Shape shape{.n = n, .b = 8};
    MANKAI_ASSIGN(const auto ours, make_array(shape, context));
    const Estimate theirs = absent_found(TextArray(shape), context.seed + kAbsentKeys, trials);
    // One fingerprint per event: either all places match or none.
    findings.judged({"empty-text-{}", n, shown(shape)}, equals(chance_match(shape.b)), theirs);
    findings.judged({"empty-code-{}", n, shown(shape)}, equals(text_plateau(shape)),
                    absent_found(CodeArray(shape), context.seed + kAbsentKeys, trials));
    const Estimate empty = absent_found(ours, context.seed + kAbsentKeys, trials);
    findings.judged({"empty-ours-{}", n, shown(shape)}, equals(0), exact(empty.value));
  }
  return {};
}

}  // namespace

Result<void> measure_plateau(const Context& context, Findings& findings) {
  return measure_all({measure_single_place, measure_plateaus, measure_empty}, context, findings);
}

Result<void> measure_min_matches(const Context& context, Findings& findings) {
  constexpr std::uint32_t kN = 8;
  constexpr std::uint32_t kB = 8;
  constexpr double kHalf = 0.5;
  // For r = 3, 39 false positives are expected.
  constexpr std::array<std::uint64_t, 3> kQuickTrials = {300'000, 3'000'000, 12'000'000};
  for (std::uint32_t r = 1; r <= kQuickTrials.size(); ++r) {
    context.progress(fmt::format("at least {} matches", r));
    const Shape shape{.s = kManyPlaces, .n = kN, .b = kB, .r = r};
    MANKAI_ASSIGN(const auto rate, plateau(shape, context.trials(kQuickTrials.at(r - 1), 60'000'000), context));
    const double formula = text_plateau(shape);
    findings.judged({"min-matches-{}-rate", r, kHundred * formula}, equals(formula).with_formula_error(left_out(shape)),
                    rate);
    const Shape small{.s = 2000, .n = kN, .b = kB, .r = r};
    const double half_life = text_age(small, kHalf);
    MANKAI_ASSIGN(const auto known,
                  survey(small, static_cast<std::size_t>(half_life) * 2, context.trials(4000, 100'000), context));
    const Estimate measured = crossing(known, small, kHalf);
    const auto s = static_cast<double>(small.s);
    findings.judged({"min-matches-{}-half-life", r, half_life / s}, equals(half_life / s), measured / s);
  }
  return {};
}

}  // namespace mankai::lab::forgetting
