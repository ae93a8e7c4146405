#include <cmath>
#include <string>

#include "lab/dablooms/filters.hpp"
#include "lab/parts.hpp"

namespace mankai::lab::spam {
namespace {

constexpr Shape kShape{.keys = kCapacity, .fpr = kHighRate};

std::string whose(bool is_ours) { return is_ours ? "ours" : "model of the original"; }
std::string suffix(bool is_ours) { return is_ours ? "ours" : "original"; }

// Ids are multiples of ten, so that the greatest id plus one is not the next id.
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
  findings.judged({"opens-at-capacity-{}", suffix(is_ours), whose(is_ours)}, equals(1), exact(slices_at_capacity));
  findings.judged({"begins-at-the-added-id-{}", suffix(is_ours), whose(is_ours)}, equals(opener), exact(first_id));
}

Result<void> measure_opening(const Context& context, Findings& findings) {
  MANKAI_ASSIGN(auto ours, make_ours(kShape, context));
  auto theirs = make_theirs(kShape, context);
  judge_opening(theirs, false, context, findings);
  judge_opening(ours, true, context, findings);
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
  findings.judged({"newest-takes-them", kMore, ours.filter().slice_count()}, equals(0), exact(elsewhere));
  return {};
}

// 20,000 keys with one id, of which the first 1000 remain.
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
  found.rate = rate_of(filter, numbers, context.trials(100'000, 4'000'000));
  found.refused = count_of(kRest, kKeys, [&](std::uint64_t number) {
    return filter.filter().erase(numbers.member(number), kOneId) != EraseResult::erased;
  });
  found.lost = share(count_missed(filter, numbers, {.end = kRest}), kRest);
  return found;
}

void judge_one_id(const OneId& found, bool is_ours, Findings& findings) {
  findings.judged({"one-id-scales-{}", suffix(is_ours), whose(is_ours)}, at_most(kHighRate), found.rate);
  Estimate lost = found.lost;
  lost.error = is_ours ? 0 : lost.error;
  findings.judged({"one-id-loses-none-{}", suffix(is_ours), whose(is_ours), found.refused}, equals(0), lost);
}

Result<void> measure_one_id(const Context& context, Findings& findings) {
  MANKAI_ASSIGN(auto ours, make_ours(kShape, context));
  auto theirs = make_theirs(kShape, context);
  const OneId original = use_one_id(theirs, context);
  judge_one_id(original, false, findings);
  judge_one_id(use_one_id(ours, context), true, findings);
  // A counter is min(15, keys on it), minus the removed keys. So it ends at 0 if 15 removed keys share it.
  const Original::Slice& slice = theirs.filter().slice(0);
  const double emptied = poisson_tail(static_cast<double>(kKeys - kRest) / static_cast<double>(slice.size), 15);
  const Estimate full = formula_rate(part_of(slice, kKeys));
  findings.judged("one-id-rate-original", equals(full.value), widened(original.rate, full.error));
  findings.judged("one-id-lost-original", equals(1 - std::pow(1 - emptied, slice.k)), original.lost);
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
  const Estimate rate = rate_of(filter, numbers, context.trials(50'000, 1'000'000));
  const Range removed{.end = kKeys, .step = kStep};
  const std::uint64_t refused = removed.count_if([&](std::uint64_t number) {
    return filter.filter().erase(numbers.member(number), number / kTogether) != EraseResult::erased;
  });
  const std::uint64_t lost = count_missed(filter, numbers, removed.others());
  findings.judged(
      {"ids-need-not-be-unique-{}", suffix(is_ours), whose(is_ours), kKeys, filter.filter().slice_count(), refused},
      equals(0), exact(lost));
  findings.judged({"shared-ids-scale-{}", suffix(is_ours), whose(is_ours)}, at_most(kHighRate), rate);
}

Result<void> measure_shared_ids(const Context& context, Findings& findings) {
  // Large enough for the collisions of the model's hash words not to matter: see small-filters-original.
  constexpr Shape kLarger{.keys = 5 * kCapacity, .fpr = kHighRate};
  MANKAI_ASSIGN(auto ours, make_ours(kLarger, context));
  auto theirs = make_theirs(kLarger, context);
  judge_shared_ids(theirs, false, context, findings);
  judge_shared_ids(ours, true, context, findings);
  return {};
}

}  // namespace

Result<void> measure_ids(const Context& context, Findings& findings) {
  return measure_all({measure_opening, measure_shared_ids, measure_one_id}, context, findings);
}

}  // namespace mankai::lab::spam
