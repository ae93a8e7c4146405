#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "lab/web_profiling/logs.hpp"
#include "lab/web_profiling/parts.hpp"
#include "lab/web_profiling/visits.hpp"

namespace mankai::lab::profiling {
namespace {

constexpr const char* kPlace = "Section 3.3, figure 1";
constexpr double kCold = 0.85;        // of the pages
constexpr double kColdVisits = 0.10;  // of the visits, at most
constexpr double kHot = 0.10;
constexpr double kHotVisits = 0.90;  // "up to"

// Visits of each page, most first.
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

// The share of visits that the first so many of the pages have.
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
      figure.rows.push_back({name, static_cast<double>(page), static_cast<double>(counts[page - 1]),
                             static_cast<double>(page) / static_cast<double>(counts.size()), visits / all});
      next = std::max(page + 1, page * 5 / 4);
    }
  }
  figure.series.push_back({.title = name, .x = "rank", .y = "visits", .only = {{"data", name}}});
}

// What the formula gives for Zipf's law, and the draws beside it: whether the paper's sentence is true for an exponent
// is a matter of arithmetic.
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
  const auto id = [z](const char* what) { return fmt::format("{}-zipf-{:.0f}", what, z * 10); };
  const std::string basis = fmt::format("Zipf's law itself with z = {} does not.", z);
  findings.judged({.id = id("cold-pages"),
                   .place = kPlace,
                   .claim = fmt::format("More than 85 % of the pages share less than 10 % of the visits: Zipf, z = {}, "
                                        "40000 pages.",
                                        z),
                   .formula = fmt::format("at most 0.1; 1 - H_0.15n(z) / H_n(z) = {:.3f}", cold_formula),
                   .expected = {.value = kColdVisits, .relation = Relation::at_most},
                   .measured = share(workload.visits - to(warm), workload.visits),
                   .recorded = cold_formula <= kColdVisits ? Verdict::reproduced : Verdict::refuted,
                   .basis = cold_formula <= kColdVisits ? "" : basis});
  findings.judged({.id = id("hot-pages"),
                   .place = kPlace,
                   .claim = fmt::format("About 10 % of the pages get up to 90 % of the visits, read as 90 % at least: "
                                        "Zipf, z = {}, 40000 pages.",
                                        z),
                   .formula = fmt::format("at least 0.9; H_0.1n(z) / H_n(z) = {:.3f}", hot_formula),
                   .expected = {.value = kHotVisits, .relation = Relation::at_least},
                   .measured = share(to(hot), workload.visits),
                   .recorded = hot_formula >= kHotVisits ? Verdict::reproduced : Verdict::refuted,
                   .basis = hot_formula >= kHotVisits ? "" : basis});
  findings.judged({.id = id("shares"),
                   .place = kPlace,
                   .claim = fmt::format("The draws follow Zipf's law, z = {}: visits to the hottest 10 %.", z),
                   .formula = "H_0.1n(z) / H_n(z)",
                   .expected = {.value = hot_formula},
                   .measured = share(to(hot), workload.visits)});
  add_curve(figure, fmt::format("Zipf, z = {}", z), rank(visits));
}

void judge_log(const Log& log, const Visits& visits, Findings& findings, Figure& figure) {
  const Ranked counts = rank(visits);
  const double hot = share_of_hottest(counts, kHot);
  const std::string reason =
      fmt::format("On the site: {}, {} visits to {} pages.", log.what, visits.pages.size(), counts.size());
  findings.depends(
      {.id = fmt::format("cold-pages-{}", log.id),
       .place = kPlace,
       .claim = fmt::format("More than 85 % of the pages share less than 10 % of the visits: {}.", log.what),
       .formula = "visits to the 85 % of pages with the fewest",
       .expected = {.value = kColdVisits, .relation = Relation::at_most},
       .measured = {.value = 1 - share_of_hottest(counts, 1 - kCold)},
       .reason = reason});
  findings.depends({.id = fmt::format("hot-pages-{}", log.id),
                    .place = kPlace,
                    .claim = fmt::format("About 10 % of the pages get up to 90 % of the visits: {}.", log.what),
                    .formula = "visits to the 10 % of pages with the most",
                    .expected = {.value = kHotVisits, .relation = Relation::at_least},
                    .measured = {.value = hot},
                    .reason = reason});
  findings.judged(
      {.id = fmt::format("biased-{}", log.id),
       .place = "Section 3.3",
       .claim = fmt::format("The usage is quite biased, a small fraction gets very high hits: {}.", log.what),
       .formula = "10 % of the pages get half of the visits at least",
       .expected = {.value = 0.5, .relation = Relation::at_least},
       .measured = {.value = hot}});
  add_curve(figure, log.id, counts);
}

Figure empty_figure() {
  return {.name = "skew",
          .title = "Figure 1: visits of each page",
          .caption =
              "Pages by the number of their visits, most first; the table also has the share of pages and the "
              "share of visits so far. In the paper's figure 10 % of the pages have up to 90 %.",
          .x = {.label = "rank of the page", .is_logarithmic = true},
          .y = {.label = "visits", .is_logarithmic = true},
          .columns = {"data", "rank", "visits", "share of pages", "share of visits"}};
}

}  // namespace

Result<void> measure_skew(const Context& context, Findings& findings) {
  Figure figure = empty_figure();
  for (const double z : {0.8, 1.0, 1.2}) {
    judge_zipf(z, context, findings, figure);
  }
  for (const Log& log : kLogs) {
    if (!context.data_dir) {
      findings.skipped({.id = fmt::format("skew-{}", log.id),
                        .place = kPlace,
                        .claim = fmt::format("Few pages get most visits: {}.", log.what),
                        .formula = "visits to the hottest 10 % and to the other 85 % of pages"},
                       "needs --data");
      continue;
    }
    MANKAI_ASSIGN(const auto visits, read_log(path_of(log, context), kLogHalfLife, context));
    judge_log(log, visits, findings, figure);
  }
  findings.add(std::move(figure));
  return {};
}

}  // namespace mankai::lab::profiling
