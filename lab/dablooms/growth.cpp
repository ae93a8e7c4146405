#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <string_view>

#include "lab/dablooms/filters.hpp"
#include "lab/dablooms/parts.hpp"

namespace mankai::lab::spam {
namespace {

constexpr const char* kPlace = "Solving Scale, paragraph 6";
constexpr const char* kCodePlace = "Code, against Solving Scale, paragraph 6";
constexpr double kRate = 0.01;
// Keys as multiples of the first filter's capacity.
constexpr std::array<std::uint64_t, 6> kMultiples = {1, 2, 5, 10, 20, 50};
constexpr double kBitsPerByte = 8;
constexpr double kNibbleBits = 4;

// One filter with so many keys.
struct Row {
  std::string name;
  double keys = 0;
  double slices = 0;
  double bits = 0;          // a key
  double bits_formula = 0;  // the same by the sizing formula
  double probes = 0;        // a key
  double probes_formula = 0;
  Estimate rate{};
  double rate_formula = 0;
  Estimate miss_ns{};
};

struct Plan {
  std::uint64_t capacity;
  std::uint64_t trials;
  std::uint64_t timed;
  std::size_t rounds;
  Keys keys;
};

template <class F>
Estimate time_misses(const F& filter, const Plan& plan) {
  std::vector<Digest> strangers;
  for (std::uint64_t i = 0; i < plan.timed; ++i) {
    strangers.push_back(plan.keys.stranger(i));
  }
  std::uint64_t yes = 0;
  const std::array<std::function<void()>, 1> work = {[&] {
    for (const Digest stranger : strangers) {
      yes += static_cast<std::uint64_t>(filter.may_contain(stranger));
    }
  }};
  const Estimate time = nanoseconds_interleaved(plan.rounds, plan.timed, work).front();
  MANKAI_ASSERT(yes <= plan.timed * plan.rounds);
  return time;
}

// The sizing formula, n |ln p| / ln² 2 counters of four bits and ceil(log2(1/p)) probes, over the filters that so many
// keys need. `room` is what a filter takes before the next one opens.
struct Needed {
  double slices = 0;
  double bits = 0;
  double probes = 0;
};
Needed needed(double keys, double capacity, double room, const Growth& growth) {
  // Below this rate ours go no further.
  constexpr double kLeastRate = 1e-8;
  const bool is_model = room < capacity;
  Needed sum;
  double fpr = kRate * (1 - growth.tightening);
  for (double rest = keys; rest > 0;) {
    const double slice_rate = is_model ? fpr : std::max(fpr, kLeastRate);
    sum.slices += 1;
    sum.bits += kNibbleBits * capacity * -std::log(slice_rate) / (std::numbers::ln2 * std::numbers::ln2) / keys;
    sum.probes += std::ceil(-std::log2(slice_rate));
    rest -= room;
    fpr *= growth.tightening;
    capacity *= growth.factor;
    room *= growth.factor;
  }
  return sum;
}

template <class F>
Row row_of(const std::string& name, const F& filter, std::uint64_t keys, const Needed& formula, const Plan& plan) {
  Row row{.name = name, .keys = static_cast<double>(keys)};
  row.slices = static_cast<double>(filter.filter().slice_count());
  row.bits = static_cast<double>(filter.filter().cells_bytes()) * kBitsPerByte / row.keys;
  row.bits_formula = formula.bits;
  row.probes = static_cast<double>(filter.filter().probes_per_key());
  row.probes_formula = formula.probes;
  row.rate = strangers_let_through(filter, plan.keys, plan.trials);
  row.miss_ns = time_misses(filter, plan);
  return row;
}

constexpr const char* kBlocked = "ours, blocked, growth 2, r = 0.7";
std::string name_of(std::uint32_t factor) { return fmt::format("growth {}", factor); }

Result<std::vector<Row>> measure_ours(const std::string& name, const Shape& shape, const Plan& plan,
                                      const Context& context) {
  MANKAI_ASSIGN(auto filter, make_ours(shape, context));
  std::vector<Row> rows;
  std::uint64_t inserted = 0;
  for (const std::uint64_t multiple : kMultiples) {
    const std::uint64_t keys = multiple * plan.capacity;
    insert_members(filter, plan.keys, inserted, keys);
    inserted = keys;
    const auto capacity = static_cast<double>(plan.capacity);
    Needed formula = needed(static_cast<double>(keys), capacity, capacity, shape.growth);
    if (shape.layout == CountingLayout::blocked) {
      formula = {.slices = formula.slices, .bits = NAN, .probes = formula.slices * 8};
    }
    Row row = row_of(name, filter, keys, formula, plan);
    row.rate_formula = filter.filter().fpr_expected(keys);
    if (shape.layout == CountingLayout::partitioned) {
      row.rate = widened(row.rate, formula_rate(parts_of(filter.filter())).error);
    }
    rows.push_back(row);
  }
  return rows;
}

struct Model {
  std::vector<Row> rows;
  Estimate read;  // counters a miss
  double read_formula = 0;
  std::uint64_t in_newest = 0;
};

Model measure_model(const Plan& plan, const Context& context) {
  auto filter = make_theirs({.keys = plan.capacity, .fpr = kRate}, context);
  Model model;
  std::uint64_t inserted = 0;
  for (const std::uint64_t multiple : kMultiples) {
    const std::uint64_t keys = multiple * plan.capacity;
    insert_members(filter, plan.keys, inserted, keys);
    inserted = keys;
    const auto capacity = static_cast<double>(plan.capacity);
    const Needed formula = needed(static_cast<double>(keys), capacity, capacity - 1, {.factor = 1, .tightening = 0.5});
    model.rows.push_back(row_of("model of the original", filter, keys, formula, plan));
  }
  std::vector<double> read;
  for (std::uint64_t i = 0; i < plan.timed; ++i) {
    const Digest stranger = plan.keys.stranger(i);
    if (!filter.filter().may_contain(stranger)) {
      read.push_back(static_cast<double>(filter.filter().counters_read(stranger)));
    }
  }
  model.read = mean(read);
  for (std::size_t i = 0; i < filter.filter().slice_count(); ++i) {
    const Original::Slice& slice = filter.filter().slice(i);
    const double fill =
        -std::expm1(static_cast<double>(slice.keys) * std::log1p(-1.0 / static_cast<double>(slice.size)));
    // A miss of this filter: the mean of 1, fill, fill² … up to k, given that one of the k is 0.
    const double all = std::pow(fill, slice.k);
    model.read_formula += ((1 - all) / (1 - fill) - slice.k * all) / (1 - all);
  }
  return model;
}

const Row& last_of(const std::vector<Row>& rows, std::string_view name) {
  const Row* last = nullptr;
  for (const Row& row : rows) {
    last = row.name == name ? &row : last;
  }
  MANKAI_ASSERT(last != nullptr);
  return *last;
}

void judge_any_growth(const std::vector<Row>& rows, Findings& findings) {
  for (const std::uint32_t factor : {1U, 2U, 4U}) {
    const Row& row = last_of(rows, name_of(factor));
    const std::string at = fmt::format("growth {}, {:.0f} keys in {:.0f} filters", factor, row.keys, row.slices);
    findings.judged({.id = fmt::format("any-growth-{}", factor),
                     .place = kPlace,
                     .claim = "Any growth function can be applied, and the error stays bounded: " + at + ".",
                     .formula = "SUM(P0 0.5^(i+1)) <= P0 = 1 %, whatever the sizes",
                     .expected = {.value = kRate, .relation = Relation::at_most},
                     .measured = row.rate});
    findings.judged({.id = fmt::format("growth-rate-{}", factor),
                     .place = kPlace,
                     .claim = "The error follows from the filters' own: " + at + ".",
                     .formula = "1 - PRODUCT(1 - p_i), the newest filter partly full",
                     .expected = {.value = row.rate_formula},
                     .measured = row.rate});
    findings.judged({.id = fmt::format("growth-bits-{}", factor),
                     .place = kPlace,
                     .claim = "Size is a function of error and capacity: " + at + ".",
                     .formula = "SUM(4 n_i |ln p_i| / ln^2 2) / n, p_i not below 1e-8",
                     .unit = "bits per key",
                     // Ours are sized to keep the rate with k rounded up, which takes up to 2 % more (k = 8 to 27).
                     .expected = {.value = row.bits_formula, .tolerance = 0.02 * row.bits_formula},
                     .measured = {.value = row.bits}});
    findings.judged({.id = fmt::format("growth-probes-{}", factor),
                     .place = kPlace,
                     .claim = "What a miss may have to read: " + at + ".",
                     .formula = "SUM(ceil(log2(1 / p_i)))",
                     .unit = "probes",
                     .expected = {.value = row.probes_formula},
                     .measured = {.value = row.probes}});
  }
}

void judge_model(const Model& model, Findings& findings) {
  const Row& last = model.rows.back();
  const Row& half = model.rows[model.rows.size() - 2];  // 20 capacities
  findings.judged({.id = "original-bits",
                   .place = kCodePlace,
                   .claim =
                       "The code's growth is constant: bits per key grow with the number of keys, and memory with its "
                       "square. 50 capacities.",
                   .formula = "SUM(4 n0 (|ln P0| + (i+1) ln 2) / ln^2 2) / n over 51 filters = 192",
                   .unit = "bits per key",
                   .expected = {.value = last.bits_formula, .tolerance = 0.005 * last.bits_formula},
                   .measured = {.value = last.bits},
                   .reason = fmt::format("{:.0f} bits at 20 capacities. The original library has 192 at 5 000 000 keys "
                                         "and a capacity of 100 000.",
                                         half.bits)});
  findings.judged({.id = "original-probes",
                   .place = kCodePlace,
                   .claim = "The code computes every probe of every filter for a miss.",
                   .formula = "SUM(ceil(log2(1/P0) + i + 1)) over 51 filters = 1683",
                   .unit = "probes",
                   .expected = {.value = last.probes_formula},
                   .measured = {.value = last.probes}});
  findings.judged({.id = "original-counters-read",
                   .place = kCodePlace,
                   .claim = "A miss need not read more than about two counters of each filter.",
                   .formula = "SUM(mean number up to the first 0) over 51 half-full filters",
                   .unit = "counters",
                   .expected = {.value = model.read_formula},
                   .measured = model.read,
                   .reason = "So the cost of constant growth is one of filters: 51, where doubling has 6."});
}

void claim_times(const std::vector<Row>& rows, const Model& model, Findings& findings) {
  const Row& constant = last_of(rows, name_of(1));
  for (const std::uint32_t factor : {2U, 4U}) {
    const Row& row = last_of(rows, name_of(factor));
    findings.depends({.id = fmt::format("constant-over-growth-{}", factor),
                      .place = kPlace,
                      .claim = fmt::format("What constant growth costs a miss, beside growth {}.", factor),
                      .formula = "time of a miss over that of the other; filters over filters",
                      .unit = "times",
                      .expected = {.value = constant.slices / row.slices},
                      .measured = quotient(constant.miss_ns, row.miss_ns),
                      .reason = fmt::format("On the machine and its caches: {:.0f} ns and {:.0f} ns at {:.0f} keys.",
                                            constant.miss_ns.value, row.miss_ns.value, row.keys)});
  }
  findings.depends({.id = "original-miss-time",
                    .place = kCodePlace,
                    .claim = "A miss at 50 times the first capacity.",
                    .formula = "the original library takes 18 500 ns at 5 000 000 keys on another machine; this is the "
                               "model, which stops at the first 0",
                    .unit = "ns",
                    .expected = {.value = 18'500, .relation = Relation::at_most},
                    .measured = model.rows.back().miss_ns,
                    .reason = fmt::format("On the machine. Ours by default (blocked, doubling): {:.0f} ns and {:.0f} "
                                          "bits per key.",
                                          last_of(rows, kBlocked).miss_ns.value, last_of(rows, kBlocked).bits)});
}

Figure figure_of(const std::vector<Row>& rows, Figure figure, const std::string& y, const std::string& formula) {
  figure.x = {.label = "keys", .is_logarithmic = true};
  figure.columns = {"filter",          "keys",
                    "filters",         "bits per key, formula",
                    "bits per key",    "probes, formula",
                    "probes per miss", "rate",
                    "rate, formula",   "ns per miss"};
  std::vector<std::string> names;
  for (const Row& row : rows) {
    figure.rows.push_back({row.name, row.keys, row.slices, row.bits_formula, row.bits, row.probes_formula, row.probes,
                           row.rate.value, row.rate_formula, row.miss_ns.value});
    if (names.empty() || names.back() != row.name) {
      names.push_back(row.name);
    }
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!formula.empty()) {
      figure.series.push_back(
          {.title = "", .x = "keys", .y = formula, .is_line = true, .only = {{"filter", names[i]}}, .colour = i});
    }
    figure.series.push_back({.title = names[i], .x = "keys", .y = y, .only = {{"filter", names[i]}}, .colour = i});
  }
  return figure;
}

void add_figures(const std::vector<Row>& rows, std::uint64_t capacity, Findings& findings) {
  const std::string caption = fmt::format(
      "The first filter is for {} keys at 1 % in all, r = 0.5, four-bit counters. Lines are the formulas.", capacity);
  findings.add(figure_of(rows,
                         {.name = "growth-bits",
                          .title = "Memory of constant and geometric growth",
                          .caption = caption,
                          .x = {},
                          .y = {.label = "bits per key"}},
                         "bits per key", "bits per key, formula"));
  findings.add(figure_of(rows,
                         {.name = "growth-probes",
                          .title = "Probes of a miss, constant and geometric growth",
                          .caption = caption,
                          .x = {},
                          .y = {.label = "probes of all filters", .is_logarithmic = true}},
                         "probes per miss", "probes, formula"));
  findings.add(figure_of(rows,
                         {.name = "growth-time",
                          .title = "Time of a miss, constant and geometric growth",
                          .caption = caption + " Wall clock, on this machine; one call at a time.",
                          .x = {},
                          .y = {.label = "ns", .is_logarithmic = true}},
                         "ns per miss", ""));
}

}  // namespace

Result<void> measure_growth(const Context& context, Findings& findings) {
  const Plan plan{.capacity = context.trials(2000, 100'000),
                  .trials = context.trials(200'000, 400'000),
                  .timed = context.trials(5000, 50'000),
                  .rounds = context.trials(3, 7),
                  .keys = Keys(context.seed)};
  std::vector<Row> rows;
  for (const std::uint32_t factor : {1U, 2U, 4U}) {
    context.progress(fmt::format("growth {}", factor));
    const Shape shape{
        .keys = plan.capacity, .fpr = kRate, .growth = {.factor = factor, .tightening = 0.5, .bound = FprBound::total}};
    MANKAI_ASSIGN(auto measured, measure_ours(name_of(factor), shape, plan, context));
    rows.insert(rows.end(), measured.begin(), measured.end());
  }
  const Shape usual{.keys = plan.capacity, .fpr = kRate, .growth = {}, .layout = CountingLayout::blocked};
  MANKAI_ASSIGN(auto blocked, measure_ours(kBlocked, usual, plan, context));
  rows.insert(rows.end(), blocked.begin(), blocked.end());
  const Model model = measure_model(plan, context);
  judge_any_growth(rows, findings);
  judge_model(model, findings);
  claim_times(rows, model, findings);
  rows.insert(rows.end(), model.rows.begin(), model.rows.end());
  add_figures(rows, plan.capacity, findings);
  return {};
}

}  // namespace mankai::lab::spam
