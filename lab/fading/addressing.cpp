#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "lab/fading/arrays.hpp"
#include "lab/fading/original.hpp"
#include "lab/parts.hpp"

namespace mankai::lab::forgetting {
namespace {

constexpr std::uint64_t kWindowIds = 10'000;

// Sequential database ids, which the authors' code used as keys.
class Ids {
 public:
  [[nodiscard]] std::uint64_t operator[](std::uint64_t i) const noexcept { return i + 1; }
};

class RandomKeys {
 public:
  explicit RandomKeys(std::uint64_t seed) noexcept : events_(seed) {}
  [[nodiscard]] std::uint64_t operator[](std::uint64_t i) const noexcept { return events_[i].value; }

 private:
  Events events_;
};

// Our filter hashes the key; the authors' code uses it unhashed.
class Hashed {
 public:
  explicit Hashed(Array array) : array_(std::move(array)), hasher_(array_.filter().hasher()) {}
  void insert(std::uint64_t key) noexcept { array_.insert(hasher_(key)); }
  [[nodiscard]] bool may_contain(std::uint64_t key) const noexcept { return array_.may_contain(hasher_(key)); }

 private:
  Array array_;
  Hasher hasher_;
};

class AsItIs {
 public:
  explicit AsItIs(const Shape& shape) : array_(shape) {}
  void insert(std::uint64_t key) noexcept { array_.insert({key}); }
  [[nodiscard]] bool may_contain(std::uint64_t key) const noexcept { return array_.may_contain({key}); }

 private:
  CodeArray array_;
};

template <class Filter, class Keys>
void fill(Filter& filter, const Keys& keys, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    filter.insert(keys[i]);
  }
}

// Returns the sorted false-positive rates of windows of absent ids, each above all inserted ids.
template <class Filter>
std::vector<double> window_rates(const Filter& filter, std::uint64_t windows, const Context& context) {
  constexpr std::uint64_t kFirst = std::uint64_t{1} << 24U;
  constexpr std::uint64_t kLast = std::uint64_t{1} << 40U;
  Random random(context.seed);
  std::vector<double> rates;
  for (std::uint64_t window = 0; window < windows; ++window) {
    const std::uint64_t first = kFirst + random.below(kLast);
    const auto is_known = [&filter](std::uint64_t id) { return filter.may_contain(id); };
    rates.push_back(share(count_of(first, first + kWindowIds, is_known), kWindowIds).value);
  }
  std::ranges::sort(rates);
  return rates;
}

// Returns the share of keys of one age that is known, over `trials` keys.
template <class Filter, class Keys>
Estimate survival_at(Filter& filter, const Keys& keys, std::uint64_t next, std::uint64_t age, std::uint64_t trials) {
  const auto is_known_later = [&](std::uint64_t i) {
    filter.insert(keys[i]);
    return i >= next + age && filter.may_contain(keys[i - age]);
  };
  return share(count_of(next, next + age + trials, is_known_later), trials);
}

void judge_windows(const std::string& id, const char* whose, const std::vector<double>& rates, const Shape& shape,
                   Findings& findings) {
  const double formula = text_plateau(shape);
  const double worst = formula - rates.front() > rates.back() - formula ? rates.front() : rates.back();
  const double error = std::sqrt(formula * (1 - formula) / kWindowIds);
  findings.judged({"ids-rate-{}", id, whose, shape.s, rates.size(), kHundred * rates.front(), kHundred * rates.back(),
                   kHundred * rates[rates.size() / 2]},
                  equals(formula), {.value = worst, .error = error * errors_of_worst(rates.size()) / kStandardErrors});
}

// Neighboring events are not independent; a run covers many half-lives.
void judge_survival(const std::string& id, const Shape& shape, std::uint64_t age, const Estimate& measured,
                    Findings& findings) {
  findings.judged({id + "-{}", shape.s, age}, equals(text_survival(shape, static_cast<double>(age))), measured);
}

Result<void> measure_table(std::uint64_t places, const Context& context, Findings& findings) {
  const Shape shape{.s = places, .n = 2, .b = 8};
  const std::uint64_t filled = 4 * events_to_fill(shape);
  const std::uint64_t windows = context.trials(100, 2000);
  const std::uint64_t trials = context.trials(60'000, 4'000'000);
  const std::uint64_t age = places * 3 / 5;
  MANKAI_ASSIGN(auto array, make_array(shape, context));
  Hashed ours(std::move(array));
  AsItIs code(shape);
  fill(ours, Ids(), filled);
  fill(code, Ids(), filled);
  judge_windows(fmt::format("ours-{}", places), "ours", window_rates(ours, windows, context), shape, findings);
  judge_windows(fmt::format("code-{}", places), "the code's", window_rates(code, windows, context), shape, findings);
  judge_survival("ids-survival-ours", shape, age, survival_at(ours, Ids(), filled, age, trials), findings);
  judge_survival("ids-survival-code", shape, age, survival_at(code, Ids(), filled, age, trials), findings);
  const RandomKeys keys(context.seed);
  AsItIs mixed(shape);
  fill(mixed, keys, filled);
  judge_survival("random-survival-code", shape, age, survival_at(mixed, keys, filled, age, trials), findings);
  return {};
}

// With 65,536 places, the place is the low 16 bits of the generator, and the second place follows from the first.
Result<void> measure_power_of_two(const Context& context, Findings& findings) {
  const Shape shape{.s = std::uint64_t{1} << 16U, .n = 2, .b = 8};
  const std::uint64_t filled = events_to_fill(shape);
  const std::uint64_t trials = context.trials(200'000, 4'000'000);
  const std::uint64_t age = shape.s * 3 / 5;
  const RandomKeys keys(context.seed);
  AsItIs code(shape);
  fill(code, keys, filled);
  judge_survival("random-survival-code", shape, age, survival_at(code, keys, filled, age, trials), findings);
  MANKAI_ASSIGN(auto array, make_array(shape, context));
  Hashed ours(std::move(array));
  fill(ours, keys, filled);
  judge_survival("random-survival-ours", shape, age, survival_at(ours, keys, filled, age, trials), findings);
  return {};
}

// The authors' code drops a key's sign bit.
Result<void> measure_sign(const Context& context, Findings& findings) {
  const Shape shape{.s = 8191, .n = 2, .b = 8};
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63U;
  MANKAI_ASSIGN(auto array, make_array(shape, context));
  Hashed ours(std::move(array));
  AsItIs code(shape);
  const RandomKeys keys(context.seed);
  std::uint64_t by_ours = 0;
  std::uint64_t by_code = 0;
  const std::uint64_t trials = context.trials(20'000, 200'000);
  fill(ours, keys, events_to_fill(shape));
  for (std::uint64_t i = 0; i < trials; ++i) {
    ours.insert(keys[i]);
    code.insert(keys[i]);
    by_ours += static_cast<std::uint64_t>(ours.may_contain(keys[i] ^ kSign));
    by_code += static_cast<std::uint64_t>(code.may_contain(keys[i] ^ kSign));
  }
  findings.judged("sign-ours", at_most(text_plateau(shape)), share(by_ours, trials));
  findings.judged("sign-code", at_most(text_plateau(shape)), share(by_code, trials));
  return {};
}

}  // namespace

Result<void> measure_addressing(const Context& context, Findings& findings) {
  for (const std::uint64_t places : {1000U, 8191U}) {
    context.progress(fmt::format("ids in order, {} places", places));
    MANKAI_TRY(measure_table(places, context, findings));
  }
  MANKAI_TRY(measure_power_of_two(context, findings));
  return measure_sign(context, findings);
}

}  // namespace mankai::lab::forgetting
