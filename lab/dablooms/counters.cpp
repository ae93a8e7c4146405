#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <string>

#include "lab/dablooms/filters.hpp"
#include "lab/dablooms/parts.hpp"
#include "lab/traffic/url_generator.hpp"

namespace mankai::lab::spam {
namespace {

constexpr const char* kPlace = "Enter dablooms, paragraph 4";
constexpr unsigned kStuck = 15;     // ours never changes a counter again that got here
constexpr unsigned kOverflow = 16;  // the original cannot count this
constexpr double kRate = 0.01;

// One URL, so often added and removed, on its own.
template <class F>
bool is_in_after(F& filter, const Keys& numbers, int added, int removed) {
  for (int i = 0; i < added; ++i) {
    filter.insert(numbers.member(0), 0);
  }
  for (int i = 0; i < removed; ++i) {
    static_cast<void>(filter.erase(numbers.member(0), 0));
  }
  return filter.may_contain(numbers.member(0));
}

void judge_one_url(const std::string& id, const std::string& claim, bool is_in, bool is_refuted, Findings& findings) {
  findings.judged({.id = id,
                   .place = kPlace,
                   .claim = claim,
                   .formula = "added more often than removed, so found: 1",
                   .expected = {.value = 1},
                   .measured = {.value = is_in ? 1.0 : 0.0},
                   .recorded = is_refuted ? Verdict::refuted : Verdict::reproduced,
                   .basis = is_refuted
                                ? "The code leaves a counter at 15 when it overflows, reports that in a way that "
                                  "add ignores, and counts it down later: after 15 removals it is 0."
                                : ""});
}

Result<void> measure_one_url(const Context& context, Findings& findings) {
  constexpr Shape kShape{.keys = 1000, .fpr = 0.05};
  const Keys numbers(context.seed);
  auto fifteen = make_theirs(kShape, context);
  judge_one_url("fifteen-share-a-counter",
                "Up to 15 may share a counter: 15 additions, 14 removals (model of the "
                "original).",
                is_in_after(fifteen, numbers, 15, 14), false, findings);
  auto twenty = make_theirs(kShape, context);
  judge_one_url("twenty-additions-original",
                "Removal is reliable: 20 additions of one URL and 19 removals (model of the original).",
                is_in_after(twenty, numbers, 20, 19), true, findings);
  auto ours = make_ours(kShape, context);
  if (!ours) {
    return std::unexpected(ours.error());
  }
  judge_one_url("twenty-additions-ours", "The same in ours, where a counter that reached 15 is never changed again.",
                is_in_after(*ours, numbers, 20, 19), false, findings);
  return {};
}

// At the capacity a counter has ln 2 on average with the best k. [Fan2000] bounds the chance of 16 by 1.37e-15.
Result<void> measure_sane_load(const Context& context, Findings& findings) {
  const std::uint64_t keys = context.trials(200'000, 5'000'000);
  auto filter = make_counting(keys, kRate, context);
  if (!filter) {
    return std::unexpected(filter.error());
  }
  insert_members(*filter, Keys(context.seed), 0, keys);
  const CountingBloom& full = filter->filter();
  const auto cells = static_cast<double>(full.cell_count());
  const double load = static_cast<double>(full.keys_inserted()) / static_cast<double>(full.params().size);
  findings.judged(
      {.id = "half-of-the-counters",
       .place = kPlace,
       .claim = "At a sane rate a filter for 1 % that is full has about half of its counters in use.",
       .formula = "1 - e^(-n/size), 7 probes; 0.518",
       .expected = {.value = 1 - std::exp(-static_cast<double>(keys) / static_cast<double>(full.params().size))},
       .measured = {.value = full.fill_ratio(), .error = 0.5 / std::sqrt(cells)}});
  findings.judged(
      {.id = "never-at-a-sane-load",
       .place = kPlace,
       .claim = "More than 15 do not share a counter at a sane rate, as long as keys differ.",
       .formula = fmt::format("counters * P[Poisson({:.2f}) >= 15] = {:.0f} * {:.1e}", load, cells,
                              poisson_tail(load, kStuck)),
       .unit = "counters",
       .expected = {.value = cells * poisson_tail(load, kStuck), .relation = Relation::at_most},
       .measured = {.value = static_cast<double>(full.saturated_cells())},
       .reason = fmt::format("P[>= 16] = {:.1e}; the bound in the literature is (e ln 2 / 16)^16 = 1.4e-15.",
                             poisson_tail(load, kOverflow))});
  return {};
}

// The load at which one counter in a million overflows.
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
  double load = 0;  // keys a counter
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
  const Estimate formula = formula_rate(
      Part{.keys = static_cast<double>(keys), .size = size, .k = static_cast<double>(filter.filter().params().k)});
  return Load{
      .load = load,
      .stuck_formula = poisson_tail(load, kStuck),
      .stuck = share(filter.filter().saturated_cells(), filter.filter().cell_count()),
      .rate_formula = formula.value,
      .rate = widened(strangers_let_through(filter, numbers, context.trials(20'000, 1'000'000)), formula.error)};
}

Figure figure_of(const std::vector<Load>& loads) {
  Figure figure{.name = "overflow",
                .title = "How often a four-bit counter overflows",
                .caption =
                    "Distinct keys in a filter made for 1 %; at its capacity the load is 0.73. Ours never changes a "
                    "counter again that reached 15; the original cannot count to 16. Measured where at least one did.",
                .x = {.label = "load"},
                .y = {.label = "probability", .is_logarithmic = true},
                .columns = {"load", "15 or more, formula", "16 or more, formula", "15 or more", "error",
                            "false positives, formula", "false positives"}};
  for (const Load& load : loads) {
    figure.rows.push_back({load.load, load.stuck_formula, poisson_tail(load.load, kOverflow),
                           load.stuck.value > 0 ? load.stuck.value : NAN, load.stuck.error, load.rate_formula,
                           load.rate.value});
  }
  figure.series = {
      {.title = "15 or more: Poisson", .x = "load", .y = "15 or more, formula", .is_line = true, .colour = 0},
      {.title = "15 or more: measured", .x = "load", .y = "15 or more", .error = "error", .colour = 0},
      {.title = "16 or more: Poisson", .x = "load", .y = "16 or more, formula", .is_line = true, .colour = 2},
      {.title = "false positives: formula", .x = "load", .y = "false positives, formula", .is_line = true, .colour = 1},
      {.title = "false positives: measured", .x = "load", .y = "false positives", .colour = 1}};
  return figure;
}

Result<void> measure_loads(const Context& context, Findings& findings) {
  constexpr double kOneInAMillion = 1e-6;
  const double overflow = load_of_overflow(kOneInAMillion);
  std::vector<Load> loads;
  for (const double load : {std::numbers::ln2, 1.0, 2.0, 3.0, overflow, 5.0, 6.0, 8.0, 10.0, 12.0}) {
    MANKAI_ASSIGN(auto measured, measure_load(load, context));
    if (load >= 6) {
      findings.judged({.id = fmt::format("overflow-at-load-{:.0f}", load),
                       .place = kPlace,
                       .claim = fmt::format("How many counters are full when {:.0f} keys share each on average.", load),
                       .formula = fmt::format("P[Poisson({:.0f}) >= 15]", load),
                       .expected = {.value = measured.stuck_formula},
                       .measured = measured.stuck});
    }
    if (load == overflow) {
      findings.judged({.id = "overflow-means-overloaded",
                       .place = kPlace,
                       .claim =
                           "If counters overflow, the filter is overloaded: where one in a million does, the error "
                           "is excessive (read: above a half).",
                       .formula = fmt::format("P[Poisson({:.2f}) >= 16] = 1e-6; there (1 - e^-{:.2f})^7 = {:.2f}", load,
                                              load, measured.rate_formula),
                       .expected = {.value = 0.5, .relation = Relation::at_least},
                       .measured = measured.rate,
                       .reason = "For keys that differ."});
    }
    loads.push_back(measured);
  }
  findings.add(figure_of(loads));
  return {};
}

// Repeats are additions of the same key: all on the same counters, whatever the load.
Result<void> measure_repeats(const Context& context, Findings& findings) {
  const std::uint64_t count = context.trials(50'000, 1'000'000);
  auto generator = UrlGenerator::create({.count = count, .repeat_share = 0.3, .seed = context.seed});
  auto filter = make_counting(count, kRate, context);
  if (!generator || !filter) {
    return fail(ErrorCode::out_of_space, "no memory for a filter");
  }
  const Hasher hasher = filter->filter().hasher();
  std::string url;
  while (generator->has_next()) {
    generator->next(url);
    filter->insert(hasher(url));
  }
  const CountingBloom& full = filter->filter();
  const double load = static_cast<double>(full.keys_inserted()) / static_cast<double>(full.params().size);
  const double expected = static_cast<double>(full.cell_count()) * poisson_tail(load, kStuck);
  findings.judged(
      {.id = "no-benefit-in-larger-counters",
       .place = kPlace,
       .claim = "There is no benefit in larger counters: none overflows at a sane load, here of a stream in "
                "which 30 % of the URLs are repeats, each of them added.",
       .formula = "counters * P[Poisson(load) >= 15]",
       .unit = "counters",
       .expected = {.value = expected, .relation = Relation::at_most},
       .measured = {.value = static_cast<double>(full.saturated_cells())},
       .recorded = Verdict::refuted,
       .basis = "The formula is that of distinct keys. A URL that is added 15 times fills its counters on "
                "its own, and popular ones are, by Zipf's law.",
       .reason = fmt::format("{} URLs, {} of them distinct. It holds again where the caller adds each key "
                             "once; a removal of a key that was added often needs a count elsewhere anyway.",
                             count, generator->distinct_so_far())});
  return {};
}

}  // namespace

Result<void> measure_counters(const Context& context, Findings& findings) {
  for (const auto measure : {measure_one_url, measure_sane_load, measure_loads, measure_repeats}) {
    MANKAI_TRY(measure(context, findings));
  }
  return {};
}

}  // namespace mankai::lab::spam
