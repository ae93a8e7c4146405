#include <algorithm>
#include <array>

#include "mankai/filter/parts/hash_windows.hpp"
#include "modules/redis/counting/commands.hpp"
#include "modules/redis/counting/value.hpp"
#include "modules/redis/image/facts.hpp"
#include "modules/redis/image/work.hpp"

namespace mankai::redis {
namespace {

constexpr std::size_t kFirstItem = 2;

constexpr std::array kFacts = {
    Fact<CountingValue>{"Capacity",
                        [](const Call& call, const CountingKey&, const ScalableCountingBloom& filter) {
                          return call.number(filter.capacity_keys());
                        }},
    Fact<CountingValue>{"Size", [](const Call& call, const CountingKey& key,
                                   const ScalableCountingBloom&) { return call.number(key.memory_bytes()); }},
    Fact<CountingValue>{"Number of filters",
                        [](const Call& call, const CountingKey&, const ScalableCountingBloom& filter) {
                          return call.number(filter.slice_count());
                        }},
    Fact<CountingValue>{"Number of items",
                        [](const Call& call, const CountingKey&, const ScalableCountingBloom& filter) {
                          return call.number(filter.keys_inserted());
                        }},
    Fact<CountingValue>{"Expansion rate",
                        [](const Call& call, const CountingKey&, const ScalableCountingBloom& filter) {
                          return call.number(filter.growth().factor);
                        }},
    Fact<CountingValue>{"Error rate",
                        [](const Call& call, const CountingKey&, const ScalableCountingBloom& filter) {
                          return call.real_number(filter.fpr_target());
                        }},
    Fact<CountingValue>{"Greatest id",
                        [](const Call& call, const CountingKey&, const ScalableCountingBloom& filter) {
                          return call.number(filter.max_id());
                        }},
    Fact<CountingValue>{"Overfull filters",
                        [](const Call& call, const CountingKey&, const ScalableCountingBloom& filter) {
                          return call.number(filter.overfilled_slices());
                        }},
    Fact<CountingValue>{"Stuck counters",
                        [](const Call& call, const CountingKey&, const ScalableCountingBloom& filter) {
                          return call.number(filter.saturated_cells());
                        }},
};

bool is_too_much_to_ask(const Call& call, const CountingLookup& lookup) noexcept {
  return lookup.value() != nullptr &&
         is_too_much(call, (call.size() - kFirstItem) * lookup.value()->filter().slice_count());
}

}  // namespace

int counting_count(Call& call) {
  if (call.size() <= kFirstItem) {
    return call.wrong_arity();
  }
  const CountingLookup lookup(call, call.arguments()[1], kRead);
  if (lookup.value() == nullptr && !lookup.is_absent()) {
    return call.error(lookup.error());
  }
  if (is_too_much_to_ask(call, lookup)) {
    return call.error(kTooMuchWork);
  }
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

int counting_exists(Call& call) {
  if (call.size() <= kFirstItem) {
    return call.wrong_arity();
  }
  const CountingLookup lookup(call, call.arguments()[1], kRead);
  if (lookup.value() == nullptr && !lookup.is_absent()) {
    return call.error(lookup.error());
  }
  if (is_too_much_to_ask(call, lookup)) {
    return call.error(kTooMuchWork);
  }
  const KeyBatch batch(call, kFirstItem);
  if (lookup.value() != nullptr) {
    const ScalableCountingBloom& filter = lookup.value()->filter();
    for_each_hashed_window(filter.hasher(), batch.keys(), [&](std::size_t start, std::span<const Digest> digests) {
      filter.may_contain(digests, batch.answers().subspan(start, digests.size()));
    });
  }
  return call.truths(batch.answers());
}

int counting_info(Call& call) { return reply_facts<CountingValue>(call, kFacts); }

}  // namespace mankai::redis
