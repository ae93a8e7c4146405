#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "lab/web_profiling/parts.hpp"
#include "lab/web_profiling/profiles.hpp"

namespace mankai::lab::profiling {
namespace {

constexpr const char* kPlace = "Section 4.3, equation (5)";
constexpr double kCellsPerPage = 10;
constexpr unsigned kBest = 7;  // 10 ln 2 = 6.93
constexpr unsigned kMost = 14;

struct Load {
  std::uint64_t pages = 0;
  unsigned k = 1;
};

double formula(const Load& load) { return std::pow(-std::expm1(-static_cast<double>(load.k) / kCellsPerPage), load.k); }

// How far one filter's own rate strays from the formula: the deviation of its partitions' fills, one standard error.
double stray(const Load& load) {
  const double x = load.k / kCellsPerPage;
  const double cells = kCellsPerPage * static_cast<double>(load.pages) / load.k;
  const double deviation = std::sqrt((std::exp(-x) - (1 + x) * std::exp(-2 * x)) / cells);
  return formula(load) * std::sqrt(load.k) * deviation / -std::expm1(-x);
}

// Pages that all came in the running epoch, and absent keys asked for.
Result<Estimate> rate_of(const Load& load, const Context& context) {
  MANKAI_ASSIGN(auto basic, make_basic({.bytes = static_cast<std::uint64_t>(kCellsPerPage) * load.pages * 2,
                                        .k = load.k,
                                        .decay = *Decay::of(0.9, kDrawnEpoch),
                                        .policy = DecayPolicy::floor},
                                       context));
  Visits visits;
  Random random(context.seed);
  for (std::uint64_t page = 0; page < load.pages; ++page) {
    visits.names.emplace_back("page");
    visits.digests.push_back({random.next()});
    visits.pages.push_back(static_cast<std::uint32_t>(page));
  }
  basic->insert(visits, visits.pages, {1});
  const std::uint64_t trials = context.trials(200'000, 2'000'000);
  std::uint64_t yes = 0;
  for (std::uint64_t trial = 0; trial < trials; ++trial) {
    yes += static_cast<std::uint64_t>(basic->may_contain({random.next()}));
  }
  const Estimate rate = share(yes, trials);
  return Estimate{.value = rate.value, .error = std::hypot(rate.error, stray(load))};
}

void judge_rates(const std::vector<Estimate>& rates, Findings& findings) {
  for (const unsigned k : {2U, 4U, kBest}) {
    findings.judged(
        {.id = fmt::format("equation-5-k-{}", k),
         .place = kPlace,
         .claim = fmt::format("A page that never came is reported as present at the rate of (5): m / n = 10, "
                              "k = {}.",
                              k),
         .formula = "(1 - e^(-kn/m))^k",
         // The share of one cell, which the exponential neglects.
         .expected = {.value = formula({.k = k}), .tolerance = formula({.k = k}) / 1000},
         .measured = rates[k]});
  }
  for (const unsigned k : {kBest - 1, kBest + 1, kBest + 3}) {
    findings.judged({.id = fmt::format("equation-5-least-{}", k),
                     .place = kPlace,
                     .claim = fmt::format("The rate is least at k = (m / n) ln 2, 7 here: beside k = {}.", k),
                     .formula = "rate over the rate at k = 7, at least 1; the minimizer of (5)",
                     .unit = "times",
                     .expected = {.value = 1, .relation = Relation::at_least},
                     .measured = quotient(rates[k], rates[kBest])});
  }
  findings.judged({.id = "equation-5-least-other-reading",
                   .place = kPlace,
                   .claim = "The rate is least at (n / m) ln 2, as the garbled text could be read: k = 1, the least "
                            "there is.",
                   .formula = "rate over the rate at k = 7, at most 1",
                   .unit = "times",
                   .expected = {.value = 1, .relation = Relation::at_most},
                   .measured = quotient(rates[1], rates[kBest]),
                   .recorded = Verdict::refuted,
                   .basis = "The derivative of (5) vanishes at (m / n) ln 2."});
}

}  // namespace

Result<void> measure_false_positives(const Context& context, Findings& findings) {
  const std::uint64_t pages = context.trials(10'000, 40'000);
  Figure figure{.name = "false-positives",
                .title = "False positives over the number of hash functions",
                .caption =
                    "Counters that are not 0 for a page that never came. All pages came in the running epoch; "
                    "later only those whose counters have not faded to nothing count.",
                .x = {.label = "k"},
                .y = {.label = "rate", .is_logarithmic = true},
                .columns = {"k", "formula (5)", "measured", "error"},
                .series = {{.title = "formula (5)", .x = "k", .y = "formula (5)", .is_line = true, .colour = 0},
                           {.title = "measured", .x = "k", .y = "measured", .error = "error", .colour = 0}}};
  std::vector<Estimate> rates(kMost + 1);
  for (unsigned k = 1; k <= kMost; ++k) {
    MANKAI_ASSIGN(const auto rate, rate_of({.pages = pages, .k = k}, context));
    rates[k] = rate;
    figure.rows.push_back({static_cast<double>(k), formula({.k = k}), rate.value, rate.error});
  }
  judge_rates(rates, findings);
  findings.add(std::move(figure));
  return {};
}

}  // namespace mankai::lab::profiling
