#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>

#include "lab/dablooms/filters.hpp"
#include "lab/dablooms/parts.hpp"

namespace mankai::lab::spam {
namespace {

constexpr const char* kQueries = "Solving Scale, paragraph 4 and its formula";
constexpr const char* kBounded = "Solving Scale, paragraph 5 and its formula";
constexpr const char* kSufficient = "Solving Scale, paragraph 6";
constexpr double kRate = 0.01;
constexpr std::size_t kMostSlices = 32;
constexpr std::array<std::size_t, 6> kSlices = {1, 2, 4, 8, 16, kMostSlices};
// A tightening of 1, which is none, is refused; this one is none to 1e-8.
constexpr double kNone = 1 - 1e-9;

struct Mode {
  const char* id;
  const char* name;
  double tightening;
  FprBound bound;

  // What the article's formula has for filter i.
  [[nodiscard]] double first_rate() const { return bound == FprBound::total ? kRate * (1 - tightening) : kRate; }
  [[nodiscard]] double formula(std::size_t slices) const {
    double all_no = 1;
    for (std::size_t i = 0; i < slices; ++i) {
      all_no *= 1 - first_rate() * std::pow(tightening, static_cast<double>(i));
    }
    return 1 - all_no;
  }
  // The same with the printed sum in place of the product.
  [[nodiscard]] double printed(std::size_t slices) const {
    double sum = 0;
    for (std::size_t i = 0; i < slices; ++i) {
      sum += 1 - first_rate() * std::pow(tightening, static_cast<double>(i));
    }
    return 1 - sum;
  }
};

constexpr Mode kNaive{"naive", "no tightening", kNone, FprBound::first};
constexpr Mode kArticle{"nine-tenths", "r = 0.9, as in the article", 0.9, FprBound::first};
constexpr Mode kArticleHalf{"half", "r = 0.5, as in the article", 0.5, FprBound::first};
constexpr Mode kArticleDivided{"nine-tenths-divided", "r = 0.9, P0 / 10", 0.9, FprBound::total};
constexpr Mode kCode{"code", "r = 0.5, as in the code", 0.5, FprBound::total};
constexpr std::array<Mode, 5> kModes = {kNaive, kArticle, kArticleHalf, kArticleDivided, kCode};

struct Measured {
  Mode mode;
  std::size_t slices;
  Estimate rate;  // of any such filter
  std::uint64_t missed;

  // Counters are whole, which a filter made for n keys notices by k / n of its rate at most.
  [[nodiscard]] Expected expected(Relation relation, double value, std::uint64_t keys) const {
    constexpr double kProbes = 32;
    return {.value = value, .relation = relation, .tolerance = std::abs(value) * kProbes / static_cast<double>(keys)};
  }
};

Result<std::vector<Measured>> measure_mode(const Mode& mode, std::uint64_t keys, const Context& context) {
  MANKAI_ASSIGN(auto filter, make_ours({.keys = keys,
                                        .fpr = kRate,
                                        .growth = {.factor = 1, .tightening = mode.tightening, .bound = mode.bound}},
                                       context));
  const Keys numbers(context.seed);
  std::vector<Measured> measured;
  std::uint64_t inserted = 0;
  for (const std::size_t slices : kSlices) {
    insert_members(filter, numbers, inserted, keys * slices);
    inserted = keys * slices;
    const Estimate rate = strangers_let_through(filter, numbers, context.trials(100'000, 2'000'000));
    measured.push_back({.mode = mode,
                        .slices = slices,
                        .rate = widened(rate, formula_rate(parts_of(filter.filter())).error),
                        .missed = count_missed(filter, numbers, {.end = inserted})});
  }
  return measured;
}

using All = std::vector<std::vector<Measured>>;  // in the order of kModes

const Measured& at(const All& all, const Mode& mode, std::size_t slices) {
  for (const auto& measured : all) {
    for (const Measured& one : measured) {
      if (one.slices == slices && std::string_view(one.mode.name) == mode.name) {
        return one;
      }
    }
  }
  MANKAI_ASSERT(false);
  return all.front().front();
}

void judge_naive(const All& all, std::uint64_t keys, Findings& findings) {
  std::uint64_t missed = 0;
  for (const auto& measured : all) {
    missed += measured.back().missed;
  }
  findings.judged({.id = "found-in-any-filter",
                   .place = kQueries,
                   .claim = "Every filter is asked, and a key is present if it is found in any of them.",
                   .formula = "members of 32 filters that are denied = 0",
                   .unit = "members",
                   .expected = {.value = 0},
                   .measured = {.value = static_cast<double>(missed)}});
  for (const std::size_t slices : kSlices) {
    const Measured& one = at(all, kNaive, slices);
    findings.judged({.id = fmt::format("naive-{}", slices),
                     .place = kQueries,
                     .claim = fmt::format("Filters of one rate have a compounding error: {} of them.", slices),
                     .formula = fmt::format("1 - PRODUCT(1 - P) = 1 - 0.99^{}", slices),
                     .expected = one.expected(Relation::equals, kNaive.formula(slices), keys),
                     .measured = one.rate});
  }
  findings.judged({.id = "printed-sum",
                   .place = kQueries,
                   .claim = "The error is 1 - SUM(1 - P), as printed: 2 filters.",
                   .formula = "1 - (0.99 + 0.99) = -0.98",
                   .expected = {.value = kNaive.printed(2)},
                   .measured = at(all, kNaive, 2).rate,
                   .recorded = Verdict::refuted,
                   .basis = "A misprint: from 2 filters on the sum is above 1, so that the formula gives a negative "
                            "probability. With a product in place of the sum it holds, as the claims beside it show."});
}

void judge_tightened(const All& all, std::uint64_t keys, Findings& findings) {
  for (const Mode& mode : {kArticle, kArticleHalf}) {
    const Measured& one = at(all, mode, kMostSlices);
    const std::string r = fmt::format("{}", mode.tightening);
    findings.judged({.id = fmt::format("tightened-{}", mode.id),
                     .place = kBounded,
                     .claim = fmt::format("With a tightening ratio of {} the error of 32 filters follows the formula, "
                                          "its sum read as a product.",
                                          r),
                     .formula = fmt::format("1 - PRODUCT(1 - 0.01 * {}^i), i = 0 to 31", r),
                     .expected = one.expected(Relation::equals, mode.formula(kMostSlices), keys),
                     .measured = one.rate});
    findings.judged(
        {.id = fmt::format("bounded-{}", mode.id),
         .place = kBounded,
         .claim = fmt::format("A tightening ratio of {} bounds the error, however many filters there are.", r),
         .formula = "SUM(P0 r^i) = P0 / (1 - r), which no number of filters exceeds; 32 of them here",
         .expected = {.value = kRate / (1 - mode.tightening), .relation = Relation::at_most},
         .measured = one.rate});
  }
  findings.judged({.id = "printed-sum-tightened",
                   .place = kBounded,
                   .claim = "The bounded error is 1 - SUM(1 - P0 r^i), as printed: 32 filters at r = 0.9.",
                   .formula = "1 - SUM(1 - 0.01 * 0.9^i) = -30.9",
                   .expected = {.value = kArticle.printed(kMostSlices)},
                   .measured = at(all, kArticle, kMostSlices).rate,
                   .recorded = Verdict::refuted,
                   .basis = "The same misprint: a sum where the product belongs."});
}

void judge_sufficient(const All& all, std::uint64_t keys, Findings& findings) {
  findings.judged({.id = "point-nine-is-sufficient",
                   .place = kSufficient,
                   .claim = "r = 0.9 is sufficient: the error stays below P0, the error of the first filter.",
                   .formula = "SUM(P0 0.9^i) = 10 P0; with 32 filters 0.092",
                   .expected = {.value = kRate, .relation = Relation::at_most},
                   .measured = at(all, kArticle, kMostSlices).rate,
                   .recorded = Verdict::refuted,
                   .basis = "The geometric series says so: at r = 0.9 its sum is ten times its first term."});
  findings.judged({.id = "point-nine-divided-by-ten",
                   .place = kSufficient,
                   .claim = "r = 0.9 is sufficient when P0 is divided by 10: the error stays below P0.",
                   .formula = "SUM(P0 / 10 * 0.9^i) = P0",
                   .expected = {.value = kRate, .relation = Relation::at_most},
                   .measured = at(all, kArticleDivided, kMostSlices).rate});
  const Measured& code = at(all, kCode, kMostSlices);
  findings.judged(
      {.id = "code-halves",
       .place = "Code, against Solving Scale, paragraph 6",
       .claim = "The code takes 0.5 instead, and half of P0 for the first filter: the error stays below P0.",
       .formula = "SUM(P0 0.5^(i+1)) = P0",
       .expected = {.value = kRate, .relation = Relation::at_most},
       .measured = code.rate});
  findings.judged({.id = "code-halves-formula",
                   .place = "Code, against Solving Scale, paragraph 6",
                   .claim = "What the code's 32 filters come to.",
                   .formula = "1 - PRODUCT(1 - 0.01 * 0.5^(i+1)), i = 0 to 31",
                   .expected = code.expected(Relation::equals, kCode.formula(kMostSlices), keys),
                   .measured = code.rate});
}

// Filter i's positions come from two words modulo its size, so an absent key that agrees with a member in both has all
// of its positions: a chance of n / size^2, which no number of probes lessens.
Result<void> judge_small(const Context& context, Findings& findings) {
  constexpr Shape kSmall{.keys = 1000, .fpr = 0.05};
  constexpr std::uint64_t kFilters = 20;
  const Keys numbers(context.seed);
  auto theirs = make_theirs(kSmall, context);
  auto ours = make_ours(kSmall, context);
  if (!ours) {
    return std::unexpected(ours.error());
  }
  insert_members(theirs, numbers, 0, kFilters * kSmall.keys);
  insert_members(*ours, numbers, 0, kFilters * kSmall.keys);
  std::vector<Estimate> rates;
  for (std::size_t i = 0; i < theirs.filter().slice_count(); ++i) {
    const Original::Slice& slice = theirs.filter().slice(i);
    const Part part{.keys = static_cast<double>(slice.keys),
                    .size = static_cast<double>(slice.size),
                    .k = static_cast<double>(slice.k)};
    rates.push_back(formula_rate(part));
    rates.push_back({.value = part.keys / (part.size * part.size)});
  }
  const Estimate formula = any_of(rates);
  const std::uint64_t trials = context.trials(200'000, 4'000'000);
  const Estimate rate = widened(strangers_let_through(theirs, numbers, trials), formula.error);
  findings.judged(
      {.id = "small-filters-original",
       .place = "Code, against Solving Scale, paragraph 5",
       .claim = "The error stays bounded by P0 = 5 % in 20 filters for 1000 keys each (model of the original).",
       .formula = "at most P0",
       .expected = {.value = kSmall.fpr, .relation = Relation::at_most},
       .measured = rate,
       .recorded = Verdict::refuted,
       .basis = "Positions are h1 + i h2 modulo the size, so each filter has an error of at least n / size^2, "
                "0.0006 here, whatever it is made for, and 20 of them 0.01 more than they should."});
  findings.judged({.id = "small-filters-formula",
                   .place = "Code, against Solving Scale, paragraph 5",
                   .claim = "What that comes to (model of the original).",
                   .formula = "1 - PRODUCT(1 - p_i)(1 - n / size_i^2)",
                   .expected = {.value = formula.value, .tolerance = 0.01 * formula.value},
                   .measured = rate});
  findings.judged({.id = "small-filters-ours",
                   .place = "Code, against Solving Scale, paragraph 5",
                   .claim = "The same in ours, whose positions come from all 64 bits.",
                   .formula = "at most P0",
                   .expected = {.value = kSmall.fpr, .relation = Relation::at_most},
                   .measured = strangers_let_through(*ours, numbers, trials)});
  return {};
}

Figure figure_of(const All& all) {
  Figure figure{
      .name = "compounded-error",
      .title = "The error of many filters together",
      .caption =
          "Equal filters at P0 = 1 %, all full. Lines are 1 - PRODUCT(1 - P0 r^i). The article's r = 0.9 goes "
          "to ten times P0; divided by ten, or with the code's halving, P0 holds.",
      .x = {.label = "filters", .is_logarithmic = true},
      .y = {.label = "chance of a false positive", .is_logarithmic = true},
      .columns = {"mode", "filters", "formula", "measured", "error"}};
  for (const auto& measured : all) {
    for (const Measured& one : measured) {
      figure.rows.push_back({one.mode.name, static_cast<double>(one.slices), one.mode.formula(one.slices),
                             one.rate.value, one.rate.error});
    }
  }
  for (std::size_t i = 0; i < kModes.size(); ++i) {
    const std::string mode = kModes.at(i).name;
    figure.series.push_back(
        {.title = "", .x = "filters", .y = "formula", .is_line = true, .only = {{"mode", mode}}, .colour = i});
    figure.series.push_back(
        {.title = mode, .x = "filters", .y = "measured", .error = "error", .only = {{"mode", mode}}, .colour = i});
  }
  return figure;
}

}  // namespace

Result<void> measure_compounding(const Context& context, Findings& findings) {
  const std::uint64_t keys = context.trials(4000, 50'000);
  All all;
  for (const Mode& mode : kModes) {
    MANKAI_ASSIGN(auto measured, measure_mode(mode, keys, context));
    all.push_back(std::move(measured));
  }
  judge_naive(all, keys, findings);
  judge_tightened(all, keys, findings);
  judge_sufficient(all, keys, findings);
  findings.add(figure_of(all));
  return judge_small(context, findings);
}

}  // namespace mankai::lab::spam
