#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <numeric>

#include "lab/parts.hpp"
#include "lab/web_profiling/visits.hpp"
#include "mankai/input/line_reader.hpp"

namespace mankai::lab::profiling {
namespace {

constexpr double kCold = 0.85;        // of the pages
constexpr double kColdVisits = 0.10;  // of the visits, at most
constexpr double kHot = 0.10;
constexpr double kHotVisits = 0.90;  // "up to"

// Visits per page, most first, of pages that have any.
using Ranked = std::vector<std::uint64_t>;

Ranked ranked(Ranked counts) {
  std::ranges::sort(counts, std::greater<>());
  counts.erase(std::ranges::find(counts, 0U), counts.end());
  return counts;
}

std::uint64_t sum_of(const Ranked& counts) { return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}); }

double share_of_hottest(const Ranked& counts, double pages) {
  const auto first = static_cast<std::ptrdiff_t>(pages * static_cast<double>(counts.size()));
  return static_cast<double>(std::accumulate(counts.begin(), counts.begin() + first, std::uint64_t{0})) /
         static_cast<double>(sum_of(counts));
}

struct Skew {
  Figure linear;
  Figure logarithmic;
  Figure cumulative;

  void add(const std::string& name, const Ranked& counts, bool is_drawn = true) {
    const auto all = static_cast<double>(sum_of(counts));
    double visits = 0;
    std::size_t next = 1;
    for (std::size_t page = 1; page <= counts.size(); ++page) {
      visits += static_cast<double>(counts[page - 1]);
      if (page == next || page == counts.size()) {
        const double pages = static_cast<double>(page) / static_cast<double>(counts.size());
        linear.rows.push_back({name, page, counts[page - 1], 100 * static_cast<double>(counts[page - 1]) / all});
        cumulative.rows.push_back({name, pages, visits / all});
        next = std::max(page + 1, page * 5 / 4);
      }
    }
    if (!is_drawn) {
      return;
    }
    linear.series.push_back(
        {.title = name, .x = "rank", .y = "share of visits (%)", .is_line = true, .only = {{"data", name}}});
    cumulative.series.push_back(
        {.title = name, .x = "share of pages", .y = "share of visits", .is_line = true, .only = {{"data", name}}});
  }
};

struct Shares {
  Estimate cold{};
  Estimate hot{};
};

// The generator is held against Zipf's law, so that the exponents below are what they are called.
Shares judge_zipf(double z, const Context& context, Findings& findings, Skew& skew) {
  const Workload workload{
      .visits = context.trials(200'000, 5'000'000), .pages = 40'000, .per_epoch = 5'000'000, .z = z};
  const Visits visits = draw(workload, context);
  const auto pages = static_cast<double>(workload.pages);
  const auto hot = static_cast<std::uint64_t>(kHot * pages);
  const auto warm = static_cast<std::uint64_t>((1 - kCold) * pages);
  const auto to = [&](std::uint64_t end) {
    return static_cast<std::uint64_t>(std::ranges::count_if(visits.pages, [end](auto page) { return page < end; }));
  };
  const Shares shares{.cold = share(workload.visits - to(warm), workload.visits),
                      .hot = share(to(hot), workload.visits)};
  findings.judged({"shares-zipf-{:.0f}", z * 10, z}, equals(harmonic(hot, z) / harmonic(workload.pages, z)),
                  shares.hot);
  skew.add(fmt::format("Zipf, z = {}", z), ranked(visits_of_pages(visits)), z >= 1);
  return shares;
}

// The visits that the hottest pages get, on each log: "up to" is about the largest.
struct Hottest {
  double least = 1;
  double most = 0;
  std::string of{};

  void add(const char* what, double share) {
    least = std::min(least, share);
    of = share > most ? what : of;
    most = std::max(most, share);
  }
};

void judge_data(const char* id, const char* what, const Ranked& counts, Hottest& hottest, Findings& findings,
                Skew& skew) {
  findings.judged({"cold-pages-{}", id, what, sum_of(counts), counts.size()}, at_most(kColdVisits),
                  exact(1 - share_of_hottest(counts, 1 - kCold)));
  hottest.add(what, share_of_hottest(counts, kHot));
  // The second log of a site and a site of 62 pages are in the tables only: a plot has seven colors.
  const std::string_view name = id;
  skew.add(id, counts, name != "nasa-august" && name != "judge");
}

void skip_data(const char* id, const char* what, Findings& findings) {
  findings.skipped({"cold-pages-{}", id, what, 0, 0}, at_most(kColdVisits), Missing::data);
}

constexpr const char* kSites = "sites";
constexpr const char* kSitesWhat = "hosts of the government of the United States, 30 days up to 8 April 2025";

// The last column has the visits of 30 days. Hosts with fewer than 100 are not listed.
Result<Ranked> read_sites(const std::string& path) {
  MANKAI_ASSIGN(auto source, ::mankai::Source::open(path));
  MANKAI_ASSIGN(auto reader, LineReader::create(std::move(source)));
  Ranked counts;
  while (true) {
    MANKAI_ASSIGN(const auto lines, reader.next_batch());
    if (lines.empty()) {
      return ranked(std::move(counts));
    }
    for (const std::string_view line : lines) {
      if (!line.starts_with("hostname,")) {
        std::from_chars(line.data() + line.rfind(',') + 1, line.data() + line.size(), counts.emplace_back());
      }
    }
  }
}

Result<void> measure_data(const Context& context, Findings& findings, Skew& skew) {
  Hottest hottest;
  for (const Log& log : kLogs) {
    if (!context.data_dir) {
      skip_data(log.id, log.what, findings);
      continue;
    }
    MANKAI_ASSIGN(const auto visits, read_log(path_of(log, context), kLogHalfLife, context));
    judge_data(log.id, log.what, ranked(visits_of_pages(visits)), hottest, findings, skew);
  }
  if (!context.data_dir) {
    skip_data(kSites, kSitesWhat, findings);
    findings.skipped({"hot-pages", 0.0, 0.0, ""}, at_least(kHotVisits), Missing::data);
    return {};
  }
  MANKAI_ASSIGN(const auto sites, read_sites(*context.data_dir + "/urls/usgov-dap-host-visits-a.csv.zst"));
  judge_data(kSites, kSitesWhat, sites, hottest, findings, skew);
  constexpr double kHundred = 100;
  findings.judged({"hot-pages", kHundred * hottest.least, kHundred * hottest.most, hottest.of}, at_least(kHotVisits),
                  exact(hottest.most));
  return {};
}

}  // namespace

Result<void> measure_skew(const Context& context, Findings& findings) {
  Skew skew{.linear = findings.figure("figure-1"),
            .logarithmic = findings.figure("figure-1-logarithmic"),
            .cumulative = findings.figure("cumulative")};
  judge_zipf(0.8, context, findings, skew);
  judge_zipf(1.0, context, findings, skew);
  const Shares steep = judge_zipf(1.2, context, findings, skew);
  findings.judged("cold-pages-zipf", at_most(kColdVisits), steep.cold);
  findings.judged("hot-pages-zipf", at_least(kHotVisits), steep.hot);
  MANKAI_TRY(measure_data(context, findings, skew));
  skew.logarithmic.rows = skew.linear.rows;
  skew.logarithmic.series = skew.linear.series;
  findings.add(std::move(skew.linear));
  findings.add(std::move(skew.logarithmic));
  findings.add(std::move(skew.cumulative));
  return {};
}

}  // namespace mankai::lab::profiling
