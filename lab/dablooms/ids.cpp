#include <fmt/format.h>

#include <cmath>
#include <string>

#include "lab/dablooms/filters.hpp"
#include "lab/dablooms/parts.hpp"

namespace mankai::lab::spam {
namespace {

constexpr const char* kOpens = "Enter dablooms, paragraph 2";
constexpr const char* kEqual = "Problems with Mixing, paragraph 3";
constexpr const char* kCode = "Code, against Enter dablooms, paragraph 2";
constexpr std::uint64_t kCapacity = 1000;
constexpr double kRate = 0.05;
constexpr Shape kShape{.keys = kCapacity, .fpr = kRate};

std::string whose(bool is_ours) { return is_ours ? "ours" : "model of the original"; }
std::string suffix(bool is_ours) { return is_ours ? "ours" : "original"; }

// Ids ten apart, so that the greatest so far plus one is not the next.
template <class F>
void judge_opening(F& filter, bool is_ours, const Context& context, Findings& findings) {
  constexpr std::uint64_t kApart = 10;
  const Keys numbers(context.seed);
  std::uint64_t opener = 0;
  std::size_t slices_at_capacity = 0;
  for (std::uint64_t number = 0; filter.filter().slice_count() == 1 && number < 2 * kCapacity; ++number) {
    opener = number * kApart;
    filter.insert(numbers.member(number), opener);
    slices_at_capacity = number < kCapacity ? filter.filter().slice_count() : slices_at_capacity;
  }
  std::uint64_t first_id = 0;
  if constexpr (std::is_same_v<F, Ours>) {
    first_id = filter.filter().slice_first_id(1);
  } else {
    first_id = filter.filter().slice(1).first_id;
  }
  findings.judged({.id = "opens-at-capacity-" + suffix(is_ours),
                   .place = kOpens,
                   .claim = "A new filter is created when one is at capacity: not before it has all its keys (" +
                            whose(is_ours) + ").",
                   .formula = "filters after as many keys as the first was made for = 1",
                   .unit = "filters",
                   .expected = {.value = 1},
                   .measured = {.value = static_cast<double>(slices_at_capacity)},
                   .recorded = is_ours ? Verdict::reproduced : Verdict::refuted,
                   .basis = is_ours ? "" : "The code compares with the capacity less one."});
  findings.judged({.id = "begins-at-the-added-id-" + suffix(is_ours),
                   .place = kOpens,
                   .claim = "The new filter begins at the id of the key to be added (" + whose(is_ours) + ").",
                   .formula = "the id that opens it, ids being ten apart",
                   .expected = {.value = static_cast<double>(opener)},
                   .measured = {.value = static_cast<double>(first_id)},
                   .recorded = is_ours ? Verdict::reproduced : Verdict::refuted,
                   .basis = is_ours ? ""
                                    : "The code takes the greatest id so far plus one, which is another one where "
                                      "ids are not dense; both send the same keys there."});
}

Result<void> measure_opening(const Context& context, Findings& findings) {
  MANKAI_ASSIGN(auto ours, make_ours(kShape, context));
  auto theirs = make_theirs(kShape, context);
  judge_opening(theirs, false, context, findings);
  judge_opening(ours, true, context, findings);
  // Continues from there.
  const Keys numbers(context.seed);
  constexpr std::uint64_t kMore = 5000;
  std::uint64_t elsewhere = 0;
  for (std::uint64_t i = 0; i < kMore; ++i) {
    const ScalableCountingBloom& filter = ours.filter();
    const std::size_t slices = filter.slice_count();
    const std::uint64_t before = filter.slice(slices - 1).keys_inserted();
    ours.insert(numbers.member(2 * kCapacity + i), filter.next_id());
    const std::uint64_t after = filter.slice(filter.slice_count() - 1).keys_inserted();
    elsewhere += static_cast<std::uint64_t>(after != (filter.slice_count() == slices ? before + 1 : 1));
  }
  findings.judged({.id = "newest-takes-them",
                   .place = kOpens,
                   .claim = "With ids that rise, new keys go to the newest filter.",
                   .formula = "keys that went elsewhere = 0",
                   .unit = "keys",
                   .expected = {.value = 0},
                   .measured = {.value = static_cast<double>(elsewhere)},
                   .reason = fmt::format("{} keys into {} filters.", kMore, ours.filter().slice_count())});
  return {};
}

// 20 000 keys of one id, of which the first 1000 remain.
constexpr std::uint64_t kOneId = 7;
constexpr std::uint64_t kKeys = 20'000;
constexpr std::uint64_t kRest = 1000;

struct OneId {
  Estimate rate;
  Estimate lost;
  std::uint64_t refused = 0;
};

template <class F>
OneId use_one_id(F& filter, const Context& context) {
  const Keys numbers(context.seed);
  OneId found;
  for (std::uint64_t number = 0; number < kKeys; ++number) {
    filter.insert(numbers.member(number), kOneId);
  }
  found.rate = strangers_let_through(filter, numbers, context.trials(100'000, 4'000'000));
  for (std::uint64_t number = kRest; number < kKeys; ++number) {
    found.refused += static_cast<std::uint64_t>(filter.erase(numbers.member(number), kOneId) != EraseResult::erased);
  }
  found.lost = share(count_missed(filter, numbers, {.end = kRest}), kRest);
  return found;
}

void judge_one_id(const OneId& found, bool is_ours, Findings& findings) {
  findings.judged({.id = "one-id-scales-" + suffix(is_ours),
                   .place = "Enter dablooms, paragraph 2, and the README",
                   .claim = "The filter scales: 20 000 keys of one id, where the first filter is for 1000 (" +
                            whose(is_ours) + ").",
                   .formula = "at most P0 = 0.05",
                   .expected = {.value = kRate, .relation = Relation::at_most},
                   .measured = found.rate,
                   .recorded = is_ours ? Verdict::reproduced : Verdict::refuted,
                   .basis = is_ours ? "" : "The code opens a filter only for an id above all before it.",
                   .reason = is_ours ? ""
                                     : "Ids that are all equal are not what the article calls fairly distributed; "
                                       "a batch import with one time stamp is enough, and nothing reports it."});
  Estimate lost = found.lost;
  lost.error = is_ours ? 0 : lost.error;
  findings.judged({.id = "one-id-loses-none-" + suffix(is_ours),
                   .place = "Enter dablooms, paragraph 3",
                   .claim = "Any key can be removed from any filter: 19 000 keys of one id are removed, 1000 remain (" +
                            whose(is_ours) + ").",
                   .formula = "members that are denied = 0",
                   .expected = {.value = 0},
                   .measured = lost,
                   .recorded = is_ours ? Verdict::reproduced : Verdict::refuted,
                   .basis = is_ours ? "" : "Counters that overflowed at 15 are counted down to 0 all the same.",
                   .reason = is_ours ? fmt::format("{} of 19 000 removals are refused, as several filters of this id "
                                                   "seem to have the key.",
                                                   found.refused)
                                     : "The original library lost 988 of 1000."});
}

Result<void> measure_one_id(const Context& context, Findings& findings) {
  MANKAI_ASSIGN(auto ours, make_ours(kShape, context));
  auto theirs = make_theirs(kShape, context);
  const OneId original = use_one_id(theirs, context);
  judge_one_id(original, false, findings);
  judge_one_id(use_one_id(ours, context), true, findings);
  // A counter has min(15, all on it), and then loses those that were removed: it ends at 0 when there were 15 of them.
  const Original::Slice& slice = theirs.filter().slice(0);
  const auto size = static_cast<double>(slice.size);
  const double emptied = poisson_tail(static_cast<double>(kKeys - kRest) / size, 15);
  const Estimate full = formula_rate(Part{.keys = kKeys, .size = size, .k = static_cast<double>(slice.k)});
  findings.judged({.id = "one-id-rate-original",
                   .place = kCode,
                   .claim = "What the one filter's error comes to (model of the original).",
                   .formula = "(1 - (1 - 1/1281)^20000)^6 = 1.000",
                   .expected = {.value = full.value, .tolerance = 1e-5},  // shared hash words
                   .measured = widened(original.rate, full.error)});
  findings.judged({.id = "one-id-lost-original",
                   .place = kCode,
                   .claim = "How many of the 1000 are lost (model of the original).",
                   .formula = "1 - (1 - P[Poisson(19000/size) >= 15])^6",
                   .expected = {.value = 1 - std::pow(1 - emptied, slice.k)},
                   .measured = original.lost,
                   .reason = "The original's 988 of 1000 are 0.988."});
  return {};
}

template <class F>
void judge_shared_ids(F& filter, bool is_ours, const Context& context, Findings& findings) {
  constexpr std::uint64_t kTogether = 7;  // does not divide the capacity, so ids straddle filters
  constexpr std::uint64_t kStep = 5;
  const Keys numbers(context.seed);
  for (std::uint64_t number = 0; number < kKeys; ++number) {
    filter.insert(numbers.member(number), number / kTogether);
  }
  const Estimate rate = strangers_let_through(filter, numbers, context.trials(50'000, 1'000'000));
  std::uint64_t refused = 0;
  for (std::uint64_t number = 0; number < kKeys; number += kStep) {
    const auto erased = filter.erase(numbers.member(number), number / kTogether);
    refused += static_cast<std::uint64_t>(erased != EraseResult::erased);
  }
  std::uint64_t lost = 0;
  for (std::uint64_t first = 1; first < kStep; ++first) {
    lost += count_missed(filter, numbers, {.first = first, .end = kKeys, .step = kStep});
  }
  findings.judged({.id = "ids-need-not-be-unique-" + suffix(is_ours),
                   .place = kEqual,
                   .claim = "Ids need not be unique, only fairly distributed: 7 keys an id, every fifth key removed (" +
                            whose(is_ours) + ").",
                   .formula = "remaining members that are denied = 0",
                   .unit = "members",
                   .expected = {.value = 0},
                   .measured = {.value = static_cast<double>(lost)},
                   .reason = fmt::format("{} keys in {} filters; {} removals refused.", kKeys,
                                         filter.filter().slice_count(), refused)});
  findings.judged({.id = "shared-ids-scale-" + suffix(is_ours),
                   .place = kEqual,
                   .claim = "And the error stays bounded (" + whose(is_ours) + ").",
                   .formula = "at most P0 = 0.05",
                   .expected = {.value = kRate, .relation = Relation::at_most},
                   .measured = rate});
}

Result<void> measure_shared_ids(const Context& context, Findings& findings) {
  // Large enough that the model's two hash words do not matter: see small-filters-original.
  constexpr Shape kLarger{.keys = 5 * kCapacity, .fpr = kRate};
  MANKAI_ASSIGN(auto ours, make_ours(kLarger, context));
  auto theirs = make_theirs(kLarger, context);
  judge_shared_ids(theirs, false, context, findings);
  judge_shared_ids(ours, true, context, findings);
  return {};
}

}  // namespace

Result<void> measure_ids(const Context& context, Findings& findings) {
  for (const auto measure : {measure_opening, measure_shared_ids, measure_one_id}) {
    MANKAI_TRY(measure(context, findings));
  }
  return {};
}

}  // namespace mankai::lab::spam
