#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "lab/web_profiling/parts.hpp"
#include "lab/web_profiling/profiles.hpp"

namespace mankai::lab::profiling {
namespace {

constexpr const char* kPlace = "Section 3.2";
constexpr double kLambda = 0.9;
constexpr double kTicks = 60;

// One page's visits, at moments measured in epochs.
std::vector<double> arrivals(std::uint64_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> times(count);
  for (double& time : times) {
    time = kTicks * random.uniform();
  }
  std::ranges::sort(times);
  return times;
}

// Equation (1) with the ticks that a clock gives: the exponent counts those between arrival and now.
double by_definition(std::span<const double> times, double now) {
  double sum = 0;
  for (const double time : times) {
    sum += (1 - kLambda) * std::pow(kLambda, std::floor(now) - std::floor(time));
  }
  return sum;
}

// The other reading: each visit has epochs of its own, from its arrival on.
double by_own_age(std::span<const double> times, double now) {
  double sum = 0;
  for (const double time : times) {
    sum += (1 - kLambda) * std::pow(kLambda, std::floor(now - time));
  }
  return sum;
}

// Equation (2) and (3), at the end of the last epoch, from the number of arrivals in each.
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

// The filter, with one page in it: strict cells that keep 2^-12.
Result<DecayedCount> by_filter(std::span<const double> times, const Context& context) {
  constexpr std::uint32_t kFractionBits = 12;
  MANKAI_ASSIGN(auto basic, make_basic({.keys = 1000,
                                        .decay = *Decay::of(kLambda, kDrawnEpoch),
                                        .policy = DecayPolicy::fixed_point,
                                        .fraction_bits = kFractionBits},
                                       context));
  Visits page{.names = {"page"}, .digests = {Hasher(hash_of(context))("page")}};
  page.pages.resize(1);
  for (const double time : times) {
    basic->insert(page, page.pages, {static_cast<std::uint64_t>(time)});
  }
  basic->advance({static_cast<std::uint64_t>(kTicks) - 1});
  return basic->estimate(page.digests[0]);
}

void judge_filter(const DecayedCount& count, double definition, Findings& findings) {
  // Rounding up adds less than a unit an epoch.
  const double most = 1 / (1 - kLambda) / 4096;
  findings.judged({.id = "equation-4",
                   .place = kPlace,
                   .claim = "y = (1 - λ) y' is got from the counter by one multiplication.",
                   .formula = "equation (1); the filter's rate, exact to 2^-12 / (1 - λ), times (1 - λ)",
                   .unit = "visits an epoch",
                   .expected = {.value = definition, .tolerance = (1 - kLambda) * most},
                   .measured = {.value = count.rate}});
  findings.judged({.id = "equation-3",
                   .place = kPlace,
                   .claim = "One can increment a counter directly after it has been multiplied by λ.",
                   .formula = "equation (1) / (1 - λ); the filter's raw count",
                   .unit = "visits",
                   .expected = {.value = definition / (1 - kLambda), .tolerance = most},
                   .measured = {.value = count.raw}});
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
  findings.judged(
      {.id = "equation-2",
       .place = kPlace,
       .claim = "The decayed count is kept by y_t = (1 - λ) x_t + λ y_(t-1).",
       .formula = "(1), elided: Σ (1 - λ) λ^a, a the ticks between arrival and now; 500 visits in 60 epochs",
       .unit = "visits an epoch",
       .expected = {.value = definition, .tolerance = rounding},
       .measured = {.value = recursion.y}});
  findings.judged(
      {.id = "equation-1-ages",
       .place = kPlace,
       .claim = "Equation (1), if a visit's age is its own, floor((now - t_i) / T), is what the counters hold.",
       .formula = "(1) with each visit's own epochs, beside y_t",
       .unit = "visits an epoch",
       .expected = {.value = by_own_age(past, now), .tolerance = rounding},
       .measured = {.value = recursion.y},
       .recorded = Verdict::refuted,
       .basis = "All counters decay at one moment: a visit just before it is an epoch old at once, and the "
                "sum over own ages is larger."});
  findings.judged(
      {.id = "query-normalises",
       .place = "Section 3.1, Query",
       .claim = "The estimate (1 - λ) min C is comparable with the frequency count f_e of Section 2.",
       .formula = "visits in all, undecayed; beside (1 - λ) y'",
       .unit = "visits",
       .expected = {.value = static_cast<double>(past.size()), .relation = Relation::at_least, .tolerance = rounding},
       .measured = {.value = (1 - kLambda) * recursion.y_prime},
       .recorded = Verdict::refuted,
       .basis = "It is a rate per epoch, smoothed; never undercounting can only be meant of the decayed "
                "count."});
  MANKAI_ASSIGN(const auto count, by_filter(past, context));
  judge_filter(count, definition, findings);
  return {};
}

}  // namespace mankai::lab::profiling
