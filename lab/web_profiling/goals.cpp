#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>
#include <numbers>

#include "lab/parts.hpp"
#include "lab/web_profiling/profiles.hpp"
#include "mankai/base/assert.hpp"

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
    const double bound = std::numbers::e * mass / static_cast<double>(filter.cells_per_probe());
    const auto is_beyond = [&](std::size_t page) {
      return filter.estimate(visits.digests[page]).raw > truth.at(page, visits.last()) + bound;
    };
    findings.judged({"error-is-bounded-k-{}", k, bound}, at_most(std::exp(-static_cast<double>(k))),
                    share(count_of(0, truth.pages(), is_beyond), truth.pages()));
  }
  return {};
}

struct Point {
  double visits = 0;
  double kilobytes = 0;
  Estimate insert{};
  Estimate query{};
};

struct GoalContender {
  std::string name;
  std::unique_ptr<Profile> profile;
  std::function<double()> bytes;  // in use
  std::vector<Point> points{};
};

Result<std::vector<GoalContender>> make_contenders(const Context& context) {
  const std::uint64_t counters = 80'000 / context.trials(5, 1);
  std::vector<GoalContender> contenders;
  const Decay fading = drawn_decay(kLambda);
  MANKAI_ASSIGN(auto basic,
                kMakeBasic({.bytes = 2 * counters, .k = 4, .decay = fading, .policy = DecayPolicy::floor}, context));
  const auto bytes = static_cast<double>(basic->bytes());
  contenders.push_back({.name = "basic, λ = 0.9", .profile = std::move(basic), .bytes = [bytes] { return bytes; }});
  for (const double lambda : {kLambda, 1.0}) {
    MANKAI_ASSIGN(auto pooled, kMakePooled({.counters = counters, .k = 4, .decay = drawn_decay(lambda)}, context));
    const TimeDecayingPooledCounts& filter = pooled->filter();
    contenders.push_back(
        {.name = fmt::format("optimized, λ = {}", lambda), .profile = std::move(pooled), .bytes = [&filter] {
           const auto use = filter.use();
           return static_cast<double>(use.counters_bytes + use.digits_bytes_used + use.lookup_bytes_used);
         }});
  }
  return contenders;
}

// Continues the stream from the current tick up to the end of an epoch.
void grow(GoalContender& contender, const Visits& visits, std::size_t first_epoch, std::size_t end_epoch) {
  std::size_t epoch = first_epoch;
  const std::array<std::function<void()>, 1> insert = {[&] {
    contender.profile->insert(visits, visits.of(epoch), visits.epochs[epoch].tick);
    ++epoch;
  }};
  double sum = 0;
  const std::array<std::function<void()>, 1> query = {[&] {
    for (const Digest page : visits.digests) {
      sum += contender.profile->estimate(page).raw;
    }
  }};
  const Estimate inserted = nanoseconds_interleaved(end_epoch - first_epoch, visits.of(first_epoch).size(), insert)[0];
  const Estimate asked = nanoseconds_interleaved(3, visits.digests.size(), query)[0];
  MANKAI_ASSERT(sum >= 0);
  contender.points.push_back({.visits = static_cast<double>(visits.epochs[end_epoch - 1].end),
                              .kilobytes = contender.bytes() / 1024,
                              .insert = inserted,
                              .query = asked});
}

void judge_growth(const std::vector<GoalContender>& contenders, Findings& findings) {
  const auto ratio = [](const GoalContender& contender) {
    return contender.points.back().kilobytes / (contender.points.end() - 2)->kilobytes;
  };
  findings.judged("space-basic", at_most(1.05), exact(ratio(contenders[0])));
  findings.judged("space-optimized", at_most(1.05), exact(ratio(contenders[1])));
  findings.judged("space-optimized-undecayed", at_most(1.05), exact(ratio(contenders[2])));
  for (std::size_t i = 0; i < 2; ++i) {
    const GoalContender& contender = contenders[i];
    const Point& late = contender.points.back();
    const Point& early = *(contender.points.end() - 2);
    const char* const id = i == 0 ? "basic" : "optimized";
    findings.undecided({"constant-time-add-{}", id, contender.name, late.insert.value}, equals(1),
                       quotient(late.insert, early.insert));
    findings.undecided({"constant-time-query-{}", id, contender.name, late.query.value}, equals(1),
                       quotient(late.query, early.query));
  }
}

void add_figures(const std::vector<GoalContender>& contenders, Findings& findings) {
  Figure space = findings.figure("space-over-length");
  for (const GoalContender& contender : contenders) {
    for (const Point& point : contender.points) {
      space.rows.push_back({contender.name, point.visits, point.kilobytes, point.insert.value, point.query.value});
    }
    space.series.push_back(
        {.title = contender.name, .x = "visits", .y = "KB", .is_line = true, .only = {{"filter", contender.name}}});
  }
  Figure time = space;
  time.name = "time-over-length";
  time.title = "Time of an insertion over the length of the stream";
  time.y = {.label = "ns"};
  for (Series& series : time.series) {
    series.y = "ns an insertion";
  }
  findings.add(std::move(space));
  findings.add(std::move(time));
}

}  // namespace

Result<void> measure_goals(const Context& context, Findings& findings) {
  MANKAI_TRY(judge_bound(context, findings));
  const std::uint64_t scale = context.trials(5, 1);
  const std::uint64_t per_epoch = 20'000 / scale;
  const std::uint64_t most = 10'000'000 / (scale * context.trials(2, 1));
  const Visits visits = draw({.visits = most, .pages = 40'000 / scale, .per_epoch = per_epoch}, context);
  MANKAI_ASSIGN(auto contenders, make_contenders(context));
  for (GoalContender& contender : contenders) {
    std::size_t epochs = 0;
    for (std::uint64_t length = most / 100; length <= most; length *= 10) {
      const std::size_t end = std::max<std::size_t>(length / per_epoch, 1);
      grow(contender, visits, epochs, end);
      epochs = end;
    }
  }
  judge_growth(contenders, findings);
  add_figures(contenders, findings);
  return {};
}

}  // namespace mankai::lab::profiling
