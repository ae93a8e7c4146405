
#include "lab/dablooms/filters.hpp"
#include "lab/parts.hpp"

namespace mankai::lab::spam {
namespace {

constexpr std::size_t kOldSlices = 4;
constexpr std::uint64_t kTenths = 10;

Part oldest(const Ours& filter, double keys) {
  Part part = parts_of(filter.filter()).front();
  part.keys = keys;
  return part;
}

Estimate rate_of_oldest(const Ours& filter, const Keys& numbers, double keys, const Context& context) {
  const Estimate rate = rate_of(filter.filter().slice(0), numbers, context.trials(200'000, 4'000'000));
  return widened(rate, formula_rate(oldest(filter, keys)).error);
}

// The whole filter's formula, with `keys` keys in its oldest slice.
Estimate formula_of_all(const Ours& filter, double keys) {
  auto parts = parts_of(filter.filter());
  parts.front().keys = keys;
  return formula_rate(parts);
}

void add_row(Figure& figure, double x, const Ours& filter, double keys, const Estimate& rate, const Estimate& all) {
  figure.rows.push_back({x, formula_rate(oldest(filter, keys)).value, rate.value, rate.error,
                         formula_of_all(filter, keys).value, all.value});
}

Result<Ours> make_full(std::uint64_t keys, const Context& context) {
  auto filter = make_ours({.keys = keys, .fpr = kHighRate}, context);
  if (filter) {
    insert_members(*filter, Keys(context.seed), 0, kOldSlices * keys);
  }
  return filter;
}

Result<void> measure_removed(std::uint64_t keys, const Context& context, Findings& findings) {
  MANKAI_ASSIGN(auto filter, make_full(keys, context));
  const Keys numbers(context.seed);
  Figure figure = findings.figure({"old-filter-removed", kOldSlices, keys});
  Estimate before;
  Estimate half;
  for (std::uint64_t tenth = 0; tenth < kTenths; ++tenth) {
    const std::uint64_t removed = keys / kTenths * tenth;
    const auto left = static_cast<double>(keys - removed);
    const Estimate rate = rate_of_oldest(filter, numbers, left, context);
    const Estimate all = rate_of(filter, numbers, context.trials(50'000, 1'000'000));
    before = tenth == 0 ? rate : before;
    half = tenth == kTenths / 2 ? rate : half;
    add_row(figure, static_cast<double>(tenth) / kTenths, filter, left, rate, all);
    static_cast<void>(erase_members(filter, numbers, {.first = tenth, .end = keys, .step = kTenths}));
  }
  const auto all_keys = static_cast<double>(keys);
  findings.judged("removal-makes-more-accurate", at_most(1), quotient(half, before));
  findings.judged("accuracy-before", equals(formula_rate(oldest(filter, all_keys)).value), before);
  findings.judged("accuracy-after", equals(formula_rate(oldest(filter, all_keys / 2)).value), half);
  findings.add(std::move(figure));
  return {};
}

Result<void> measure_added(std::uint64_t keys, const Context& context, Findings& findings) {
  MANKAI_ASSIGN(auto filter, make_full(keys, context));
  const Keys numbers(context.seed);
  Figure figure = findings.figure({"old-filter-added", kOldSlices, keys});
  Estimate all;
  Estimate rate;
  double inside = 0;
  constexpr std::uint64_t kOverfilled = 2;  // times its keys; our old filters accept no more
  for (std::uint64_t times = 1; times <= kOverfilled; ++times) {
    inside = static_cast<double>(times * keys);
    rate = rate_of_oldest(filter, numbers, inside, context);
    all = widened(rate_of(filter, numbers, context.trials(100'000, 1'000'000)), formula_of_all(filter, inside).error);
    add_row(figure, static_cast<double>(times), filter, inside, rate, all);
    if (times == kOverfilled) {
      break;
    }
    for (std::uint64_t i = 0; i < keys; ++i) {
      filter.insert(numbers.member((kOldSlices + times) * keys + i), i % (keys / 2));
    }
  }
  findings.judged("old-filter-takes-keys", equals(inside), exact(filter.filter().slice(0).keys_inserted()));
  findings.judged("overfilled-rate", equals(formula_rate(oldest(filter, inside)).value), rate);
  findings.judged("overfilled-beyond-the-bound", at_least(kHighRate), all);
  findings.judged({"overfilled-all", filter.filter().overfilled_slices()}, equals(formula_of_all(filter, inside).value),
                  all);
  findings.add(std::move(figure));
  return {};
}

}  // namespace

Result<void> measure_old_filters(const Context& context, Findings& findings) {
  const std::uint64_t keys = context.trials(10'000, 100'000);
  MANKAI_TRY(measure_removed(keys, context, findings));
  return measure_added(keys, context, findings);
}

}  // namespace mankai::lab::spam
