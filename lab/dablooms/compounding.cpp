#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>

#include "lab/dablooms/filters.hpp"
#include "lab/parts.hpp"

namespace mankai::lab::spam {
namespace {

constexpr std::size_t kMostSlices = 32;
constexpr std::array<std::size_t, 6> kSlices = {1, 2, 4, 8, 16, kMostSlices};
// Practically no tightening: exactly 1 is refused.
constexpr double kNone = 1 - 1e-9;

struct Mode {
  const char* id;
  const char* name;
  double tightening;
  FprBound bound;

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
  Estimate rate;  // of any filter of this shape
  std::uint64_t missed;

  // Counters are whole, which changes the rate of a filter for n keys by at most k / n of it.
  [[nodiscard]] Expected expected(Relation relation, double value, std::uint64_t keys) const {
    constexpr double kProbes = 32;
    return {
        .value = value, .relation = relation, .formula_error = std::abs(value) * kProbes / static_cast<double>(keys)};
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
    const Estimate rate = rate_of(filter, numbers, context.trials(100'000, 2'000'000));
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
  findings.judged("found-in-any-filter", equals(0), exact(missed));
  for (const std::size_t slices : kSlices) {
    const Measured& one = at(all, kNaive, slices);
    findings.judged({"naive-{}", slices}, one.expected(Relation::equals, kNaive.formula(slices), keys), one.rate);
  }
  findings.judged("printed-sum", equals(kNaive.printed(2)), at(all, kNaive, 2).rate);
}

void judge_tightened(const All& all, std::uint64_t keys, Findings& findings) {
  for (const Mode& mode : {kArticle, kArticleHalf}) {
    const Measured& one = at(all, mode, kMostSlices);
    const std::string r = fmt::format("{}", mode.tightening);
    findings.judged({"tightened-{}", mode.id, r}, one.expected(Relation::equals, mode.formula(kMostSlices), keys),
                    one.rate);
    findings.judged({"bounded-{}", mode.id, r, 1 / (1 - mode.tightening)}, at_most(kRate / (1 - mode.tightening)),
                    one.rate);
  }
  findings.judged("printed-sum-tightened", equals(kArticle.printed(kMostSlices)), at(all, kArticle, kMostSlices).rate);
}

// Ours: what keeps the compounded error below P0, which the article does not ask for.
void judge_total(const All& all, std::uint64_t keys, Findings& findings) {
  findings.judged("point-nine-divided-by-ten", at_most(kRate), at(all, kArticleDivided, kMostSlices).rate);
  const Measured& code = at(all, kCode, kMostSlices);
  findings.judged("code-halves", at_most(kRate), code.rate);
  findings.judged("code-halves-formula", code.expected(Relation::equals, kCode.formula(kMostSlices), keys), code.rate);
}

// Filter i's positions come from two words modulo its size. An absent key that agrees with a member in both words has
// all of its positions. That has probability n / size^2, whatever the number of probes.
Result<void> judge_small(const Context& context, Findings& findings) {
  constexpr Shape kSmall{.keys = 1000, .fpr = 0.05};
  constexpr std::uint64_t kFilters = 20;
  const Keys numbers(context.seed);
  auto theirs = make_theirs(kSmall, context);
  MANKAI_ASSIGN(auto ours, make_ours(kSmall, context));
  insert_members(theirs, numbers, 0, kFilters * kSmall.keys);
  insert_members(ours, numbers, 0, kFilters * kSmall.keys);
  std::vector<Estimate> rates;
  for (std::size_t i = 0; i < theirs.filter().slice_count(); ++i) {
    const Original::Slice& slice = theirs.filter().slice(i);
    const Part part = part_of(slice, slice.keys);
    rates.push_back(formula_rate(part));
    rates.push_back({.value = part.keys / (part.size * part.size)});
  }
  const Estimate formula = any_of(rates);
  const std::uint64_t trials = context.trials(200'000, 4'000'000);
  const Estimate rate = widened(rate_of(theirs, numbers, trials), formula.error);
  findings.judged("small-filters-original", at_most(kSmall.fpr), rate);
  findings.judged("small-filters-formula", equals(formula.value), rate);
  findings.judged("small-filters-ours", at_most(kSmall.fpr), rate_of(ours, numbers, trials));
  return {};
}

Figure figure_of(const All& all, const Findings& findings) {
  Figure figure = findings.figure("compounded-error");
  for (const auto& measured : all) {
    for (const Measured& one : measured) {
      figure.rows.push_back({one.mode.name, one.slices, one.mode.formula(one.slices), one.rate.value, one.rate.error});
    }
  }
  for (const Mode& one : kModes) {
    const std::string mode = one.name;
    figure.add_series("formula", "",
                      {.title = mode, .x = "filters", .y = "measured", .error = "error", .only = {{"mode", mode}}});
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
  judge_total(all, keys, findings);
  findings.add(figure_of(all, findings));
  return judge_small(context, findings);
}

}  // namespace mankai::lab::spam
