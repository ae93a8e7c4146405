#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "lab/parts.hpp"
#include "lab/web_profiling/profiles.hpp"
#include "mankai/filter/decayed_top/decayed_top.hpp"

namespace mankai::lab::profiling {
namespace {

struct Order {
  std::uint64_t bytes = 0;
  std::uint32_t k = 0;
  Decay decay;
};
using Made = Result<std::unique_ptr<Profile>>;

struct Contender {
  const char* name;
  std::function<Made(const Order&, const Visits&, const Context&)> make;
};

template <class F>
Made as_profile(Result<std::unique_ptr<ProfileOf<F>>> made) {
  if (!made) {
    return std::unexpected(made.error());
  }
  return std::unique_ptr<Profile>(std::move(*made));
}

struct Cells {
  DecayPolicy policy = DecayPolicy::fixed_point;
  IncrementRule rule = IncrementRule::all;
  std::uint32_t width = 16;
  std::optional<std::uint32_t> fraction{};
};
Contender basic(const char* name, const Cells& cells) {
  return {.name = name, .make = [cells](const Order& order, const Visits& /*visits*/, const Context& context) {
            return as_profile(kMakeBasic({.bytes = order.bytes,
                                          .k = order.k,
                                          .decay = order.decay,
                                          .width_bits = cells.width,
                                          .policy = cells.policy,
                                          .rule = cells.rule,
                                          .fraction_bits = cells.fraction,
                                          .forced = cells.fraction.has_value()},
                                         context));
          }};
}

// Bits of an extra digit: the digit, its counter's number, and one free slot in nine.
double bits_of_digit(std::uint64_t counters) { return 9.0 / 8 * (5 + std::floor(std::log2(counters))); }

// The optimized filter with so many bytes in total. A first pass over the visits determines the size of the pool.
Made make_fitting(OverflowRule rule, const Order& order, const Visits& visits, const Context& context) {
  constexpr double kFirstGuess = 0.06;
  constexpr double kSpare = 1.05;
  double share = kFirstGuess;
  const auto make = [&] {
    const double bits = 8 * static_cast<double>(order.bytes - kCacheLineBytes);
    const std::uint64_t rough = order.bytes * 2;
    const auto counters = static_cast<std::uint64_t>(bits / (4 + share * bits_of_digit(rough)));
    return kMakePooled(
        {.counters = counters, .k = order.k, .pool_share = share, .decay = order.decay, .overflow = rule}, context);
  };
  MANKAI_ASSIGN(auto first, make());
  first->insert(visits);
  const TimeDecayingPooledCounts& filter = first->filter();
  share = kSpare * static_cast<double>(filter.use().digits_peak) / static_cast<double>(filter.cell_count());
  return as_profile(make());
}

Made make_tiers(DecayPolicy policy, const Order& order, const Context& context) {
  // Each of the lowest tier's counters has 4 bits, the next tier a quarter of these, and so on; tiers begin at a word.
  constexpr double kBits = 16.0 / 3;
  const double bits = 8 * static_cast<double>(order.bytes - kCacheLineBytes);
  return as_profile(kMakeTiered(
      {.counters = static_cast<std::uint64_t>(bits / kBits), .k = order.k, .decay = order.decay, .policy = policy},
      context));
}

Made make_top(const Order& order, const Context& context) {
  return as_profile(
      profile_of(DecayedTop::create({.bytes = order.bytes, .decay = order.decay, .hash = context.hash()}), context));
}

constexpr const char* kFloor = "basic, floor, all";
constexpr const char* kStrict = "basic, fixed-point, all";
constexpr const char* kStrictMinimum = "basic, fixed-point, minimum";

std::vector<Contender> contenders() {
  constexpr std::uint32_t kNarrowFraction = 4;
  const auto pooled = [](OverflowRule rule) {
    return [rule](const Order& order, const Visits& visits, const Context& context) {
      return make_fitting(rule, order, visits, context);
    };
  };
  const auto tiered = [](DecayPolicy policy) {
    return [policy](const Order& order, const Visits& /*visits*/, const Context& context) {
      return make_tiers(policy, order, context);
    };
  };
  return {basic(kFloor, {.policy = DecayPolicy::floor}),
          basic("basic, floor, minimum", {.policy = DecayPolicy::floor, .rule = IncrementRule::minimum}),
          basic("basic, ceil, all", {.policy = DecayPolicy::ceil}),
          basic("basic, ceil, minimum", {.policy = DecayPolicy::ceil, .rule = IncrementRule::minimum}),
          basic("basic, stochastic, minimum", {.policy = DecayPolicy::stochastic, .rule = IncrementRule::minimum}),
          basic(kStrict, {.width = 32}),
          basic(kStrictMinimum, {.rule = IncrementRule::minimum, .width = 32}),
          basic("basic, fixed-point, minimum, 12.4 bits",
                {.rule = IncrementRule::minimum, .width = 16, .fraction = kNarrowFraction}),
          {.name = "optimized, each", .make = pooled(OverflowRule::per_counter)},
          {.name = "optimized, all", .make = pooled(OverflowRule::all)},
          {.name = "tiered, floor", .make = tiered(DecayPolicy::floor)},
          {.name = "tiered, ceil", .make = tiered(DecayPolicy::ceil)},
          {.name = "decayed-top", .make = [](const Order& order, const Visits& /*visits*/, const Context& context) {
             return make_top(order, context);
           }}};
}

// One contender at one size, with the k of the smallest mean absolute error.
struct Best {
  Accuracy accuracy{};
  std::uint32_t k = 0;
  std::uint64_t bytes = 0;
};

Result<Best> best_of(const Contender& contender, const Order& order, const Visits& visits, const Truth& truth,
                     const Context& context) {
  Best best{.accuracy = {.absolute = std::numeric_limits<double>::infinity()}};
  for (std::uint32_t k = context.quick ? 3 : 2; k <= (context.quick ? 3 : 4); ++k) {
    MANKAI_ASSIGN(auto profile, contender.make({.bytes = order.bytes, .k = k, .decay = order.decay}, visits, context));
    profile->insert(visits);
    const Accuracy accuracy = accuracy_of(*profile, visits, truth);
    if (accuracy.absolute < best.accuracy.absolute) {
      best = {.accuracy = accuracy, .k = k, .bytes = profile->bytes()};
    }
  }
  return best;
}

struct Row {
  std::string data;
  std::string name;
  std::uint64_t kilobytes = 0;
  Best result{};
};

Result<void> add_rows(std::vector<Row>& rows, const std::string& data, std::uint64_t kilobytes, const Order& order,
                      const Visits& visits, const Context& context) {
  const Truth truth = truth_of(visits, order.decay.lambda());
  for (const Contender& contender : contenders()) {
    context.progress(fmt::format("accuracy on {} in {} KB, {}", data, kilobytes, contender.name));
    MANKAI_ASSIGN(const auto result, best_of(contender, order, visits, truth, context));
    rows.push_back({.data = data, .name = contender.name, .kilobytes = kilobytes, .result = result});
  }
  return {};
}

Figure figure_of(const std::vector<Row>& rows, Figure figure) {
  for (const Row& row : rows) {
    const Accuracy& accuracy = row.result.accuracy;
    figure.rows.push_back({row.data, row.name, row.kilobytes, accuracy.live, accuracy.relative, accuracy.absolute,
                           accuracy.relative_top, accuracy.under, row.result.k, row.result.bytes});
  }
  return figure;
}

const Accuracy& found(const std::vector<Row>& rows, std::string_view name, std::uint64_t kilobytes) {
  return std::ranges::find_if(rows, [&](const Row& row) { return row.name == name && row.kilobytes == kilobytes; })
      ->result.accuracy;
}

// The error of rounding down alone: an unshared integer counter per page.
double lone_loss(const Visits& visits, const Decay& decay) {
  const Truth truth = truth_of(visits, decay.lambda());
  std::vector<std::uint64_t> counters(visits.names.size());
  for (std::size_t epoch = 0; epoch < visits.epochs.size(); ++epoch) {
    for (std::uint64_t& counter : counters) {
      counter = (counter * decay.lambda_q32) >> 32U;
    }
    for (const std::uint32_t page : visits.of(epoch)) {
      ++counters[page];
    }
  }
  double lost = 0;
  double live = 0;
  for (std::size_t page = 0; page < counters.size(); ++page) {
    const double count = truth.at(page, visits.last());
    if (count >= 1) {
      lost += count - static_cast<double>(counters[page]);
      ++live;
    }
  }
  return lost / live;
}

constexpr std::array<std::uint64_t, 3> kSizes = {128, 256, 512};

void judge_floor(const std::vector<Row>& rows, double lone, Findings& findings) {
  const double four_times = found(rows, kFloor, kSizes.back()).absolute;
  findings.judged("floor-error-is-rounding", at_most(lone / 2), exact(four_times));
  findings.judged("floor-error", equals(lone, lone / 5), exact(four_times));
}

void judge_strict(const std::vector<Row>& rows, Findings& findings) {
  findings.judged("strict-error-falls", at_most(0.25),
                  exact(found(rows, kStrict, kSizes.back()).absolute / found(rows, kStrict, kSizes.front()).absolute));
  double most = 0;
  for (const std::uint64_t size : kSizes) {
    most = std::max(most, found(rows, kStrictMinimum, size).absolute / found(rows, kStrict, size).absolute);
  }
  findings.judged("minimum-is-no-worse", at_most(1), exact(most));
}

void plot_all(Figure& figure) {
  for (const Contender& contender : contenders()) {
    figure.series.push_back({.title = contender.name,
                             .x = "KB",
                             .y = "mean absolute error",
                             .is_line = true,
                             .only = {{"filter", contender.name}}});
  }
}

Result<void> measure_drawn(const Context& context, Findings& findings) {
  const std::uint64_t scale = context.trials(10, 1);
  const Visits visits =
      draw({.visits = 5'000'000 / scale, .pages = 500'000 / scale, .per_epoch = 50'000 / scale}, context);
  const Decay decay = drawn_decay(0.9);
  std::vector<Row> rows;
  for (const std::uint64_t kilobytes : kSizes) {
    const Order order{.bytes = kilobytes * 1024 / scale, .decay = decay};
    MANKAI_TRY(add_rows(rows, "Zipf, z = 1", kilobytes, order, visits, context));
  }
  judge_floor(rows, lone_loss(visits, decay), findings);
  judge_strict(rows, findings);
  Figure figure = figure_of(rows, findings.figure("accuracy"));
  plot_all(figure);
  findings.add(std::move(figure));
  return {};
}

Result<void> measure_log(const Log& log, std::vector<Row>& rows, const Context& context, Findings& findings) {
  const Decay decay = *Decay::of_half_life(kLogHalfLife);
  MANKAI_ASSIGN(const auto visits, read_log(path_of(log, context), decay.epoch, context));
  for (const std::uint64_t kilobytes : {8U, 32U, 128U}) {
    const Order order{.bytes = kilobytes * 1024, .decay = decay};
    MANKAI_TRY(add_rows(rows, log.id, kilobytes, order, visits, context));
  }
  constexpr std::uint64_t kBytes = 32 << 10;
  MANKAI_ASSIGN(auto strict, kMakeBasic({.bytes = kBytes, .k = 3, .decay = decay}, context));
  const Tally tally = replay_and_check(*strict, visits, decay.lambda());
  findings.judged({"never-undercounts-{}", log.id, log.what, tally.checks}, equals(0), exact(tally.under));
  return {};
}

}  // namespace

Result<void> measure_accuracy(const Context& context, Findings& findings) {
  MANKAI_TRY(measure_drawn(context, findings));
  std::vector<Row> rows;
  for (const Log& log : kLogs) {
    if (!context.data_dir) {
      findings.skipped({.id = fmt::format("never-undercounts-{}", log.id),
                        .place = "Section 4.3, Claim 1",
                        .claim = fmt::format("No estimate is below the real decayed count: {}.", log.what),
                        .formula = "half-life a day; all pages at the end of each epoch: 0 below"},
                       "needs --data");
      continue;
    }
    MANKAI_TRY(measure_log(log, rows, context, findings));
  }
  if (!rows.empty()) {
    findings.add(figure_of(rows, findings.figure("accuracy-logs")));
  }
  return {};
}

}  // namespace mankai::lab::profiling
