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

// The filter with one page: strict cells with 12 fraction bits.
Result<DecayedCount> by_filter(std::span<const double> times, const Context& context) {
  constexpr std::uint32_t kFractionBits = 12;
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

void judge_filter(const DecayedCount& count, double definition, Findings& findings) {
  // Rounding up adds less than a unit per epoch.
  const double most = 1 / (1 - kLambda) / 4096;
  findings.judged("equation-4", equals(definition).with_formula_error((1 - kLambda) * most), exact(count.rate));
  findings.judged("equation-3", equals(definition / (1 - kLambda)).with_formula_error(most), exact(count.raw));
}

}  // namespace

Result<void> measure_counts(const Context& context, Findings& findings) {
  const std::vector<double> times = arrivals(500, context.seed);
  const double now = kTicks - 0.5;
  const auto up_to = std::ranges::lower_bound(times, now);
  const std::span<const double> past(times.begin(), up_to);
  const double definition = by_definition(past, now);
  const Recursion recursion = by_recursion(past);
  const double rounding = 1e-9 * definition;
  findings.judged("equation-2", equals(definition).with_formula_error(rounding), exact(recursion.y));
  findings.judged("equation-1-ages", equals(by_own_age(past, now)).with_formula_error(rounding), exact(recursion.y));
  findings.judged("query-normalises", at_least(static_cast<double>(past.size())).with_formula_error(rounding),
                  exact((1 - kLambda) * recursion.y_prime));
  MANKAI_ASSIGN(const auto count, by_filter(past, context));
  judge_filter(count, definition, findings);
  return {};
}

}  // namespace mankai::lab::profiling
