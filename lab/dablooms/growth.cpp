#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <string>
#include <string_view>

#include "lab/counted_memory.hpp"
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
  double bits = 0;          // allocated, per key
  double bits_formula = 0;  // by the sizing formula
  double probes = 0;        // counters that a key has in all filters
  double probes_formula = 0;
  Estimate rate{};
  double rate_formula = 0;
  double miss_ns = NAN;  // in the full run
};

struct Plan {
  std::uint64_t capacity;
  std::uint64_t trials;
  std::uint64_t asked;
  std::size_t rounds;
  Keys keys;
};

double time_misses(const auto& filter, const Plan& plan) {
  std::vector<Digest> absent_keys;
  for (std::uint64_t i = 0; i < plan.asked; ++i) {
    absent_keys.push_back(plan.keys.absent_key(i));
  }
  std::uint64_t yes = 0;
  const std::array<std::function<void()>, 1> work = {[&] {
    for (const Digest absent_key : absent_keys) {
      yes += static_cast<std::uint64_t>(filter.may_contain(absent_key));
    }
  }};
  const Estimate time = nanoseconds_interleaved(plan.rounds, plan.asked, work).front();
  MANKAI_ASSERT(yes <= plan.asked * plan.rounds);
  return time.value;
}

// Adds keys, and counts the counters that the first key of each new filter changes.
template <class F>
class Filling {
 public:
  explicit Filling(F& filter) noexcept : filter_(filter) {}
  void insert_until(std::uint64_t end, const Keys& keys) {
    for (; next_ < end; ++next_) {
      filter_.insert(keys.member(next_), next_);
      if (filter_.filter().slice_count() > slices_) {
        slices_ = filter_.filter().slice_count();
        const auto is_changed = [](unsigned counter) { return counter > 0; };
        probes_ += count_counters(cells_of(filter_.filter().slice(slices_ - 1)), is_changed);
      }
    }
  }
  [[nodiscard]] double probes() const noexcept { return static_cast<double>(probes_); }

 private:
  F& filter_;
  std::uint64_t next_ = 0;
  std::size_t slices_ = 0;
  std::uint64_t probes_ = 0;
};

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
  row.bits_formula = formula.bits;
  row.probes_formula = formula.probes;
  row.rate = rate_of(filter, plan.keys, plan.trials);
  if (plan.rounds > 0) {
    row.miss_ns = time_misses(filter, plan);
  }
  return row;
}

constexpr const char* kBlocked = "ours, blocked, growth 2, r = 0.7";
std::string name_of(std::uint32_t factor) { return fmt::format("growth {}", factor); }

Result<std::vector<Row>> measure_ours(const std::string& name, Shape shape, const Plan& plan, const Context& context) {
  CountedMemory memory;
  shape.memory = memory.memory();
  MANKAI_ASSIGN(auto filter, make_ours(shape, context));
  Filling filling(filter);
  std::vector<Row> rows;
  for (const std::uint64_t multiple : kMultiples) {
    const std::uint64_t keys = multiple * plan.capacity;
    filling.insert_until(keys, plan.keys);
    const auto capacity = static_cast<double>(plan.capacity);
    Needed formula = needed(static_cast<double>(keys), capacity, capacity, shape.growth);
    if (shape.layout == CountingLayout::blocked) {
      formula = {.slices = formula.slices, .bits = NAN, .probes = formula.slices * 8};
    }
    Row row = row_of(name, filter, keys, formula, plan);
    row.bits = memory.bytes() * kBitsPerByte / row.keys;
    row.probes = filling.probes();
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

Model measure_model(std::uint32_t factor, const Plan& plan, const Context& context) {
  const Growth growth{.factor = factor, .tightening = 0.5};
  auto filter = make_theirs({.keys = plan.capacity, .fpr = kRate, .growth = growth}, context);
  Filling filling(filter);
  Model model;
  for (const std::uint64_t multiple : kMultiples) {
    const std::uint64_t keys = multiple * plan.capacity;
    filling.insert_until(keys, plan.keys);
    const auto capacity = static_cast<double>(plan.capacity);
    const Needed formula = needed(static_cast<double>(keys), capacity, capacity - 1, growth);
    Row row = row_of("model of the original", filter, keys, formula, plan);
    row.bits = static_cast<double>(filter.filter().cells_bytes()) * kBitsPerByte / row.keys;
    row.probes = filling.probes();
    model.rows.push_back(row);
  }
  std::vector<double> read;
  for (std::uint64_t i = 0; i < plan.asked; ++i) {
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

void judge_models(const std::map<std::uint32_t, Model>& models, Findings& findings) {
  const Model& constant = models.at(1);
  const Row& last = constant.rows.back();
  const Row& half = constant.rows[constant.rows.size() - 2];  // 20 capacities
  findings.judged({"original-bits", half.bits}, equals(last.bits_formula), exact(last.bits));
  findings.judged("original-probes", equals(last.probes_formula), exact(last.probes));
  findings.judged("original-counters-read", equals(constant.read_formula), constant.read);
  for (const std::uint32_t factor : {2U, 4U}) {
    const Model& model = models.at(factor);
    findings.judged({"constant-over-growth-{}", factor, constant.read.value, model.read.value, last.keys},
                    equals(constant.read_formula / model.read_formula), quotient(constant.read, model.read));
  }
}

Figure figure_of(const std::vector<Row>& rows, Figure figure, const std::string& y, const std::string& formula) {
  std::vector<std::string> names;
  for (const Row& row : rows) {
    figure.rows.push_back({row.name, row.keys, row.slices, row.bits_formula, row.bits, row.probes_formula, row.probes,
                           row.rate.value, row.rate_formula, row.miss_ns});
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
                  .asked = context.trials(5000, 50'000),
                  .rounds = context.trials(0, 7),
                  .keys = Keys(context.seed)};
  std::vector<Row> rows;
  std::map<std::uint32_t, Model> models;
  for (const std::uint32_t factor : {1U, 2U, 4U}) {
    context.progress(fmt::format("growth {}", factor));
    const Shape shape{
        .keys = plan.capacity, .fpr = kRate, .growth = {.factor = factor, .tightening = 0.5, .bound = FprBound::total}};
    MANKAI_ASSIGN(auto measured, measure_ours(name_of(factor), shape, plan, context));
    rows.insert(rows.end(), measured.begin(), measured.end());
    models.emplace(factor, measure_model(factor, plan, context));
  }
  const Shape usual{.keys = plan.capacity, .fpr = kRate, .growth = {}, .layout = CountingLayout::blocked};
  MANKAI_ASSIGN(auto blocked, measure_ours(kBlocked, usual, plan, context));
  rows.insert(rows.end(), blocked.begin(), blocked.end());
  judge_any_growth(rows, findings);
  judge_models(models, findings);
  const std::vector<Row>& original = models.at(1).rows;
  rows.insert(rows.end(), original.begin(), original.end());
  findings.add(
      figure_of(rows, findings.figure({"growth-bits", plan.capacity}), "bits per key", "bits per key, formula"));
  findings.add(
      figure_of(rows, findings.figure({"growth-probes", plan.capacity}), "probes per miss", "probes, formula"));
  if (plan.rounds > 0) {
    findings.add(figure_of(rows, findings.figure({"growth-time", plan.capacity}), "ns per miss", ""));
  }
  return {};
}

}  // namespace mankai::lab::spam
