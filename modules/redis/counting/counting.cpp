/// The CBF.* commands: counted items, which are removed by the id under which they were added, as in dablooms. Commands
/// take any number of items and reply with an array, even for one.

#include <algorithm>
#include <array>
#include <new>
#include <vector>

#include "mankai/filter/parts/hash_windows.hpp"
#include "modules/redis/counting/value.hpp"
#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/family.hpp"
#include "modules/redis/engine/memory.hpp"
#include "modules/redis/engine/reserve.hpp"
#include "modules/redis/image/move.hpp"
#include "modules/redis/image/reserve.hpp"
#include "modules/redis/image/work.hpp"

namespace mankai::redis {
namespace {

constexpr std::size_t kFirstItem = 2;
constexpr long long kInitialItems = 1000;

/// Parameters of filters that CBF.ADD creates, set by the configs cbf-*. Threads: the engine's main thread.
constinit GrowingDefaults defaults{.prefix = "cbf", .capacity_keys = capacity_setting(kInitialItems)};

constexpr std::size_t kPair = 2;

enum class Outcome : std::uint8_t { known, fresh, absent, removed, stays, refused, full, out_of_memory };

bool is_change(Outcome outcome) noexcept {
  return outcome == Outcome::known || outcome == Outcome::fresh || outcome == Outcome::removed;
}

struct NumberedItems {
  std::vector<std::string_view> items;
  std::vector<std::uint64_t> ids;
  std::vector<Outcome> outcomes;
};

Result<NumberedItems> read_items(const Call& call) {
  const std::size_t count = (call.size() - kFirstItem) / kPair;
  NumberedItems found;
  found.items.reserve(count);
  found.ids.reserve(count);
  found.outcomes.assign(count, Outcome::out_of_memory);
  for (std::size_t i = kFirstItem; i < call.size(); i += kPair) {
    const auto id = call.integer(i + 1);
    if (!id || *id < 0) {
      return refuse("ERR bad id: give a number from 0 to 9223372036854775807");
    }
    found.items.push_back(call.text(i));
    found.ids.push_back(static_cast<std::uint64_t>(*id));
  }
  return found;
}

bool are_pairs(const Call& call) noexcept { return (call.size() - kFirstItem) % kPair == 0; }

// The first slice that these ids can change: the newest that begins at or below the lowest id.
std::size_t first_to_change(const ScalableCountingBloom& filter, std::span<const std::uint64_t> ids) noexcept {
  const std::uint64_t lowest = *std::ranges::min_element(ids);
  std::size_t slice = filter.slice_count() - 1;
  while (slice > 0 && filter.slice_first_id(slice) > lowest) {
    --slice;
  }
  return slice;
}

bool is_in_slices_from(const ScalableCountingBloom& filter, std::size_t first, Digest digest) noexcept {
  for (std::size_t i = first; i < filter.slice_count(); ++i) {
    if (filter.slice(i).may_contain(digest)) {
      return true;
    }
  }
  return false;
}

void add_window(ScalableCountingBloom& filter, std::span<const Digest> digests, std::span<const std::uint64_t> ids,
                std::span<Outcome> outcomes) {
  std::array<bool, kHashWindow> window;
  const auto known = std::span(window).first(digests.size());
  filter.may_contain(digests, known);
  const std::size_t first = first_to_change(filter, ids);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    if (filter.is_full()) {
      outcomes[i] = Outcome::full;
      continue;
    }
    const bool is_known = known[i] || is_in_slices_from(filter, first, digests[i]);  // may be added in this window
    const bool is_in = filter.insert(digests[i], ids[i]).has_value();
    if (is_in) {
      outcomes[i] = is_known ? Outcome::known : Outcome::fresh;
    } else {
      outcomes[i] = Outcome::refused;
    }
  }
}

// If there is no memory for a slice, that item and all later ones keep their initial outcome.
void add_items(ScalableCountingBloom& filter, NumberedItems& items) noexcept {
  try {
    for_each_hashed_window(filter.hasher(), std::span<const std::string_view>(items.items),
                           [&](std::size_t start, std::span<const Digest> digests) {
                             add_window(filter, digests, std::span(items.ids).subspan(start, digests.size()),
                                        std::span(items.outcomes).subspan(start, digests.size()));
                           });
  } catch (const std::bad_alloc&) {
    return;
  }
}

Outcome outcome_of(EraseResult result) noexcept {
  switch (result) {
    case EraseResult::erased: return Outcome::removed;
    case EraseResult::absent:
    case EraseResult::below_ids: return Outcome::absent;
    case EraseResult::ambiguous:
    case EraseResult::stuck: return Outcome::stays;
  }
  return Outcome::stays;
}

void remove_items(ScalableCountingBloom& filter, NumberedItems& items) noexcept {
  std::array<EraseResult, kHashWindow> results;
  for_each_hashed_window(filter.hasher(), std::span<const std::string_view>(items.items),
                         [&](std::size_t start, std::span<const Digest> digests) {
                           const auto window = std::span(results).first(digests.size());
                           filter.erase(digests, std::span(items.ids).subspan(start, digests.size()), window);
                           std::ranges::transform(window, items.outcomes.begin() + static_cast<std::ptrdiff_t>(start),
                                                  outcome_of);
                         });
}

void replicate_changes(const Call& call, const char* command, std::span<const Outcome> outcomes,
                       std::vector<String*>& changed) {
  if (changed.size() == outcomes.size() * kPair) {
    engine.replicate_verbatim(call.context());
    return;
  }
  engine.replicate(call.context(), command, "sv", call.key(), changed.data(), changed.size());
}

int reply_outcome(const Call& call, Outcome outcome) noexcept {
  constexpr long long kStays = -1;
  switch (outcome) {
    case Outcome::known: return call.truth(false);
    case Outcome::fresh: return call.truth(true);
    case Outcome::absent: return call.number(0);
    case Outcome::removed: return call.number(1);
    case Outcome::stays: return engine.reply_with_long_long(call.context(), kStays);
    case Outcome::refused: return call.error("ERR the id is below the first one of the filter");
    case Outcome::full: return call.error(kFilterFull);
    case Outcome::out_of_memory: break;
  }
  return call.error(memory_error(kNoMemory));
}

int reply_outcomes(const Call& call, std::span<const Outcome> outcomes) noexcept {
  call.array(outcomes.size());
  for (const Outcome outcome : outcomes) {
    reply_outcome(call, outcome);
  }
  return kOk;
}

// Appends the arguments of the items that changed something. Pre: `changed` has room for all.
void note_changed(const Call& call, std::span<const Outcome> outcomes, std::vector<String*>& changed) noexcept {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (is_change(outcomes[i])) {
      changed.push_back(call.arguments()[kFirstItem + i * kPair]);
      changed.push_back(call.arguments()[kFirstItem + i * kPair + 1]);
    }
  }
}

int finish(const Call& call, const char* command, std::span<const Outcome> outcomes, std::vector<String*>& changed) {
  note_changed(call, outcomes, changed);
  if (!changed.empty()) {
    replicate_changes(call, command, outcomes, changed);
    call.key_changed(command);
  }
  return reply_outcomes(call, outcomes);
}

constinit RepeatedCommand repeated_reserve("CBF.RESERVE");
constexpr const char* kReserveEvent = "cbf.reserve";

Result<void> check(const Call& call, const CountingLookup& lookup) {
  MANKAI_TRY(lookup.may_be_absent());
  const bool is_large = lookup.value() != nullptr &&
                        is_too_much(call, (call.size() - kFirstItem) * lookup.value()->filter().slice_count());
  return is_large ? refuse(kTooMuchWork) : Result<void>();
}

Answer counting_reserve(Call& call) {
  MANKAI_ASSIGN(const auto settings, read_reserve(call, defaults));
  return reserve<CountingValue>(call, settings, kReserveEvent, [](const Call& made_by, const GrowingSettings& made) {
    replicate_reserve(made_by, repeated_reserve, made);
  });
}

Answer counting_add(Call& call) {
  if (!are_pairs(call)) {
    return call.wrong_arity();
  }
  MANKAI_ASSIGN(auto items, read_items(call));
  std::vector<String*> changed;
  changed.reserve(call.size());
  MemoryLimit limit(call.context());
  CountingLookup lookup(call, kRead | kWrite);
  lookup.limit(limit);
  const bool is_new = lookup.is_absent();
  if (is_too_much(call, work_of_adding(work_shape(lookup.value(), defaults), items.items.size()))) {
    return refuse(kTooMuchWork);
  }
  if (is_new) {
    MANKAI_TRY(reserve_growing(call, lookup, repeated_reserve, defaults.settings()));
  }
  MANKAI_TRY(lookup.must_be_whole());
  add_items(lookup.value()->filter(), items);
  if (is_new) {
    call.key_changed(kReserveEvent);
  }
  return finish(call, "cbf.add", items.outcomes, changed);
}

Answer counting_rem(Call& call) {
  if (!are_pairs(call)) {
    return call.wrong_arity();
  }
  MANKAI_ASSIGN(auto items, read_items(call));
  std::vector<String*> changed;
  changed.reserve(call.size());
  const CountingLookup lookup(call, kRead | kWrite);
  MANKAI_TRY(lookup.may_be_absent());
  if (is_too_much(call, items.items.size() * work_shape(lookup.value(), defaults).slices)) {
    return refuse(kTooMuchWork);
  }
  if (lookup.value() != nullptr) {
    remove_items(lookup.value()->filter(), items);
  } else {
    std::ranges::fill(items.outcomes, Outcome::absent);
  }
  return finish(call, "cbf.rem", items.outcomes, changed);
}

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

constexpr std::array kPairParts = {argument("item", ArgumentKind::string), argument("id", ArgumentKind::integer), kEnd};
constexpr std::array kKeyPairs = {
    kKeyArgument, group("numbered-item", ArgumentKind::block, kArgumentMultiple, kPairParts.data()), kEnd};
constexpr std::array kReserveArguments = {kKeyArgument, kErrorRate, kCapacity, kExpansion, kHash, kSeed, kEnd};

constexpr const char* kBatch = "O(N * F), N items in F sub-filters";

constexpr std::array kCommands = {
    command<-4, counting_reserve>("cbf.reserve", "write deny-oom fast",
                                  "Creates an empty counting filter for a number of items at a false-positive rate",
                                  "O(1)", kCreates, kReserveArguments),
    command<-4, counting_add>("cbf.add", "write deny-oom fast",
                              "Adds items, each with an id, to a counting filter, and creates it if it is absent",
                              kBatch, kInserts, kKeyPairs),
    command<-4, counting_rem>("cbf.rem", "write fast",
                              "Removes items from a counting filter, each by the id that it was added with", kBatch,
                              kDeletes, kKeyPairs),
    command<-3, counting_count>("cbf.count", "readonly fast", "Returns how often items are in a counting filter",
                                kBatch, kReads, kKeyItems),
    command<-3, counting_exists>("cbf.exists", "readonly fast", "Returns which items may be in a counting filter",
                                 kBatch, kReads, kKeyItems),
    command<2, counting_info>("cbf.info", "readonly fast", "Returns facts about a counting filter",
                              "O(F), F sub-filters", kReads, kKeyOnly),
    scandump<CountingValue>("cbf.scandump"),
    loadchunk<CountingValue>(),
};

}  // namespace

MANKAI_DEFINE_FAMILY(counting) = {
    .name = "cbf",
    .category = "cbf",
    .type = kTypeOf<CountingKey>,
    .commands = kCommands,
    .register_settings = [](Context* context) noexcept { return register_growing_configs(context, defaults); }};

}  // namespace mankai::redis
