#include <cmath>
#include <string>
#include <vector>

#include "lab/dablooms/filters.hpp"
#include "lab/dablooms/spam_table.hpp"
#include "lab/outside.hpp"
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

// Keys whose ids are fairly distributed, or all equal. Filters are large enough for the collisions of the model's hash
// words not to matter: see small-filters-original.
constexpr Shape kLarger{.keys = 5 * kCapacity, .fpr = kHighRate};
constexpr std::uint64_t kKeys = 20'000;
constexpr std::uint64_t kTogether = 7;  // keys per id; does not divide the capacity, so that ids straddle filters
constexpr std::uint64_t kEveryFifth = 5;

struct Used {
  Estimate rate;
  Estimate lost;
  std::uint64_t refused = 0;
  std::size_t slices = 0;
};

template <class F>
Used use(F filter, std::uint64_t together, const Range& removed, const Context& context) {
  const Keys numbers(context.seed);
  for (std::uint64_t number = 0; number < kKeys; ++number) {
    filter.insert(numbers.member(number), number / together);
  }
  Used used{.rate = rate_of(filter, numbers, context.trials(50'000, 2'000'000)), .lost = {}};
  used.slices = filter.filter().slice_count();
  used.refused = removed.count_if([&](std::uint64_t number) {
    return filter.filter().erase(numbers.member(number), number / together) != EraseResult::erased;
  });
  const Range rest = removed.others();
  used.lost = exact(count_missed(filter, numbers, rest));
  return used;
}

constexpr Range kFifth{.end = kKeys, .step = kEveryFifth};
// All but 1000, of which the small filter is full.
constexpr Range kAllButFew{.end = kKeys, .step = kKeys / kCapacity, .is_inverted = true};

void judge_ids(const Used& spread, const Used& equal, const Used& emptied, bool is_ours, Findings& findings) {
  const std::string id = suffix(is_ours);
  findings.judged({"ids-need-not-be-unique-{}", id, whose(is_ours), kKeys, spread.slices, spread.refused}, equals(0),
                  spread.lost);
  if (is_ours) {
    findings.judged({"ids-scale-{}", id, whose(is_ours)}, at_most(kHighRate), spread.rate);
    findings.judged({"one-id-scales-{}", id, whose(is_ours)}, at_most(kHighRate), equal.rate);
    findings.judged({"one-id-loses-none-{}", id, whose(is_ours), emptied.refused}, equals(0), emptied.lost);
  } else {
    findings.depends({"ids-scale-{}", id, whose(is_ours)}, {at_most(kHighRate), spread.rate},
                     {at_most(kHighRate), equal.rate});
  }
}

// With one id the original is one filter. A counter is min(15, keys on it), less the removed keys: so it ends at 0 if
// 15 removed keys share it.
void judge_one_id(const Used& equal, const Used& emptied, Findings& findings) {
  const Original large({.keys = kLarger.keys, .fpr = kLarger.fpr});
  const Estimate full = formula_rate(part_of(large.slice(0), kKeys));
  findings.judged("one-id-rate-original", equals(full.value), widened(equal.rate, full.error));
  const Original small({.keys = kShape.keys, .fpr = kShape.fpr});
  const Original::Slice& slice = small.slice(0);
  const double zero = poisson_tail(static_cast<double>(kAllButFew.count()) / static_cast<double>(slice.size), 15);
  findings.judged("one-id-lost-original", equals(1 - std::pow(1 - zero, slice.k)),
                  share(static_cast<std::uint64_t>(emptied.lost.value), kKeys - kAllButFew.count()));
}

Result<void> measure_shared_ids(const Context& context, Findings& findings) {
  for (const bool is_ours : {false, true}) {
    const auto used_by = [&](const Shape& shape, std::uint64_t together, const Range& removed) -> Result<Used> {
      if (!is_ours) {
        return use(make_theirs(shape, context), together, removed, context);
      }
      MANKAI_ASSIGN(auto ours, make_ours(shape, context));
      return use(std::move(ours), together, removed, context);
    };
    MANKAI_ASSIGN(const auto spread, used_by(kLarger, kTogether, kFifth));
    MANKAI_ASSIGN(const auto equal, used_by(kLarger, kKeys, kFifth));
    MANKAI_ASSIGN(const auto emptied, used_by(kShape, kKeys, kAllButFew));
    judge_ids(spread, equal, emptied, is_ours, findings);
    if (!is_ours) {
      judge_one_id(equal, emptied, findings);
    }
  }
  return {};
}

// ---- What ids cost. Counters that a removal reads and writes: in the filter that its id selects, or after a search
// for a filter that seems to have the key, the newest first.

Result<void> measure_search(const Context& context, Findings& findings) {
  constexpr std::uint64_t kFilters = 8;
  const Keys numbers(context.seed);
  auto filter = make_theirs(kLarger, context);
  insert_members(filter, numbers, 0, kFilters * kLarger.keys);
  const Original& all = filter.filter();
  std::vector<double> by_id;
  std::vector<double> by_search;
  for (std::uint64_t number = 0; number < kFilters * kLarger.keys; number += kEveryFifth) {
    const std::size_t holder = *all.holder(number);
    const std::uint32_t own = all.slice(holder).k;
    by_id.push_back(own);
    by_search.push_back(static_cast<double>(all.counters_read(numbers.member(number)) + own));
  }
  findings.judged({"ids-save-a-search", mean(by_id).value, mean(by_search).value}, at_most(1),
                  quotient(mean(by_id), mean(by_search)));
  return {};
}

// The ids are in the database: bytes of its file with and without them, and the time of a row's deletion that returns
// its id, over one that does not; in batches that take turns.
Result<void> measure_metadata(const Context& context, Findings& findings) {
  MANKAI_ASSIGN(const auto urls, make_urls(context.trials(20'000, 500'000), context));
  MANKAI_ASSIGN(const auto folder, TemporaryFolder::create());
  MANKAI_ASSIGN(auto with, SpamTable::create(folder.file("ids.sqlite"), SpamTable::Times::stored));
  MANKAI_ASSIGN(auto without, SpamTable::create(folder.file("none.sqlite"), SpamTable::Times::none));
  std::vector<double> bytes;
  for (SpamTable* const table : {&with, &without}) {
    MANKAI_TRY(table->insert(urls, [](std::uint64_t number) { return 1'000'000'000 + number / 10; }));
    MANKAI_ASSIGN(const auto size, table->packed_bytes());
    bytes.push_back(static_cast<double>(size) / static_cast<double>(urls.size()));
  }
  findings.judged({"ids-cost-metadata", bytes[1], kLarger.keys}, equals(5), exact(bytes[0] - bytes[1]));
  if (context.quick) {
    return {};
  }
  constexpr std::size_t kBatches = 20;
  const std::size_t batch = urls.size() / kBatches / kEveryFifth;
  const auto seconds_of = [&](SpamTable& table, std::size_t number) -> Result<double> {
    const double before = thread_cpu_seconds();
    MANKAI_TRY(table.begin());
    for (std::size_t i = number * batch; i < (number + 1) * batch; ++i) {
      MANKAI_TRY(table.erase(urls[i * kEveryFifth]));
    }
    MANKAI_TRY(table.commit());
    return thread_cpu_seconds() - before;
  };
  std::vector<double> of_with;
  std::vector<double> of_without;
  for (std::size_t number = 0; number < kBatches; ++number) {
    MANKAI_ASSIGN(const double returning, seconds_of(with, number));
    MANKAI_ASSIGN(const double plain, seconds_of(without, number));
    of_with.push_back(returning);
    of_without.push_back(plain);
  }
  findings.judged({"ids-cost-no-time", 1e6 * mean(of_without).value / static_cast<double>(batch)}, at_most(1),
                  ratio_of_sums(of_with, of_without));
  return {};
}

}  // namespace

Result<void> measure_ids(const Context& context, Findings& findings) {
  return measure_all({measure_opening, measure_shared_ids, measure_search, measure_metadata}, context, findings);
}

}  // namespace mankai::lab::spam
