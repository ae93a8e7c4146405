#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>

#include "lab/dablooms/filters.hpp"
#include "lab/dablooms/parts.hpp"

namespace mankai::lab::spam {
namespace {

constexpr const char* kRemoved = "Enter dablooms, paragraph 3";
constexpr const char* kAdded = "Enter dablooms, paragraph 2";
constexpr double kRate = 0.05;
constexpr std::size_t kSlices = 4;
constexpr std::uint64_t kTenths = 10;

Part oldest(const Ours& filter, double keys) {
  Part part = parts_of(filter.filter()).front();
  part.keys = keys;
  return part;
}

Estimate rate_of_oldest(const Ours& filter, const Keys& numbers, double keys, const Context& context) {
  const Estimate rate = strangers_let_through(filter.filter().slice(0), numbers, context.trials(200'000, 4'000'000));
  return widened(rate, formula_rate(oldest(filter, keys)).error);
}

// The whole filter's formula, its oldest slice having so many keys.
Estimate formula_of_all(const Ours& filter, double keys) {
  auto parts = parts_of(filter.filter());
  parts.front().keys = keys;
  return formula_rate(parts);
}

void add_row(Figure& figure, double x, const Ours& filter, double keys, const Estimate& rate, const Estimate& all) {
  figure.rows.push_back({x, formula_rate(oldest(filter, keys)).value, rate.value, rate.error,
                         formula_of_all(filter, keys).value, all.value});
}

Figure empty_figure(std::string name, std::string title, std::string caption, std::string x) {
  return {.name = std::move(name),
          .title = std::move(title),
          .caption = std::move(caption),
          .x = {.label = x},
          .y = {.label = "chance of a false positive", .is_logarithmic = true},
          .columns = {x, "formula", "measured", "error", "all filters, formula", "all filters"},
          .series = {{.title = "", .x = x, .y = "formula", .is_line = true, .colour = 0},
                     {.title = "the old filter", .x = x, .y = "measured", .error = "error", .colour = 0},
                     {.title = "", .x = x, .y = "all filters, formula", .is_line = true, .colour = 1},
                     {.title = "all filters", .x = x, .y = "all filters", .is_hollow = true, .colour = 1}}};
}

Result<Ours> make_full(std::uint64_t keys, const Context& context) {
  auto filter = make_ours({.keys = keys, .fpr = kRate}, context);
  if (filter) {
    insert_members(*filter, Keys(context.seed), 0, kSlices * keys);
  }
  return filter;
}

Result<void> measure_removed(std::uint64_t keys, const Context& context, Findings& findings) {
  auto filter = make_full(keys, context);
  if (!filter) {
    return std::unexpected(filter.error());
  }
  const Keys numbers(context.seed);
  Figure figure = empty_figure(
      "old-filter-removed", "An old filter grows more accurate as keys are removed",
      fmt::format("The oldest of {} filters for {} keys each at 5 % in all, r = 0.5.", kSlices, keys), "removed share");
  Estimate before;
  Estimate half;
  for (std::uint64_t tenth = 0; tenth < kTenths; ++tenth) {
    const std::uint64_t removed = keys / kTenths * tenth;
    const auto left = static_cast<double>(keys - removed);
    const Estimate rate = rate_of_oldest(*filter, numbers, left, context);
    const Estimate all = strangers_let_through(*filter, numbers, context.trials(50'000, 1'000'000));
    before = tenth == 0 ? rate : before;
    half = tenth == kTenths / 2 ? rate : half;
    add_row(figure, static_cast<double>(tenth) / kTenths, *filter, left, rate, all);
    // The next tenth goes.
    static_cast<void>(erase_members(*filter, numbers, {.first = tenth, .end = keys, .step = kTenths}));
  }
  const auto all_keys = static_cast<double>(keys);
  findings.judged({.id = "removal-makes-more-accurate",
                   .place = kRemoved,
                   .claim = "Filters that keys are removed from, and none added to, become more accurate: half of the "
                            "keys removed.",
                   .formula = "rate with n/2 keys over rate with n, at most 1",
                   .unit = "times",
                   .expected = {.value = 1, .relation = Relation::at_most},
                   .measured = quotient(half, before)});
  findings.judged({.id = "accuracy-before",
                   .place = kRemoved,
                   .claim = "An old, full filter's error.",
                   .formula = "(1 - (1 - 1/size)^n)^k",
                   .expected = {.value = formula_rate(oldest(*filter, all_keys)).value},
                   .measured = before});
  findings.judged({.id = "accuracy-after",
                   .place = kRemoved,
                   .claim = "Its error with half of the keys removed: that of a filter that never had them.",
                   .formula = "(1 - (1 - 1/size)^(n/2))^k",
                   .expected = {.value = formula_rate(oldest(*filter, all_keys / 2)).value},
                   .measured = half});
  findings.add(std::move(figure));
  return {};
}

Result<void> measure_added(std::uint64_t keys, const Context& context, Findings& findings) {
  auto filter = make_full(keys, context);
  if (!filter) {
    return std::unexpected(filter.error());
  }
  const Keys numbers(context.seed);
  Figure figure =
      empty_figure("old-filter-added", "An old filter that is added to",
                   fmt::format("The oldest of {} filters for {} keys each at 5 % in all, r = 0.5.", kSlices, keys),
                   "keys over capacity");
  Estimate all;
  Estimate rate;
  double inside = 0;
  constexpr std::uint64_t kOverfilled = 2;  // times its keys: ours takes no more into an old filter
  for (std::uint64_t times = 1; times <= kOverfilled; ++times) {
    inside = static_cast<double>(times * keys);
    rate = rate_of_oldest(*filter, numbers, inside, context);
    all = widened(strangers_let_through(*filter, numbers, context.trials(100'000, 1'000'000)),
                  formula_of_all(*filter, inside).error);
    add_row(figure, static_cast<double>(times), *filter, inside, rate, all);
    if (times == kOverfilled) {
      break;
    }
    for (std::uint64_t i = 0; i < keys; ++i) {
      // Other keys, under the ids that the oldest filter has.
      filter->insert(numbers.member((kSlices + times) * keys + i), i % (keys / 2));
    }
  }
  findings.judged(
      {.id = "old-filter-takes-keys",
       .place = kAdded,
       .claim = "Nothing prevents adding to an older filter: ours takes one capacity more, then opens another.",
       .formula = "keys in the oldest filter = 2 n",
       .unit = "keys",
       .expected = {.value = inside},
       .measured = {.value = static_cast<double>(filter->filter().slice(0).keys_inserted())}});
  findings.judged({.id = "overfilled-rate",
                   .place = kAdded,
                   .claim = "It becomes overfilled.",
                   .formula = "(1 - (1 - 1/size)^(2n))^k",
                   .expected = {.value = formula_rate(oldest(*filter, inside)).value},
                   .measured = rate});
  findings.judged({.id = "overfilled-beyond-the-bound",
                   .place = kAdded,
                   .claim = "The error grows beyond the bound.",
                   .formula = "rate of all filters, above P0 = 0.05",
                   .expected = {.value = kRate, .relation = Relation::at_least},
                   .measured = all});
  findings.judged(
      {.id = "overfilled-all",
       .place = kAdded,
       .claim = "To what: the other filters are full and not more.",
       .formula = "1 - (1 - p_0(2n)) PRODUCT(1 - p_i)",
       .expected = {.value = formula_of_all(*filter, inside).value},
       .measured = all,
       .reason = fmt::format("Ours says that {} filter is overfilled.", filter->filter().overfilled_slices())});
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
