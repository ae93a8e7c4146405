#include <algorithm>
#include <cmath>
#include <vector>

#include "lab/parts.hpp"
#include "lab/web_profiling/profiles.hpp"

namespace mankai::lab::profiling {
namespace {

constexpr double kTicks = 60;

// One page's visits, at times measured in epochs.
std::vector<double> arrivals(std::uint64_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> times(count);
  for (double& time : times) {
    time = kTicks * random.uniform();
  }
  std::ranges::sort(times);
  return times;
}

// Equation (1) with a clock's ticks: the exponent is the number of ticks between arrival and now.
double by_definition(std::span<const double> times, double now) {
  double sum = 0;
  for (const double time : times) {
    sum += (1 - kLambda) * std::pow(kLambda, std::floor(now) - std::floor(time));
  }
  return sum;
}

// The other reading: each visit's epochs begin at its own arrival.
double by_own_age(std::span<const double> times, double now) {
  double sum = 0;
  for (const double time : times) {
    sum += (1 - kLambda) * std::pow(kLambda, std::floor(now - time));
  }
  return sum;
}

// Equations (2) and (3), at the end of the last epoch, from the number of arrivals per epoch.
struct Recursion {
  double y = 0;
  double y_prime = 0;
};
Recursion by_recursion(std::span<const double> times) {
  std::vector<double> x(static_cast<std::size_t>(kTicks));
  for (const double time : times) {
    ++x[static_cast<std::size_t>(time)];
  }
  Recursion recursion;
  for (const double in_epoch : x) {
    recursion.y = (1 - kLambda) * in_epoch + kLambda * recursion.y;
    recursion.y_prime = in_epoch + kLambda * recursion.y_prime;
  }
  return recursion;
}

constexpr std::uint32_t kFractionBits = 12;

// The filter with one page: strict cells. Rounding up adds less than a unit per epoch, 1 / (1 - λ) units in all.
Result<DecayedCount> by_filter(std::span<const double> times, const Context& context) {
  MANKAI_ASSIGN(auto basic, kMakeBasic({.keys = 1000,
                                        .decay = drawn_decay(kLambda),
                                        .policy = DecayPolicy::fixed_point,
                                        .fraction_bits = kFractionBits},
                                       context));
  Visits page{.names = {"page"}, .digests = {Hasher(context.hash())("page")}};
  page.pages.resize(1);
  for (const double time : times) {
    basic->insert(page, page.pages, {static_cast<std::uint64_t>(time)});
  }
  basic->advance({static_cast<std::uint64_t>(kTicks) - 1});
  return basic->estimate(page.digests[0]);
}

// A page with so many visits in every epoch.
Result<void> judge_rate(const Context& context, Findings& findings) {
  constexpr int kPerEpoch = 40;
  std::vector<double> times;
  for (double tick = 0; tick < kTicks; ++tick) {
    times.insert(times.end(), kPerEpoch, tick);
  }
  MANKAI_ASSIGN(const auto count, by_filter(times, context));
  findings.judged("query-normalizes",
                  equals(kPerEpoch).with_formula_error(kPerEpoch * std::pow(kLambda, kTicks) +
                                                       std::exp2(-static_cast<double>(kFractionBits))),
                  exact(count.rate));
  return {};
}

}  // namespace

Result<void> measure_counts(const Context& context, Findings& findings) {
  const std::vector<double> times = arrivals(500, context.seed);
  const double now = kTicks - 0.5;
  const std::span<const double> past(times.begin(), std::ranges::lower_bound(times, now));
  const Recursion recursion = by_recursion(past);
  MANKAI_ASSIGN(const auto count, by_filter(past, context));
  const double most = 1 / (1 - kLambda) * std::exp2(-static_cast<double>(kFractionBits));
  const double most_of_rate = (1 - kLambda) * most;
  findings.judged("equation-3", equals(recursion.y_prime).with_formula_error(most), exact(count.raw));
  findings.judged("equation-4", equals(recursion.y).with_formula_error(most_of_rate), exact(count.rate));
  findings.judged("equation-1", equals(by_definition(past, now)).with_formula_error(most_of_rate), exact(count.rate));
  findings.judged("equation-1-ages", equals(by_own_age(past, now)).with_formula_error(most_of_rate), exact(count.rate));
  return judge_rate(context, findings);
}

}  // namespace mankai::lab::profiling
