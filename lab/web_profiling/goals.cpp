#include <fmt/format.h>

#include <cmath>

#include "lab/parts.hpp"
#include "lab/web_profiling/printed.hpp"
#include "lab/web_profiling/profiles.hpp"

namespace mankai::lab::profiling {
namespace {

// Goal 2. The paper gives no bound. The count-min sketch's holds for strict cells when visits add to all k of them.
Result<void> judge_bound(const Context& context, Findings& findings) {
  const std::uint64_t scale = context.trials(10, 1);
  constexpr std::uint64_t kBytes = 256 << 10;
  const Visits visits =
      draw({.visits = 2'000'000 / scale, .pages = 500'000 / scale, .per_epoch = 50'000 / scale}, context);
  for (const std::uint32_t k : {2U, 4U}) {
    MANKAI_ASSIGN(auto basic, kMakeBasic({.bytes = kBytes / scale, .k = k, .decay = drawn_decay(kLambda)}, context));
    basic->insert(visits);
    const TimeDecayingCounts& filter = basic->filter();
    const Truth truth = truth_of(visits, filter.decay().lambda());
    // The mass includes what rounding up leaves of every page.
    const double mass = truth.mass(visits.last()) + filter.stuck_count() * static_cast<double>(visits.names.size());
    double excess = 0;
    for (std::size_t page = 0; page < truth.pages(); ++page) {
      excess += filter.estimate(visits.digests[page]).raw - truth.at(page, visits.last());
    }
    findings.judged({"error-is-bounded-k-{}", k}, at_most(mass / static_cast<double>(filter.cells_per_probe())),
                    exact(excess / static_cast<double>(truth.pages())));
  }
  return {};
}

// One filter over a growing stream.
struct GrowthPoint {
  double visits = 0;
  double kilobytes = 0;          // in use
  double bits = 0;               // of the largest count
  double touched_by_insert = 0;  // counters, digits and links per visit, decays included
  double touched_by_query = 0;
};

struct Growing {
  std::string name;
  double lambda = 0;
  std::vector<GrowthPoint> points{};

  // What the last nine tenths of the stream changed.
  [[nodiscard]] Estimate growth(double GrowthPoint::* of) const {
    return exact(points.back().*of / points[points.size() - 2].*of);
  }
};

struct GrowingStream {
  Visits visits;
  std::vector<std::size_t> ends{};  // the numbers of epochs after which points are taken
};

// The printed algorithm, whose cells can be counted as it touches them.
template <class Printed>
void count_touched(const GrowingStream& stream, const PrintedShape& shape, Growing& growing) {
  Printed filter(shape);
  std::size_t epoch = 0;
  for (std::size_t i = 0; i < stream.ends.size(); ++i) {
    const std::uint64_t before = filter.touched();
    std::uint64_t visits = 0;
    for (; epoch < stream.ends[i]; ++epoch) {
      filter.decay();
      for (const std::uint32_t page : stream.visits.of(epoch)) {
        filter.insert(stream.visits.digests[page]);
        ++visits;
      }
    }
    const std::uint64_t inserted = filter.touched();
    const auto asked = stream.visits.of(epoch - 1);
    std::uint64_t most = 0;
    for (const std::uint32_t page : asked) {
      most = std::max(most, filter.count(stream.visits.digests[page]));
    }
    GrowthPoint& point = growing.points[i];
    point.bits = std::log2(static_cast<double>(most));
    point.touched_by_insert = static_cast<double>(inserted - before) / static_cast<double>(visits);
    point.touched_by_query = static_cast<double>(filter.touched() - inserted) / static_cast<double>(asked.size());
  }
}

// Our filter, whose bytes in use are known.
Result<void> count_bytes(const GrowingStream& stream, const PrintedShape& shape, Growing& growing,
                         const Context& context) {
  MANKAI_ASSIGN(auto pooled,
                kMakePooled({.counters = shape.counters, .k = shape.k, .decay = drawn_decay(shape.lambda)}, context));
  std::size_t epoch = 0;
  for (std::size_t i = 0; i < stream.ends.size(); ++i) {
    for (; epoch < stream.ends[i]; ++epoch) {
      pooled->insert(stream.visits, stream.visits.of(epoch), stream.visits.epochs[epoch].tick);
    }
    const auto use = pooled->filter().use();
    growing.points[i].kilobytes =
        static_cast<double>(use.counters_bytes + use.digits_bytes_used + use.lookup_bytes_used) / 1024;
  }
  return {};
}

Growing growing_of(std::string name, double lambda, const GrowingStream& stream, double kilobytes) {
  Growing growing{.name = std::move(name), .lambda = lambda};
  for (const std::size_t end : stream.ends) {
    growing.points.push_back(
        {.visits = static_cast<double>(stream.visits.epochs[end - 1].end), .kilobytes = kilobytes});
  }
  return growing;
}

using Growth = double GrowthPoint::*;

// With λ = 0.9, and without decay.
void judge_decayed(const char* id, Growth of, const std::vector<Growing>& both, Findings& findings) {
  findings.depends({id, both[0].points.back().*of, both[1].points.back().*of},
                   {.expected = at_most(1), .measured = both[0].growth(of)},
                   {.expected = at_most(1), .measured = both[1].growth(of)});
}
void judge_growth(const char* id, Growth of, const Growing& decayed, Findings& findings) {
  findings.judged({id, decayed.points.back().*of}, at_most(1), decayed.growth(of));
}

void add_figures(const std::vector<Growing>& all, Findings& findings) {
  Figure space = findings.figure("space-over-length");
  for (const Growing& growing : all) {
    for (const GrowthPoint& point : growing.points) {
      space.rows.push_back(
          {growing.name, point.visits, point.kilobytes, point.bits, point.touched_by_insert, point.touched_by_query});
    }
    space.series.push_back(
        {.title = growing.name, .x = "visits", .y = "KB", .is_line = true, .only = {{"filter", growing.name}}});
  }
  Figure work = findings.figure("work-over-length");
  work.rows = space.rows;
  work.series = space.series;
  for (Series& series : work.series) {
    series.y = "touched per visit";
  }
  findings.add(std::move(space));
  findings.add(std::move(work));
}

GrowingStream stream_of_goals(const Context& context) {
  const std::uint64_t per_epoch = 20'000 / context.trials(5, 1);
  const std::uint64_t most = 10'000'000 / context.trials(10, 1);
  GrowingStream stream{
      .visits = draw({.visits = most, .pages = 40'000 / context.trials(5, 1), .per_epoch = per_epoch}, context)};
  for (std::uint64_t length = most / 100; length <= most; length *= 10) {
    stream.ends.push_back(std::max<std::size_t>(length / per_epoch, 1));
  }
  return stream;
}

}  // namespace

Result<void> measure_goals(const Context& context, Findings& findings) {
  MANKAI_TRY(judge_bound(context, findings));
  const GrowingStream stream = stream_of_goals(context);
  std::vector<Growing> basic;
  std::vector<Growing> optimized;
  for (const double lambda : {kLambda, 1.0}) {
    const PrintedShape shape{
        .counters = 2 * stream.visits.names.size(), .k = kProbes, .lambda = lambda, .fault = context.fault};
    basic.push_back(growing_of(fmt::format("basic, λ = {}", lambda), lambda, stream,
                               2 * static_cast<double>(shape.counters) / 1024));
    count_touched<PrintedBasic>(stream, shape, basic.back());
    optimized.push_back(growing_of(fmt::format("optimized, λ = {}", lambda), lambda, stream, 0));
    count_touched<PrintedOptimized>(stream, shape, optimized.back());
    MANKAI_TRY(count_bytes(stream, shape, optimized.back(), context));
  }
  // The same counts as those of the basic filter, which has 16 bits for them.
  judge_decayed("space-basic", &GrowthPoint::bits, optimized, findings);
  judge_decayed("space-optimized", &GrowthPoint::kilobytes, optimized, findings);
  judge_growth("constant-time-add-basic", &GrowthPoint::touched_by_insert, basic[0], findings);
  judge_growth("constant-time-add-optimized", &GrowthPoint::touched_by_insert, optimized[0], findings);
  judge_growth("constant-time-query-basic", &GrowthPoint::touched_by_query, basic[0], findings);
  judge_decayed("constant-time-query-optimized", &GrowthPoint::touched_by_query, optimized, findings);
  add_figures({basic[0], basic[1], optimized[0], optimized[1]}, findings);
  return {};
}

}  // namespace mankai::lab::profiling
