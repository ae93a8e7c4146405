#include <fmt/format.h>

#include <array>
#include <cmath>

#include "lab/fading/arrays.hpp"
#include "lab/fading/original.hpp"
#include "lab/fading/parts.hpp"

namespace mankai::lab::forgetting {
namespace {

constexpr const char* kFingerprints = "Approximate matching";
constexpr const char* kThirdGraph = "Third graph and below";
// So many places that an event's own collisions do not matter.
constexpr std::uint64_t kManyPlaces = 65536;
constexpr std::uint64_t kStrangers = 0x5eed;

Result<Array> full_array(const Shape& shape, const Context& context) {
  auto array = make_array(shape, context);
  if (array) {
    insert_events(*array, Events(context.seed), 0, events_to_fill(shape));
  }
  return array;
}

Result<Estimate> plateau(const Shape& shape, std::uint64_t trials, const Context& context) {
  MANKAI_ASSIGN(const auto array, full_array(shape, context));
  return beside(strangers_known(array, context.seed + kStrangers, trials), text_plateau(shape), trials);
}

// What the formula leaves out: f is a little higher where a fingerprint is left for empty places, and some pairs of an
// event's places are one place or were overwritten by one event, so that they match together.
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
    findings.judged({.id = fmt::format("single-place-{}", b),
                     .place = kFingerprints,
                     .claim = fmt::format("The probability of a false positive at a single place is 2^-b (b = {}, the "
                                          "text's array).",
                                          b),
                     .formula = "f = 2^-b",
                     .expected = {.value = chance_match(b)},
                     .measured = strangers_known(text, context.seed + kStrangers, trials)});
    const auto ours = plateau(shape, trials, context);
    if (!ours) {
      return std::unexpected(ours.error());
    }
    findings.judged({.id = fmt::format("single-place-{}-ours", b),
                     .place = kFingerprints,
                     .claim = fmt::format("The same where a fingerprint is left for empty places (b = {}, ours).", b),
                     .formula = "f = 1 / (2^b - 1)",
                     .expected = {.value = chance_match_reserved(b)},
                     .measured = *ours});
  }
  return {};
}

struct Wanted {
  std::uint32_t b;
  std::uint32_t n;
};
constexpr std::array<Wanted, 13> kPlateaus = {
    {{4, 4}, {4, 32}, {8, 1}, {8, 2}, {8, 3}, {8, 4}, {8, 8}, {8, 16}, {8, 32}, {16, 4}, {16, 8}, {16, 16}, {16, 32}}};

void judge_advice(const Shape& shape, const Estimate& measured, Findings& findings) {
  constexpr double kHundred = 100;
  const auto at_most = [&](const char* id, const char* what, double rate) {
    findings.judged({.id = id,
                     .place = "Practical choices",
                     .claim = what,
                     .formula = fmt::format("1 - (1 - 2^-{})^{}, at most {:g} %", shape.b, shape.n, kHundred * rate),
                     .expected = {.value = rate, .relation = Relation::at_most},
                     .measured = measured});
  };
  if (shape.b == 8 && shape.n == 3) {
    at_most("advice-8", "b = 8 is a practical choice for n < 4: at most 1.2 % of absent keys are reported as present.",
            0.012);
  }
  if (shape.b == 16 && shape.n == 32) {
    at_most("advice-16", "b = 16 is a practical choice for n from 4 to 32: at most 0.05 % of absent keys.", 0.0005);
  }
  if (shape.b == 16 && shape.n == 4) {
    findings.judged({.id = "advice-4",
                     .place = "Practical choices",
                     .claim = "From n = 4 on b = 16, because b = 8 would have more than 1.2 %: b = 16 at n = 4 is far "
                              "below.",
                     .formula = "1 - (1 - 2^-16)^4 = 0.006 %, a 250th of b = 8's 1.55 %, for twice the bytes",
                     .expected = {.value = text_plateau({.n = 4, .b = 8}) / kHundred, .relation = Relation::at_most},
                     .measured = measured});
  }
  if (shape.b == 8 && shape.n == 32) {
    findings.judged({.id = "high-for-many",
                     .place = kThirdGraph,
                     .claim = "The effect of false positives is surprisingly high for a big n: more than a tenth of "
                              "absent keys for n = 32, b = 8.",
                     .formula = "1 - (1 - 2^-8)^32 = 11.8 %, thirty times a single place's",
                     .expected = {.value = 0.1, .relation = Relation::at_least},
                     .measured = measured});
  }
  if (shape.b == 4 && shape.n == 32) {
    findings.judged({.id = "no-small-b-for-many",
                     .place = kThirdGraph,
                     .claim =
                         "A small b cannot be chosen when n is large: with b = 4, n = 32 most absent keys are taken "
                         "for known.",
                     .formula = "1 - (1 - 2^-4)^32 = 87 %, at least a half",
                     .expected = {.value = 0.5, .relation = Relation::at_least},
                     .measured = measured});
  }
}

Result<void> measure_plateaus(const Context& context, Findings& findings) {
  Figure figure{.name = "plateau",
                .title = "What the curves end at: false positives",
                .caption =
                    "Absent keys that a full array of 65536 places reports as present. The formula is the text's, "
                    "1 - (1 - 2^-b)^n.",
                .x = {.label = "n", .is_logarithmic = true},
                .y = {.label = "false positive rate", .is_logarithmic = true},
                .columns = {"b", "n", "formula", "measured", "error"}};
  for (const Wanted& wanted : kPlateaus) {
    const Shape shape{.s = kManyPlaces, .n = wanted.n, .b = wanted.b};
    context.progress(fmt::format("plateau, n = {}, b = {}", shape.n, shape.b));
    const std::uint64_t trials =
        shape.b > 8 ? context.trials(1'500'000, 60'000'000) : context.trials(150'000, 6'000'000);
    const auto rate = plateau(shape, trials, context);
    if (!rate) {
      return std::unexpected(rate.error());
    }
    findings.judged(
        {.id = fmt::format("plateau-{}-{}", shape.b, shape.n),
         .place = kThirdGraph,
         .claim = fmt::format("The curve does not approach zero but the rate of false positives ({}, b = "
                              "{}).",
                              shown(shape), shape.b),
         .formula = "1 - (1 - 2^-b)^n; within what it leaves out, mostly that ours has one fingerprint fewer",
         .expected = {.value = text_plateau(shape), .tolerance = left_out(shape)},
         .measured = *rate});
    judge_advice(shape, *rate, findings);
    figure.rows.push_back(
        {fmt::format("{}", shape.b), static_cast<double>(shape.n), text_plateau(shape), rate->value, rate->error});
  }
  std::size_t colour = 0;
  for (const char* const b : {"4", "8", "16"}) {
    figure.series.push_back({.title = fmt::format("b = {}", b),
                             .x = "n",
                             .y = "formula",
                             .is_line = true,
                             .only = {{"b", b}},
                             .colour = colour});
    figure.series.push_back(
        {.title = "", .x = "n", .y = "measured", .error = "error", .only = {{"b", b}}, .colour = colour});
    ++colour;
  }
  findings.add(std::move(figure));
  return {};
}

Result<void> measure_empty(const Context& context, Findings& findings) {
  const std::uint64_t trials = context.trials(300'000, 3'000'000);
  for (const std::uint32_t n : {2U, 8U}) {
    const Shape shape{.n = n, .b = 8};
    const auto ours = make_array(shape, context);
    if (!ours) {
      return std::unexpected(ours.error());
    }
    const Estimate theirs = strangers_known(TextArray(shape), context.seed + kStrangers, trials);
    // One fingerprint an event: either all places match or none.
    findings.judged({.id = fmt::format("empty-text-{}", n),
                     .place = "Not in the text",
                     .claim = fmt::format("An empty array knows nothing ({}, b = 8, the text's array).", shown(shape)),
                     .formula = "absent keys known = 0",
                     .expected = {.value = 0},
                     .measured = theirs,
                     .recorded = Verdict::refuted,
                     .basis = "Nothing is said about empty places. They are zeros, and so is the fingerprint of one "
                              "event in 2^b: 0.39 %.",
                     .reason = "One fingerprint for all places of an event."});
    findings.judged(
        {.id = fmt::format("empty-code-{}", n),
         .place = "Code",
         .claim = fmt::format("An empty array knows nothing ({}, the code's array, random keys).", shown(shape)),
         .formula = "absent keys known = 0",
         .expected = {.value = 0},
         .measured = strangers_known(CodeArray(shape), context.seed + kStrangers, trials),
         .recorded = Verdict::refuted,
         .basis = "A fingerprint for each place, each 0 for one in 2^b: 1 - (1 - 2^-b)^n.",
         .reason = fmt::format("The formula has {:.4f}.", text_plateau(shape))});
    const Estimate empty = strangers_known(*ours, context.seed + kStrangers, trials);
    findings.judged({.id = fmt::format("empty-ours-{}", n),
                     .place = "Not in the text",
                     .claim = fmt::format("An empty array knows nothing ({}, b = 8, ours).", shown(shape)),
                     .formula = "no event has the fingerprint of an empty place: absent keys known = 0",
                     .expected = {.value = 0},
                     .measured = {.value = empty.value}});
  }
  return {};
}

}  // namespace

Result<void> measure_plateau(const Context& context, Findings& findings) {
  for (const auto measure : {measure_single_place, measure_plateaus, measure_empty}) {
    MANKAI_TRY(measure(context, findings));
  }
  return {};
}

Result<void> measure_min_matches(const Context& context, Findings& findings) {
  constexpr std::uint32_t kN = 8;
  constexpr std::uint32_t kB = 8;
  constexpr double kHalf = 0.5;
  for (std::uint32_t r = 1; r <= 3; ++r) {
    context.progress(fmt::format("at least {} matches", r));
    const Shape shape{.s = kManyPlaces, .n = kN, .b = kB, .r = r};
    const auto rate = plateau(shape, context.trials(r == 1 ? 300'000 : 3'000'000, 60'000'000), context);
    if (!rate) {
      return std::unexpected(rate.error());
    }
    const double formula = text_plateau(shape);
    constexpr double kHundred = 100;
    findings.judged({.id = fmt::format("min-matches-{}-rate", r),
                     .place = "Code, minHits",
                     .claim = fmt::format("Asking for {} of 8 matches leaves false positives of {:.2g} % (b = 8).", r,
                                          kHundred * formula),
                     .formula = "probability of r chance matches among n, f = 2^-b",
                     .expected = {.value = formula, .tolerance = left_out(shape)},
                     .measured = *rate});
    const Shape small{.s = 2000, .n = kN, .b = kB, .r = r};
    const double half_life = text_age(small, kHalf);
    MANKAI_ASSIGN(const auto known,
                  survey(small, static_cast<std::size_t>(half_life) * 2, context.trials(4000, 100'000), context));
    const Estimate measured = crossing(known, small, kHalf);
    const auto s = static_cast<double>(small.s);
    findings.judged({.id = fmt::format("min-matches-{}-half-life", r),
                     .place = "Code, minHits",
                     .claim = fmt::format("And takes the half-life to {:.3f} s.", half_life / s),
                     .formula = fmt::format("P[Binomial(8, p + (1 - p) f) >= {}] = 1/2; within a hundredth", r),
                     .unit = "of s",
                     .expected = {.value = half_life / s, .tolerance = half_life / s / kHundred},
                     .measured = {.value = measured.value / s, .error = measured.error / s}});
  }
  return {};
}

}  // namespace mankai::lab::forgetting
