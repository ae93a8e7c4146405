#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "lab/fading/arrays.hpp"
#include "lab/fading/original.hpp"
#include "lab/fading/parts.hpp"

namespace mankai::lab::forgetting {
namespace {

constexpr const char* kPlace = "Code, its generator";
constexpr std::uint64_t kWindowIds = 10'000;
constexpr double kHundred = 100;

// Database ids, one after the other, as the code had them for keys.
class Ids {
 public:
  static constexpr const char* kName = "ids in order";
  [[nodiscard]] std::uint64_t operator[](std::uint64_t i) const noexcept { return i + 1; }
};

class RandomKeys {
 public:
  static constexpr const char* kName = "random keys";
  explicit RandomKeys(std::uint64_t seed) noexcept : events_(seed) {}
  [[nodiscard]] std::uint64_t operator[](std::uint64_t i) const noexcept { return events_[i].value; }

 private:
  Events events_;
};

// Ours hashes the key; the code's takes it as it is.
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

// The rates, in order, of windows of ids that never came, each somewhere above all that did.
template <class Filter>
std::vector<double> window_rates(const Filter& filter, std::uint64_t windows, const Context& context) {
  constexpr std::uint64_t kFirst = std::uint64_t{1} << 24U;
  constexpr std::uint64_t kLast = std::uint64_t{1} << 40U;
  Random random(context.seed);
  std::vector<double> rates;
  for (std::uint64_t window = 0; window < windows; ++window) {
    const std::uint64_t first = kFirst + random.below(kLast);
    std::uint64_t yes = 0;
    for (std::uint64_t id = first; id < first + kWindowIds; ++id) {
      yes += static_cast<std::uint64_t>(filter.may_contain(id));
    }
    rates.push_back(share(yes, kWindowIds).value);
  }
  std::ranges::sort(rates);
  return rates;
}

// Of keys at one age, over so many.
template <class Filter, class Keys>
Estimate survival_at(Filter& filter, const Keys& keys, std::uint64_t next, std::uint64_t age, std::uint64_t trials) {
  std::uint64_t known = 0;
  for (std::uint64_t i = next; i < next + age + trials; ++i) {
    filter.insert(keys[i]);
    known += static_cast<std::uint64_t>(i >= next + age && filter.may_contain(keys[i - age]));
  }
  return share(known, trials);
}

void judge_windows(const std::string& id, const char* whose, bool is_code, const std::vector<double>& rates,
                   const Shape& shape, Findings& findings) {
  const double formula = text_plateau(shape);
  const double worst = formula - rates.front() > rates.back() - formula ? rates.front() : rates.back();
  const double error = std::sqrt(formula * (1 - formula) / kWindowIds);
  Claim claim{
      .id = "ids-rate-" + id,
      .place = kPlace,
      .claim = fmt::format("The rate of false positives is the formula's whichever ids are asked for ({}, s = "
                           "{}, n = 2, b = 8).",
                           whose, shape.s),
      .formula =
          fmt::format("1 - (1 - 2^-8)^2 = 0.78 %, in the farthest of {} windows of 10 000 ids in order", rates.size()),
      .expected = {.value = formula},
      .measured = {.value = worst, .error = error * errors_of_worst(rates.size()) / kStandardErrors},
      .reason = fmt::format("Windows have {:.2f} to {:.2f} %, {:.2f} % in the median.", kHundred * rates.front(),
                            kHundred * rates.back(), kHundred * rates[rates.size() / 2])};
  if (is_code) {
    claim.recorded = Verdict::refuted;
    claim.basis =
        "A congruential generator maps ids a step apart to places and fingerprints a fixed step apart: a window of ids "
        "runs through the array in step with those that were inserted, and hits all of them or none.";
  }
  findings.judged(std::move(claim));
}

template <class Keys>
Claim survival_claim(const std::string& id, const char* whose, const Shape& shape, std::uint64_t age,
                     const Estimate& measured) {
  return {.id = id,
          .place = kPlace,
          .claim = fmt::format("An event survives {} later ones as the formula says ({}, {}, s = {}, n = {}).", age,
                               whose, Keys::kName, shape.s, shape.n),
          .formula = "1 - ((1 - p)(1 - f))^n, within a hundredth",
          .expected = {.value = text_survival(shape, static_cast<double>(age)), .tolerance = 0.01},
          // Events that are near each other in the stream are known or not together; a run is of many half-lives.
          .measured = measured};
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
  judge_windows(fmt::format("ours-{}", places), "ours", false, window_rates(ours, windows, context), shape, findings);
  judge_windows(fmt::format("code-{}", places), "the code's", true, window_rates(code, windows, context), shape,
                findings);
  findings.judged(survival_claim<Ids>(fmt::format("ids-survival-ours-{}", places), "ours", shape, age,
                                      survival_at(ours, Ids(), filled, age, trials)));
  Claim in_order = survival_claim<Ids>(fmt::format("ids-survival-code-{}", places), "the code's", shape, age,
                                       survival_at(code, Ids(), filled, age, trials));
  in_order.recorded = Verdict::refuted;
  in_order.basis =
      "Ids in order take places in order, a fixed step apart, as a ring does: better than chance up to an age, and "
      "nothing is left beyond it. Ids in the order of other keys, such as those of one user, do not.";
  findings.judged(std::move(in_order));
  const RandomKeys keys(context.seed);
  AsItIs mixed(shape);
  fill(mixed, keys, filled);
  findings.judged(survival_claim<RandomKeys>(fmt::format("random-survival-code-{}", places), "the code's", shape, age,
                                             survival_at(mixed, keys, filled, age, trials)));
  return {};
}

// 65536 places: the place is the low 16 bits of the generator, and those of the second step follow from the first's.
Result<void> measure_power_of_two(const Context& context, Findings& findings) {
  const Shape shape{.s = std::uint64_t{1} << 16U, .n = 2, .b = 8};
  const std::uint64_t filled = events_to_fill(shape);
  const std::uint64_t trials = context.trials(200'000, 4'000'000);
  const std::uint64_t age = shape.s * 3 / 5;
  const RandomKeys keys(context.seed);
  AsItIs code(shape);
  fill(code, keys, filled);
  Claim claim = survival_claim<RandomKeys>("random-survival-code-65536", "the code's", shape, age,
                                           survival_at(code, keys, filled, age, trials));
  claim.recorded = Verdict::refuted;
  claim.basis =
      "With a power of two for s the place is the low bits of v, and low bits follow from low bits: an event whose "
      "first place is this one's has its second there too, and overwrites both. With a = t/s that leaves e^-a (1 - "
      "(1 - e^-a)^2) = 0.437, and chance matches.";
  findings.judged(std::move(claim));
  MANKAI_ASSIGN(auto array, make_array(shape, context));
  Hashed ours(std::move(array));
  fill(ours, keys, filled);
  findings.judged(survival_claim<RandomKeys>("random-survival-ours-65536", "ours", shape, age,
                                             survival_at(ours, keys, filled, age, trials)));
  return {};
}

// The sign bit of a key is dropped.
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
  const auto claim = [&](const char* id, const char* whose, std::uint64_t yes) {
    return Claim{.id = id,
                 .place = kPlace,
                 .claim = fmt::format("A key of the other sign is an absent key ({}).", whose),
                 .formula = "1 - (1 - f)^2, at most 1 %",
                 .expected = {.value = 0.01, .relation = Relation::at_most},
                 .measured = share(yes, trials)};
  };
  findings.judged(claim("sign-ours", "ours", by_ours));
  Claim dropped = claim("sign-code", "the code's", by_code);
  dropped.recorded = Verdict::refuted;
  dropped.basis = "The generator starts at the key without its sign: k and k - 2^63 are one key.";
  findings.judged(std::move(dropped));
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
