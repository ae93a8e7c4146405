#include <algorithm>
#include <cmath>
#include <string>

#include "lab/dablooms/filters.hpp"
#include "lab/parts.hpp"

namespace mankai::lab::spam {
namespace {

constexpr std::uint64_t kFullSlices = 8;

// Several counting filters without ids: a key is removed from the newest one that seems to contain it.
class Guessing {
 public:
  static Result<Guessing> create(std::uint64_t keys, double fpr, const Context& context) {
    Guessing made;
    for (std::uint64_t i = 0; i < kFullSlices; ++i) {
      MANKAI_ASSIGN(auto filter, make_counting(keys, fpr, context));
      made.filters_.push_back(std::move(filter));
    }
    return made;
  }

  [[nodiscard]] auto& operator[](std::size_t index) noexcept { return filters_[index]; }
  [[nodiscard]] bool may_contain(Digest digest) const noexcept {
    return std::ranges::any_of(filters_, [digest](const auto& filter) { return filter.may_contain(digest); });
  }
  // Returns the filter that a removal would change, or the number of filters if none seems to contain the key.
  [[nodiscard]] std::size_t holder_of(Digest digest) const noexcept {
    for (std::size_t i = filters_.size(); i-- > 0;) {
      if (filters_[i].may_contain(digest)) {
        return i;
      }
    }
    return filters_.size();
  }
  void erase(Digest digest) noexcept {
    if (const std::size_t holder = holder_of(digest); holder < filters_.size()) {
      static_cast<void>(filters_[holder].filter().erase(digest));
    }
  }

 private:
  std::vector<Counting> filters_;
};

double any_other(double rate, std::size_t others) {
  return -std::expm1(static_cast<double>(others) * std::log1p(-rate));
}

Result<void> measure_guessing(const Context& context, Findings& findings) {
  const std::uint64_t keys = context.trials(10'000, 100'000);
  MANKAI_ASSIGN(auto filters, Guessing::create(keys, kRate, context));
  const Keys numbers(context.seed);
  for (std::size_t i = 0; i < kFullSlices; ++i) {
    insert_members(filters[i], numbers, i * keys, (i + 1) * keys);
  }
  const std::uint64_t in_two = count_of(0, kFullSlices * keys, [&](std::uint64_t number) {
    return count_of(0, kFullSlices, [&](std::size_t i) { return filters[i].may_contain(numbers.member(number)); }) >= 2;
  });
  const Estimate formula = formula_rate(part_of(filters[0].filter(), keys));
  findings.judged("in-two-filters", equals(any_other(formula.value, kFullSlices - 1)),
                  widened(share(in_two, kFullSlices * keys), std::sqrt(kFullSlices - 1.0) * formula.error));
  // All are queried before any removal, since wrong removals make filters emptier.
  std::uint64_t wrong = 0;
  double expected_wrong = 0;
  for (std::size_t i = 0; i < kFullSlices; ++i) {
    wrong += Range{.first = i * keys, .end = (i + 1) * keys, .step = 2}.count_if(
        [&](std::uint64_t number) { return filters.holder_of(numbers.member(number)) > i; });
    expected_wrong += any_other(formula.value, kFullSlices - 1 - i) / kFullSlices;
  }
  // Filter j is newer than j of the 8, so its deviation affects that share of the keys.
  const double deviation = std::sqrt(140.0) / kFullSlices * formula.error;
  const std::uint64_t erased = kFullSlices * keys / 2;
  findings.judged("wrong-filter", equals(expected_wrong), widened(share(wrong, erased), deviation));
  for (std::uint64_t number = 0; number < kFullSlices * keys; number += 2) {
    filters.erase(numbers.member(number));
  }
  const std::uint64_t lost = count_missed(filters, numbers, Range{.end = kFullSlices * keys, .step = 2}.others());
  findings.judged({"wrong-filter-loses-members", erased, wrong}, at_least(1), exact(lost));
  return {};
}

// The library's own test: add all keys, remove every fifth, look all up.
template <class F>
void judge_own_test(const std::string& whose, F& filter, std::uint64_t words, const Context& context,
                    Findings& findings) {
  constexpr std::uint64_t kStep = 5;
  const Keys numbers(context.seed);
  insert_members(filter, numbers, 0, words);
  const Range removed{.end = words, .step = kStep};
  const std::uint64_t refused = erase_members(filter, numbers, removed);
  const std::uint64_t lost = count_missed(filter, numbers, removed.others());
  const std::uint64_t still = removed.count() - count_missed(filter, numbers, removed);
  findings.judged({"by-id-loses-none-{}", whose, whose == "ours" ? "ours" : "model of the original", words,
                   filter.filter().slice_count()},
                  equals(0), exact(lost));
  findings.judged({"by-id-finds-its-filter-{}", whose}, equals(0), exact(refused));
  findings.judged({"own-test-{}", whose}, at_most(kHighRate), share(still, removed.count()));
}

// Removes keys that were never added, from a filter of the size that the original was tried with.
constexpr std::uint64_t kAbsentKeys = 300;
constexpr double kTried = 0.05;

// A member is lost if any of its counters is decremented to 0. Increments are 1 plus Poisson with a = members / size,
// decrements Poisson with b = absent keys / size.
double lost_to_absent(const Original::Slice& slice) {
  constexpr unsigned kMost = 40;
  const double a = static_cast<double>(kMembers) / static_cast<double>(slice.size);
  const double b = static_cast<double>(kAbsentKeys) / static_cast<double>(slice.size);
  double counter = 0;
  double others = std::exp(-a);
  for (unsigned count = 0; count < kMost; ++count) {
    counter += others * poisson_tail(b, count + 1);
    others *= a / (count + 1);
  }
  return 1 - std::pow(1 - counter, slice.k);
}

struct Harm {
  std::vector<double> lost;  // shares
  std::uint64_t taken = 0;   // absent keys whose removal was accepted
  std::uint64_t trials = 0;
};

template <class F>
void remove_absent(F& filter, const Keys& numbers, Harm& harm) {
  insert_members(filter, numbers, 0, kMembers);
  harm.taken += count_of(0, kAbsentKeys, [&](std::uint64_t i) {
    return filter.filter().erase(numbers.absent_key(i), i) == EraseResult::erased;
  });
  harm.trials += kAbsentKeys;
  harm.lost.push_back(static_cast<double>(count_missed(filter, numbers, {.end = kMembers})) / kMembers);
}

void judge_absent(const Harm& ours, double rate, const Harm& theirs, double lost, Findings& findings) {
  const Estimate measured = mean(theirs.lost);
  findings.judged("absent-keys-harm-original", equals(lost), measured);
  findings.judged({"absent-keys-refused-ours", mean(ours.lost).value, measured.value}, at_most(rate),
                  share(ours.taken, ours.trials));
}

Result<void> measure_absent(const Context& context, Findings& findings) {
  const Shape shape{.keys = kCapacity, .fpr = kTried};
  Harm harm;
  Harm harm_of_theirs;
  double rate = 0;
  double lost = 0;
  for (std::uint64_t trial = 0; trial < context.trials(100, 2000); ++trial) {
    const Keys numbers(context.seed + trial);
    MANKAI_ASSIGN(auto ours, make_ours(shape, context));
    remove_absent(ours, numbers, harm);
    auto theirs = make_theirs(shape, context);
    remove_absent(theirs, numbers, harm_of_theirs);
    auto parts = parts_of(ours.filter());
    parts.front().keys = kMembers;
    rate = formula_rate(parts).value;
    lost = lost_to_absent(theirs.filter().slice(0));
  }
  judge_absent(harm, rate, harm_of_theirs, lost, findings);
  return {};
}

}  // namespace

Result<void> measure_removal(const Context& context, Findings& findings) {
  MANKAI_TRY(measure_guessing(context, findings));
  const std::uint64_t words = context.trials(50'000, 500'000);
  const Shape shape{.keys = words / 5, .fpr = 0.05};
  MANKAI_ASSIGN(auto ours, make_ours(shape, context));
  judge_own_test("ours", ours, words, context, findings);
  auto theirs = make_theirs(shape, context);
  judge_own_test("original", theirs, words, context, findings);
  return measure_absent(context, findings);
}

}  // namespace mankai::lab::spam
