#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <string_view>

#include "lab/dablooms/filters.hpp"
#include "lab/parts.hpp"

namespace mankai::lab::spam {
namespace {

// Numbers of keys, in capacities of the first filter.
constexpr std::array<std::uint64_t, 6> kMultiples = {1, 2, 5, 10, 20, 50};

struct Row {
  std::string name;
  double keys = 0;
  double slices = 0;
  double bits = 0;          // per key
  double bits_formula = 0;  // by the sizing formula
  double probes = 0;        // per key
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
  std::vector<Digest> absent_keys;
  for (std::uint64_t i = 0; i < plan.timed; ++i) {
    absent_keys.push_back(plan.keys.absent_key(i));
  }
  std::uint64_t yes = 0;
  const std::array<std::function<void()>, 1> work = {[&] {
    for (const Digest absent_key : absent_keys) {
      yes += static_cast<std::uint64_t>(filter.may_contain(absent_key));
    }
  }};
  const Estimate time = nanoseconds_interleaved(plan.rounds, plan.timed, work).front();
  MANKAI_ASSERT(yes <= plan.timed * plan.rounds);
  return time;
}

// The sizing formula, n |ln p| / ln² 2 counters of four bits and ceil(log2(1/p)) probes, summed over the filters that
// the keys need. `room` is the number of keys after which the next filter opens.
struct Needed {
  double slices = 0;
  double bits = 0;
  double probes = 0;
};
Needed needed(double keys, double capacity, double room, const Growth& growth) {
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
  row.rate = rate_of(filter, plan.keys, plan.trials);
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
  Estimate read;  // counters read per miss
  double read_formula = 0;
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
    const Digest absent_key = plan.keys.absent_key(i);
    if (!filter.filter().may_contain(absent_key)) {
      read.push_back(static_cast<double>(filter.filter().counters_read(absent_key)));
    }
  }
  model.read = mean(read);
  for (std::size_t i = 0; i < filter.filter().slice_count(); ++i) {
    const Original::Slice& slice = filter.filter().slice(i);
    const double fill =
        -std::expm1(static_cast<double>(slice.keys) * std::log1p(-1.0 / static_cast<double>(slice.size)));
    // A miss of this filter: the mean of 1, fill, fill² … up to k, given that one of the k counters is 0.
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
    findings.judged({"any-growth-{}", factor, at}, at_most(kRate), row.rate);
    findings.judged({"growth-rate-{}", factor, at}, equals(row.rate_formula), row.rate);
    findings.judged({"growth-bits-{}", factor, at}, equals(row.bits_formula), exact(row.bits));
    findings.judged({"growth-probes-{}", factor, at}, equals(row.probes_formula), exact(row.probes));
  }
}

void judge_model(const Model& model, Findings& findings) {
  const Row& last = model.rows.back();
  const Row& half = model.rows[model.rows.size() - 2];  // 20 capacities
  findings.judged({"original-bits", half.bits}, equals(last.bits_formula), exact(last.bits));
  findings.judged("original-probes", equals(last.probes_formula), exact(last.probes));
  findings.judged("original-counters-read", equals(model.read_formula), model.read);
}

void claim_times(const std::vector<Row>& rows, const Model& model, Findings& findings) {
  const Row& constant = last_of(rows, name_of(1));
  for (const std::uint32_t factor : {2U, 4U}) {
    const Row& row = last_of(rows, name_of(factor));
    findings.undecided({"constant-over-growth-{}", factor, constant.miss_ns.value, row.miss_ns.value, row.keys},
                       equals(constant.slices / row.slices), quotient(constant.miss_ns, row.miss_ns));
  }
  findings.undecided({"original-miss-time", last_of(rows, kBlocked).miss_ns.value, last_of(rows, kBlocked).bits},
                     at_most(18'500), model.rows.back().miss_ns);
}

Figure figure_of(const std::vector<Row>& rows, Figure figure, const std::string& y, const std::string& formula) {
  std::vector<std::string> names;
  for (const Row& row : rows) {
    figure.rows.push_back({row.name, row.keys, row.slices, row.bits_formula, row.bits, row.probes_formula, row.probes,
                           row.rate.value, row.rate_formula, row.miss_ns.value});
    if (names.empty() || names.back() != row.name) {
      names.push_back(row.name);
    }
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    Series measured{.title = names[i], .x = "keys", .y = y, .only = {{"filter", names[i]}}, .color = i};
    if (formula.empty()) {
      figure.series.push_back(std::move(measured));
    } else {
      figure.add_series(formula, "", std::move(measured));
    }
  }
  return figure;
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
  findings.add(
      figure_of(rows, findings.figure({"growth-bits", plan.capacity}), "bits per key", "bits per key, formula"));
  findings.add(
      figure_of(rows, findings.figure({"growth-probes", plan.capacity}), "probes per miss", "probes, formula"));
  findings.add(figure_of(rows, findings.figure({"growth-time", plan.capacity}), "ns per miss", ""));
  return {};
}

}  // namespace mankai::lab::spam
