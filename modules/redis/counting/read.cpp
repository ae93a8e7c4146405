#include <algorithm>
#include <array>

#include "mankai/filter/parts/hash_windows.hpp"
#include "modules/redis/counting/commands.hpp"
#include "modules/redis/counting/value.hpp"
#include "modules/redis/engine/facts.hpp"
#include "modules/redis/image/work.hpp"

namespace mankai::redis {
namespace {

constexpr std::size_t kFirstItem = 2;

// Errors: to be replied.
Result<void> check(const Call& call, const CountingLookup& lookup) {
  MANKAI_TRY(lookup.may_be_absent());
  const bool is_large = lookup.value() != nullptr &&
                        is_too_much(call, (call.size() - kFirstItem) * lookup.value()->filter().slice_count());
  return is_large ? refuse(kTooMuchWork) : Result<void>();
}

}  // namespace

Answer counting_count(Call& call) {
  const CountingLookup lookup(call, kRead);
  MANKAI_TRY(check(call, lookup));
  const KeyBatch batch(call, kFirstItem);
  call.array(batch.keys().size());
  if (lookup.value() == nullptr) {
    std::ranges::for_each(batch.keys(), [&](std::string_view) { call.number(0); });
    return kOk;
  }
  const ScalableCountingBloom& filter = lookup.value()->filter();
  std::array<KeyCount, kHashWindow> counts;
  for_each_hashed_window(filter.hasher(), batch.keys(), [&](std::size_t, std::span<const Digest> digests) {
    const auto window = std::span(counts).first(digests.size());
    filter.estimate(digests, window);
    std::ranges::for_each(window, [&](const KeyCount& count) { call.number(count.value); });
  });
  return kOk;
}

Answer counting_exists(Call& call) {
  const CountingLookup lookup(call, kRead);
  MANKAI_TRY(check(call, lookup));
  const KeyBatch batch(call, kFirstItem);
  if (lookup.value() != nullptr) {
    lookup.value()->ask(batch.keys(), batch.answers());
  }
  return call.truths(batch.answers());
}

Answer counting_info(Call& call) {
  const CountingLookup lookup(call, kRead);
  MANKAI_TRY(lookup.must_be_whole());
  const ScalableCountingBloom& filter = lookup.value()->filter();
  return reply_facts(call, {{"Capacity", filter.capacity_keys()},
                            {"Size", lookup.found()->memory_bytes()},
                            {"Number of filters", filter.slice_count()},
                            {"Number of items", filter.keys_inserted()},
                            {"Expansion rate", filter.growth().factor},
                            {"Error rate", filter.fpr_target()},
                            {"Greatest id", filter.max_id()},
                            {"Overfull filters", filter.overfilled_slices()},
                            {"Stuck counters", filter.saturated_cells()}});
}

}  // namespace mankai::redis
