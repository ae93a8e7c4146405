#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lab/parts.hpp"
#include "lab/web_profiling/visits.hpp"

namespace mankai::lab::profiling {
namespace {

constexpr double kCold = 0.85;        // of the pages
constexpr double kColdVisits = 0.10;  // of the visits, at most
constexpr double kHot = 0.10;
constexpr double kHotVisits = 0.90;  // "up to"

using Ranked = std::vector<std::uint64_t>;

Ranked rank(const Visits& visits) {
  Ranked counts(visits.names.size());
  for (const std::uint32_t page : visits.pages) {
    ++counts[page];
  }
  std::ranges::sort(counts, std::greater<>());
  while (!counts.empty() && counts.back() == 0) {
    counts.pop_back();
  }
  return counts;
}

double share_of_hottest(const Ranked& counts, double pages) {
  const auto first = static_cast<std::ptrdiff_t>(pages * static_cast<double>(counts.size()));
  const auto all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  return static_cast<double>(std::accumulate(counts.begin(), counts.begin() + first, std::uint64_t{0})) /
         static_cast<double>(all);
}

void add_curve(Figure& figure, const std::string& name, const Ranked& counts) {
  const auto all = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  double visits = 0;
  std::size_t next = 1;
  for (std::size_t page = 1; page <= counts.size(); ++page) {
    visits += static_cast<double>(counts[page - 1]);
    if (page == next || page == counts.size()) {
      figure.rows.push_back(
          {name, page, counts[page - 1], static_cast<double>(page) / static_cast<double>(counts.size()), visits / all});
      next = std::max(page + 1, page * 5 / 4);
    }
  }
  figure.series.push_back({.title = name, .x = "rank", .y = "visits", .only = {{"data", name}}});
}

// The formula's value for Zipf's law beside drawn visits: arithmetic decides whether the paper's sentence holds for an
// exponent.
void judge_zipf(double z, const Context& context, Findings& findings, Figure& figure) {
  const Workload workload{
      .visits = context.trials(200'000, 5'000'000), .pages = 40'000, .per_epoch = 5'000'000, .z = z};
  const Visits visits = draw(workload, context);
  const auto pages = static_cast<double>(workload.pages);
  const auto hot = static_cast<std::uint64_t>(kHot * pages);
  const auto warm = static_cast<std::uint64_t>((1 - kCold) * pages);
  const double all = harmonic(workload.pages, z);
  const double cold_formula = 1 - harmonic(warm, z) / all;
  const double hot_formula = harmonic(hot, z) / all;
  const auto to = [&](std::uint64_t end) {
    return static_cast<std::uint64_t>(std::ranges::count_if(visits.pages, [end](auto page) { return page < end; }));
  };
  const double ten_z = z * 10;
  findings.judged({"cold-pages-zipf-{:.0f}", ten_z, z, cold_formula}, at_most(kColdVisits),
                  share(workload.visits - to(warm), workload.visits));
  findings.judged({"hot-pages-zipf-{:.0f}", ten_z, z, hot_formula}, at_least(kHotVisits),
                  share(to(hot), workload.visits));
  findings.judged({"shares-zipf-{:.0f}", ten_z, z}, equals(hot_formula), share(to(hot), workload.visits));
  add_curve(figure, fmt::format("Zipf, z = {}", z), rank(visits));
}

void judge_log(const Log& log, const Visits& visits, Findings& findings, Figure& figure) {
  const Ranked counts = rank(visits);
  const double hot = share_of_hottest(counts, kHot);
  findings.undecided({"cold-pages-{}", log.id, log.what, visits.pages.size(), counts.size()}, at_most(kColdVisits),
                     exact(1 - share_of_hottest(counts, 1 - kCold)));
  findings.undecided({"hot-pages-{}", log.id, log.what, visits.pages.size(), counts.size()}, at_least(kHotVisits),
                     exact(hot));
  findings.judged({"biased-{}", log.id, log.what}, at_least(0.5), exact(hot));
  add_curve(figure, log.id, counts);
}

}  // namespace

Result<void> measure_skew(const Context& context, Findings& findings) {
  Figure figure = findings.figure("skew");
  for (const double z : {0.8, 1.0, 1.2}) {
    judge_zipf(z, context, findings, figure);
  }
  for (const Log& log : kLogs) {
    if (!context.data_dir) {
      findings.skipped({"skew-{}", log.id, log.what}, {}, Missing::data);
      continue;
    }
    MANKAI_ASSIGN(const auto visits, read_log(path_of(log, context), kLogHalfLife, context));
    judge_log(log, visits, findings, figure);
  }
  findings.add(std::move(figure));
  return {};
}

}  // namespace mankai::lab::profiling
