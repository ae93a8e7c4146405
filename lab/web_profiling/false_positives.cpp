#include <algorithm>
#include <cmath>
#include <vector>

#include "lab/parts.hpp"
#include "lab/web_profiling/profiles.hpp"

namespace mankai::lab::profiling {
namespace {

constexpr double kCellsPerPage = 10;
constexpr unsigned kBest = 7;  // 10 ln 2 = 6.93
constexpr unsigned kMost = 14;

struct Load {
  std::uint64_t pages = 0;
  unsigned k = 1;
};

double formula(const Load& load) { return std::pow(-std::expm1(-static_cast<double>(load.k) / kCellsPerPage), load.k); }

// Standard deviation of one filter's rate from the formula, caused by the fills of its partitions.
double stray(const Load& load) {
  const double x = load.k / kCellsPerPage;
  const double cells = kCellsPerPage * static_cast<double>(load.pages) / load.k;
  return formula(load) * std::sqrt(load.k) * fill_deviation(x, cells) / -std::expm1(-x);
}

// All pages were visited in the current epoch.
Result<Estimate> rate_of(const Load& load, const Context& context) {
  MANKAI_ASSIGN(auto basic, kMakeBasic({.bytes = static_cast<std::uint64_t>(kCellsPerPage) * load.pages * 2,
                                        .k = load.k,
                                        .decay = drawn_decay(0.9),
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
  const std::uint64_t trials = context.trials(400'000, 4'000'000);
  const auto is_yes = [&](std::uint64_t /*trial*/) { return basic->may_contain({random.next()}); };
  return widened(share(count_of(0, trials, is_yes), trials), stray(load));
}

void judge_rates(const std::vector<Estimate>& rates, Findings& findings) {
  for (const unsigned k : {2U, 4U, kBest}) {
    findings.judged({"equation-5-k-{}", k}, equals(formula({.k = k})), rates[k]);
  }
  const auto least = std::ranges::min_element(rates.begin() + 1, rates.end(), {}, &Estimate::value);
  findings.judged("equation-5-minimizer", equals(kBest), exact(least - rates.begin()));
}

}  // namespace

Result<void> measure_false_positives(const Context& context, Findings& findings) {
  const std::uint64_t pages = context.trials(10'000, 40'000);
  Figure figure = findings.figure("false-positives");
  std::vector<Estimate> rates(kMost + 1);
  for (unsigned k = 1; k <= kMost; ++k) {
    MANKAI_ASSIGN(const auto rate, rate_of({.pages = pages, .k = k}, context));
    rates[k] = rate;
    figure.rows.push_back({k, formula({.k = k}), rate.value, rate.error});
  }
  judge_rates(rates, findings);
  findings.add(std::move(figure));
  return {};
}

}  // namespace mankai::lab::profiling
