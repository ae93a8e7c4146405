#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>

#include "lab/parts.hpp"
#include "lab/web_profiling/profiles.hpp"
#include "lab/web_profiling/threads.hpp"

namespace mankai::lab::profiling {
namespace {

constexpr std::uint64_t kKilobyte = 1024;

struct Order {
  std::uint64_t bytes = 0;
  std::uint64_t scale = 1;  ///< of so many times the memory this is the model
  std::uint32_t k = 0;
  Decay decay;
};
using Made = Result<std::unique_ptr<Profile>>;

struct Contender {
  const char* name;
  bool has_k = true;  ///< whether the number of cells per key can be chosen
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

// Both roundings of decayed-top. A tenth of the memory has a tenth of the names.
Contender top(const char* name, CountRounding rounding) {
  return {.name = name,
          .has_k = false,
          .make = [rounding](const Order& order, const Visits& /*visits*/, const Context& context) -> Made {
            DecayedTop::Options options{
                .bytes = order.bytes * order.scale, .rounding = rounding, .decay = order.decay, .hash = context.hash()};
            if (order.scale > 1) {
              MANKAI_ASSIGN(const auto whole, DecayedTop::create(options));
              options.names = static_cast<std::uint32_t>(whole.names_capacity() / order.scale);
              options.bytes = order.bytes;
            }
            return as_profile(profile_of(DecayedTop::create(options), context));
          }};
}

constexpr const char* kFloor = "basic, floor, all";
constexpr const char* kFixed = "basic, fixed-point, all";
constexpr const char* kFixedMinimum = "basic, fixed-point, minimum";
constexpr const char* kStrictTop = "decayed-top, strict";
constexpr const char* kBalancedTop = "decayed-top, balanced";

// The paper's forms, and ours: on all streams and in the plots.
std::vector<Contender> main_contenders() {
  const auto pooled = [](const Order& order, const Visits& visits, const Context& context) {
    return make_fitting(OverflowRule::per_counter, order, visits, context);
  };
  const auto tiered = [](const Order& order, const Visits& /*visits*/, const Context& context) {
    return make_tiers(DecayPolicy::floor, order, context);
  };
  return {basic(kFloor, {.policy = DecayPolicy::floor}),
          basic("basic, ceil, all", {.policy = DecayPolicy::ceil}),
          {.name = "optimized, each", .make = pooled},
          {.name = "tiered, floor", .make = tiered},
          basic(kFixedMinimum, {.rule = IncrementRule::minimum, .width = 32}),
          top(kStrictTop, CountRounding::strict),
          top(kBalancedTop, CountRounding::balanced)};
}

// The other roundings and rules.
std::vector<Contender> more_contenders() {
  constexpr std::uint32_t kNarrowFraction = 4;
  const auto pooled = [](const Order& order, const Visits& visits, const Context& context) {
    return make_fitting(OverflowRule::all, order, visits, context);
  };
  const auto tiered = [](const Order& order, const Visits& /*visits*/, const Context& context) {
    return make_tiers(DecayPolicy::ceil, order, context);
  };
  return {basic("basic, floor, minimum", {.policy = DecayPolicy::floor, .rule = IncrementRule::minimum}),
          basic("basic, ceil, minimum", {.policy = DecayPolicy::ceil, .rule = IncrementRule::minimum}),
          basic("basic, stochastic, minimum", {.policy = DecayPolicy::stochastic, .rule = IncrementRule::minimum}),
          basic(kFixed, {.width = 32}),
          basic("basic, fixed-point, minimum, 12.4 bits",
                {.rule = IncrementRule::minimum, .width = 16, .fraction = kNarrowFraction}),
          {.name = "optimized, all", .make = pooled},
          {.name = "tiered, ceil", .make = tiered}};
}

// One contender at one size, with the k of the smallest mean absolute error.
struct Best {
  Accuracy accuracy{.absolute = std::numeric_limits<double>::infinity()};
  std::uint32_t k = 0;
  std::uint64_t bytes = 0;
};

struct Choice {
  std::uint32_t least_k = 3;
  std::uint32_t most_k = 3;
};

Result<Best> best_of(const Contender& contender, const Choice& choice, Order order, const Visits& visits,
                     const Truth& truth, const Context& context) {
  Best best;
  for (order.k = choice.least_k; order.k <= (contender.has_k ? choice.most_k : choice.least_k); ++order.k) {
    MANKAI_ASSIGN(auto profile, contender.make(order, visits, context));
    profile->insert(visits);
    const Accuracy accuracy = accuracy_of(*profile, visits, truth);
    if (accuracy.absolute < best.accuracy.absolute) {
      best = {.accuracy = accuracy, .k = contender.has_k ? order.k : 2, .bytes = profile->image_bytes()};
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
using Rows = std::vector<Row>;

// One stream of visits, and its memory in kilobytes.
struct Trial {
  const std::string& data;
  const Visits& visits;
  const Truth& truth;
  std::span<const std::uint64_t> sizes;
  Decay decay;
  std::uint64_t scale = 1;  // of so many times the memory this is the model
  Choice choice{};
};

Result<void> add_rows(Rows& rows, const std::vector<Contender>& contenders, const Trial& trial,
                      const Context& context) {
  context.progress(fmt::format("accuracy on {}", trial.data));
  const std::size_t first = rows.size();
  rows.resize(first + trial.sizes.size() * contenders.size());
  return in_threads(rows.size() - first, [&](std::size_t job) -> Result<void> {
    const Contender& contender = contenders[job % contenders.size()];
    const std::uint64_t kilobytes = trial.sizes[job / contenders.size()];
    MANKAI_ASSIGN(const auto result,
                  best_of(contender, trial.choice,
                          {.bytes = kilobytes * kKilobyte / trial.scale, .scale = trial.scale, .decay = trial.decay},
                          trial.visits, trial.truth, context));
    rows[first + job] = {.data = trial.data, .name = contender.name, .kilobytes = kilobytes, .result = result};
    return {};
  });
}

Figure figure_of(const Rows& rows, Figure figure) {
  for (const Row& row : rows) {
    const Accuracy& accuracy = row.result.accuracy;
    figure.rows.push_back({row.data, row.name, row.kilobytes, accuracy.absolute, accuracy.relative,
                           accuracy.relative_top, accuracy.recall, accuracy.worst_top, accuracy.live, accuracy.under,
                           accuracy.checks, accuracy.under_of_checks, row.result.k, row.result.bytes});
  }
  return figure;
}

const Accuracy& found(const Rows& rows, std::string_view data, std::string_view name, std::uint64_t kilobytes) {
  return std::ranges::find_if(
             rows, [&](const Row& row) { return row.data == data && row.name == name && row.kilobytes == kilobytes; })
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

constexpr std::array<std::uint64_t, 4> kSizes = {64, 128, 256, 512};
constexpr const char* kDrawn = "Zipf, z = 1";

std::string name_of_zipf(double z) { return fmt::format("Zipf, z = {}", z); }

void judge_floor(const Rows& rows, double lone, Findings& findings) {
  findings.judged({"floor-error-stays", lone}, at_least(findings.threshold("floor-error-stays")),
                  exact(found(rows, kDrawn, kFloor, kSizes.back()).absolute / lone));
}

void judge_fixed(const Rows& rows, Findings& findings) {
  findings.judged("strict-error-falls", at_most(0.25),
                  exact(found(rows, kDrawn, kFixed, 512).absolute / found(rows, kDrawn, kFixed, 128).absolute));
  double most = 0;
  for (const std::uint64_t size : kSizes) {
    most =
        std::max(most, found(rows, kDrawn, kFixedMinimum, size).absolute / found(rows, kDrawn, kFixed, size).absolute);
  }
  findings.judged("minimum-is-no-worse", at_most(1), exact(most));
}

// What decayed-top shall reach on Zipf's law, z = 1: mean errors, and those of the hottest keys.
struct Goal {
  CountRounding rounding;
  const char* name;
  std::uint64_t kilobytes;
  std::vector<double> absolute{};  // of each hash
  std::vector<double> relative_top{};
};
std::vector<Goal> goals() {
  std::vector<Goal> goals;
  for (const std::uint64_t kilobytes : {128U, 256U, 512U}) {
    goals.push_back({.rounding = CountRounding::strict, .name = "strict", .kilobytes = kilobytes});
    goals.push_back({.rounding = CountRounding::balanced, .name = "balanced", .kilobytes = kilobytes});
  }
  return goals;
}
constexpr std::uint64_t kSmallest = kSizes.front();
constexpr const char* kRecall = "top-recall-{}";
constexpr const char* kWorstOfTop = "top-100-{}";

struct Drawn {
  Visits visits;
  const Truth& truth;
  Decay decay;
};

// One stream with several hashes: a key that shares the counter of a very hot one decides about a single mean.
Result<void> measure_goals_over_hashes(std::vector<Goal>& goals, Drawn& drawn, Context context) {
  constexpr int kHashes = 5;
  for (int i = 0; i < kHashes; ++i, ++context.seed) {
    const Hasher hasher(context.hash());
    std::ranges::transform(drawn.visits.names, drawn.visits.digests.begin(),
                           [&](const std::string& key) { return hasher(key); });
    MANKAI_TRY(in_threads(goals.size(), [&](std::size_t job) -> Result<void> {
      Goal& goal = goals[job];
      MANKAI_ASSIGN(
          auto profile,
          kMakeTop({.bytes = goal.kilobytes * kKilobyte, .rounding = goal.rounding, .decay = drawn.decay}, context));
      profile->insert(drawn.visits);
      const Accuracy accuracy = accuracy_of(*profile, drawn.visits, drawn.truth);
      goal.absolute.push_back(accuracy.absolute);
      goal.relative_top.push_back(accuracy.relative_top);
      return {};
    }));
  }
  return {};
}

Result<void> judge_goals(Drawn drawn, const Context& context, Findings& findings) {
  std::vector<Goal> goals = profiling::goals();
  if (!context.quick) {
    context.progress("accuracy of decayed-top over several hashes");
    MANKAI_TRY(measure_goals_over_hashes(goals, drawn, context));
  }
  for (const Goal& goal : goals) {
    const Entry error{"top-error-{}-{}", goal.name, goal.kilobytes};
    const Entry top{"top-1000-{}-{}", goal.name, goal.kilobytes};
    const Expected small = at_most(findings.threshold(fmt::format("top-error-{}-{}", goal.name, goal.kilobytes)));
    const Expected small_of_top = at_most(findings.threshold("top-1000-{}-{}"));
    if (context.quick) {
      findings.skipped(error, small, Missing::full_run);
      findings.skipped(top, small_of_top, Missing::full_run);
    } else {
      findings.judged(error, small, mean(goal.absolute));
      findings.judged(top, small_of_top, mean(goal.relative_top));
    }
  }
  return {};
}

// Of the 100 hottest keys, in 64 KB, with both roundings.
void judge_listed(const Rows& rows, const std::string& data, const std::string& id, Findings& findings) {
  const Accuracy& strict = found(rows, data, kStrictTop, kSmallest);
  const Accuracy& balanced = found(rows, data, kBalancedTop, kSmallest);
  findings.judged({kRecall, id, data}, at_least(findings.threshold(kRecall)),
                  exact(std::min(strict.recall, balanced.recall)));
  findings.judged({kWorstOfTop, id, data}, at_most(findings.threshold(kWorstOfTop)),
                  exact(std::max(strict.worst_top, balanced.worst_top)));
}

void skip_listed(const std::string& data, const std::string& id, Missing needs, Findings& findings) {
  findings.skipped({kRecall, id, data}, at_least(findings.threshold(kRecall)), needs);
  findings.skipped({kWorstOfTop, id, data}, at_most(findings.threshold(kWorstOfTop)), needs);
}

void plot_main(Figure& figure, const std::string& data) {
  for (const Contender& contender : main_contenders()) {
    figure.series.push_back({.title = contender.name,
                             .x = "KB",
                             .y = "mean absolute error",
                             .is_line = true,
                             .only = {{"data", data}, {"filter", contender.name}}});
  }
}

Result<void> measure_zipf(double z, Rows& rows, const Context& context, Findings& findings) {
  const std::uint64_t scale = context.trials(10, 1);
  const Visits visits =
      draw({.visits = 5'000'000 / scale, .pages = 500'000 / scale, .per_epoch = 50'000 / scale, .z = z}, context);
  const Decay decay = drawn_decay(kLambda);
  const Truth truth = truth_of(visits, decay.lambda());
  const std::string data = name_of_zipf(z);
  const bool is_main = data == kDrawn;
  const Trial trial{.data = data,
                    .visits = visits,
                    .truth = truth,
                    .sizes = kSizes,
                    .decay = decay,
                    .scale = scale,
                    .choice = is_main && !context.quick ? Choice{.least_k = 2, .most_k = 4} : Choice{}};
  MANKAI_TRY(add_rows(rows, main_contenders(), trial, context));
  if (is_main) {
    MANKAI_TRY(add_rows(rows, more_contenders(), trial, context));
  }
  if (is_main) {
    judge_floor(rows, lone_loss(visits, decay), findings);
    judge_fixed(rows, findings);
    MANKAI_TRY(judge_goals({.visits = visits, .truth = truth, .decay = decay}, context, findings));
    if (context.quick) {
      skip_listed(kDrawn, "zipf", Missing::full_run, findings);
    } else {
      judge_listed(rows, kDrawn, "zipf", findings);
    }
  }
  return {};
}

Result<void> measure_drawn(const Context& context, Findings& findings) {
  for (const double z : {1.0, 0.8, 1.2}) {
    Rows rows;
    MANKAI_TRY(measure_zipf(z, rows, context, findings));
    const std::string data = name_of_zipf(z);
    Figure figure = figure_of(rows, findings.figure({"accuracy-zipf-{:.0f}", 10 * z, data}));
    plot_main(figure, data);
    findings.add(std::move(figure));
    if (context.quick) {
      break;
    }
  }
  return {};
}

Result<void> judge_undercounts(const Log& log, const Visits& visits, const Decay& decay, const Context& context,
                               Findings& findings) {
  constexpr std::uint64_t kBytes = 32 << 10;
  MANKAI_ASSIGN(auto fixed, kMakeBasic({.bytes = kBytes, .k = 3, .decay = decay}, context));
  const Tally tally = replay_and_check(*fixed, visits, decay.lambda());
  findings.judged({"never-undercounts-{}", log.id, log.what, tally.checks}, equals(0), exact(tally.under));
  MANKAI_ASSIGN(auto strict, kMakeTop({.bytes = kBytes, .decay = decay}, context));
  const Tally of_top = replay_and_check(*strict, visits, decay.lambda());
  findings.judged({"top-never-undercounts-{}", log.id, log.what, of_top.checks}, equals(0), exact(of_top.under));
  return {};
}

Result<void> measure_log(const Log& log, Rows& rows, const Context& context, Findings& findings) {
  const Decay decay = *Decay::of_half_life(kLogHalfLife);
  MANKAI_ASSIGN(const auto visits, read_log(path_of(log, context), decay.epoch, context));
  const Truth truth = truth_of(visits, decay.lambda());
  const std::string data = log.id;
  constexpr std::array<std::uint64_t, 6> kSizesOfLogs = {8, 32, 64, 128, 256, 512};
  MANKAI_TRY(add_rows(rows, main_contenders(),
                      {.data = data, .visits = visits, .truth = truth, .sizes = kSizesOfLogs, .decay = decay},
                      context));
  judge_listed(rows, data, log.id, findings);
  return judge_undercounts(log, visits, decay, context, findings);
}

void skip_log(const Log& log, Findings& findings) {
  findings.skipped({"never-undercounts-{}", log.id, log.what, 0}, equals(0), Missing::data);
  findings.skipped({"top-never-undercounts-{}", log.id, log.what, 0}, equals(0), Missing::data);
  skip_listed(log.id, log.id, Missing::data, findings);
}

}  // namespace

Result<void> measure_accuracy(const Context& context, Findings& findings) {
  MANKAI_TRY(measure_drawn(context, findings));
  Rows rows;
  for (const Log& log : kLogs) {
    if (context.data_dir) {
      MANKAI_TRY(measure_log(log, rows, context, findings));
    } else {
      skip_log(log, findings);
    }
  }
  if (!rows.empty()) {
    Figure figure = figure_of(rows, findings.figure("accuracy-logs"));
    plot_main(figure, "blog");
    findings.add(std::move(figure));
  }
  return {};
}

}  // namespace mankai::lab::profiling
