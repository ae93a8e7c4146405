#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "lab/dablooms/filters.hpp"
#include "lab/parts.hpp"
#include "lab/traffic/url_generator.hpp"

namespace mankai::lab::spam {
namespace {

constexpr unsigned kStuck = 15;     // the value at which our counters stay forever
constexpr unsigned kOverflow = 16;  // the original cannot count this

std::uint64_t stuck_counters(const CountingBloom& filter) {
  return count_counters(cells_of(filter), [](unsigned counter) { return counter == kStuck; });
}

unsigned greatest_counter(const CountingBloom& filter) {
  unsigned greatest = 0;
  static_cast<void>(count_counters(cells_of(filter), [&greatest](unsigned counter) {
    greatest = std::max(greatest, counter);
    return false;
  }));
  return greatest;
}

// Whether one URL is present after repeated additions and removals, alone in the filter.
template <class F>
bool is_in_after(F& filter, const Keys& numbers, int added, int removed) {
  for (int i = 0; i < added; ++i) {
    filter.insert(numbers.member(0), 0);
  }
  for (int i = 0; i < removed; ++i) {
    static_cast<void>(filter.filter().erase(numbers.member(0), 0));
  }
  return filter.may_contain(numbers.member(0));
}

Result<void> measure_one_url(const Context& context, Findings& findings) {
  constexpr Shape kShape{.keys = 1000, .fpr = 0.05};
  const Keys numbers(context.seed);
  auto fifteen = make_theirs(kShape, context);
  auto twenty = make_theirs(kShape, context);
  findings.depends("fifteen-share-a-counter", {equals(1), exact(is_in_after(fifteen, numbers, 15, 14))},
                   {equals(1), exact(is_in_after(twenty, numbers, 20, 19))});
  MANKAI_ASSIGN(auto ours, make_ours(kShape, context));
  findings.judged("twenty-additions-ours", equals(1), exact(is_in_after(ours, numbers, 20, 19)));
  return {};
}

// At capacity, with the best k, a counter is ln 2 on average. [Fan2000] bounds the probability of 16 by 1.37e-15.
Result<void> measure_sane_load(const Context& context, Findings& findings) {
  const std::uint64_t keys = context.trials(200'000, 5'000'000);
  MANKAI_ASSIGN(auto filter, make_counting(keys, kRate, context));
  insert_members(filter, Keys(context.seed), 0, keys);
  const CountingBloom& full = filter.filter();
  const auto cells = static_cast<double>(full.cell_count());
  const double load = static_cast<double>(full.keys_inserted()) / static_cast<double>(full.params().size);
  findings.judged("half-of-the-counters",
                  equals(1 - std::exp(-static_cast<double>(keys) / static_cast<double>(full.params().size))),
                  Estimate{.value = full.fill_ratio(), .error = 0.5 / std::sqrt(cells)});
  findings.judged({"never-at-a-sane-load", load, cells, poisson_tail(load, kStuck), poisson_tail(load, kOverflow)},
                  at_most(kStuck - 1), exact(greatest_counter(full)));
  return {};
}

// The load at which a counter overflows with the given probability.
double load_of_overflow(double probability) {
  double low = 0.1;
  double high = 16;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (poisson_tail(middle, kOverflow) < probability ? low : high) = middle;
  }
  return low;
}

struct Load {
  double load = 0;  // keys per counter
  double stuck_formula = 0;
  Estimate stuck;
  double rate_formula = 0;
  Estimate rate;
};

Result<Load> measure_load(double load, const Context& context) {
  constexpr std::uint64_t kSizedFor = 10'000;
  MANKAI_ASSIGN(auto filter, make_counting(context.trials(kSizedFor, 50 * kSizedFor), kRate, context));
  const auto size = static_cast<double>(filter.filter().params().size);
  const auto keys = static_cast<std::uint64_t>(load * size);
  const Keys numbers(context.seed);
  insert_members(filter, numbers, 0, keys);
  const Estimate formula = formula_rate(part_of(filter.filter(), keys));
  return Load{.load = load,
              .stuck_formula = poisson_tail(load, kStuck),
              .stuck = share(stuck_counters(filter.filter()), filter.filter().cell_count()),
              .rate_formula = formula.value,
              .rate = widened(rate_of(filter, numbers, context.trials(20'000, 1'000'000)), formula.error)};
}

Figure figure_of(const std::vector<Load>& loads, const Findings& findings) {
  Figure figure = findings.figure("overflow");
  for (const Load& load : loads) {
    figure.rows.push_back({load.load, load.stuck_formula, poisson_tail(load.load, kOverflow),
                           load.stuck.value > 0 ? load.stuck.value : NAN, load.stuck.error, load.rate_formula,
                           load.rate.value});
  }
  return figure;
}

Result<void> measure_loads(const Context& context, Findings& findings) {
  constexpr double kOneInAMillion = 1e-6;
  const double overflow = load_of_overflow(kOneInAMillion);
  std::vector<Load> loads;
  for (const double load : {std::numbers::ln2, 1.0, 2.0, 3.0, overflow, 5.0, 6.0, 8.0, 10.0, 12.0}) {
    MANKAI_ASSIGN(auto measured, measure_load(load, context));
    if (load >= 6) {
      findings.judged({"overflow-at-load-{:.0f}", load}, equals(measured.stuck_formula), measured.stuck);
    }
    if (load == overflow) {
      findings.judged({"overflow-means-overloaded", load, measured.rate_formula},
                      at_least(findings.threshold("overflow-means-overloaded")), measured.rate);
    }
    loads.push_back(measured);
  }
  findings.add(figure_of(loads, findings));
  return {};
}

// A stream of URLs, some of which are repeats: each is added, or only the first of each.
struct Stream {
  std::uint64_t distinct = 0;
  Side side;  // the greatest counter
  std::uint64_t stuck = 0;
};
Result<Stream> add_stream(std::uint64_t count, bool adds_repeats, const Context& context) {
  MANKAI_ASSIGN(auto generator, UrlGenerator::create({.count = count, .repeat_share = 0.3, .seed = context.seed}));
  MANKAI_ASSIGN(auto filter, make_counting(count, kRate, context));
  const Hasher hasher = filter.filter().hasher();
  std::string url;
  while (generator.has_next()) {
    const std::uint64_t before = generator.distinct_so_far();
    generator.next(url);
    if (adds_repeats || generator.distinct_so_far() > before) {
      filter.insert(hasher(url));
    }
  }
  const CountingBloom& full = filter.filter();
  return Stream{.distinct = generator.distinct_so_far(),
                .side = {at_most(kStuck - 1), exact(greatest_counter(full))},
                .stuck = stuck_counters(full)};
}

Result<void> measure_repeats(const Context& context, Findings& findings) {
  const std::uint64_t count = context.trials(50'000, 1'000'000);
  MANKAI_ASSIGN(const auto once, add_stream(count, false, context));
  MANKAI_ASSIGN(const auto repeated, add_stream(count, true, context));
  findings.depends({"no-benefit-in-larger-counters", count, once.distinct, repeated.stuck}, once.side, repeated.side);
  return {};
}

}  // namespace

Result<void> measure_counters(const Context& context, Findings& findings) {
  return measure_all({measure_one_url, measure_sane_load, measure_loads, measure_repeats}, context, findings);
}

}  // namespace mankai::lab::spam
