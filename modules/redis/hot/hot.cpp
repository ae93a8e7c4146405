/// The HOT.* commands: the items with the highest decayed counts.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "mankai/base/time.hpp"
#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/family.hpp"
#include "modules/redis/engine/moment.hpp"
#include "modules/redis/engine/reserve.hpp"
#include "modules/redis/hot/settings.hpp"
#include "modules/redis/hot/value.hpp"
#include "modules/redis/image/key.hpp"
#include "modules/redis/image/move.hpp"
#include "modules/redis/image/reserve.hpp"
#include "modules/redis/image/work.hpp"

namespace mankai::redis {
namespace {

bool are_pairs(const Call& call, std::size_t first) noexcept {
  return call.size() > first && (call.size() - first) % 2 == 0;
}

// Returns 0 for an invalid increment.
std::uint32_t increment_at(const Call& call, std::size_t index) noexcept {
  const long long value = call.integer(index).value_or(0);
  return value >= 1 && value <= HotValue::kMostIncrement ? static_cast<std::uint32_t>(value) : 0;
}

// Counts the pairs from argument `first` on, and replies with each item's new count. The default time is now, or the
// newest event if that is later: a clock that was set back must not make events late. Replicas get the time.
Answer increase(const Call& call, std::size_t first, std::optional<Moment> at) {
  for (std::size_t i = first; i < call.size(); i += 2) {
    if (increment_at(call, i + 1) == 0) {
      return refuse("ERR the increment must be an integer in the range [1, 4294967295]");
    }
  }
  const Lookup<ImageKey<HotValue>> lookup(call, kRead | kWrite);
  MANKAI_TRY(lookup.must_be_whole());
  HotValue& value = *lookup.value();
  const Moment when = at ? *at : std::max(clock_now(), moment_after(value.filter().newest()));
  const auto pairs = call.arguments().subspan(first);
  call.array(pairs.size() / 2);
  for (std::size_t i = first; i < call.size(); i += 2) {
    call.real_number(value.add(call.text(i), increment_at(call, i + 1), when));
  }
  engine.replicate(call.context(), "HOT.INCRBYAT", "slv", call.key(),
                   static_cast<long long>(when.time_since_epoch().count()), pairs.data(), pairs.size());
  call.key_changed("hot.incrby");
  return kOk;
}

// Errors: invalid_argument with the reply's text without ERR.
Result<HotSettings> read_settings(const Call& call) {
  HotRequest request;
  MANKAI_TRY(request.read(call, 2));
  return request.settings();
}

using HotLookup = ImageLookup<HotValue>;
using Estimate = double (HotValue::*)(std::string_view key, Time at) const noexcept;

constexpr std::size_t kDefaultTop = 10;
/// Per command: takes a few milliseconds, mostly for the reply.
constexpr long long kMostTop = 10'000;

Answer reply_each(const Call& call, std::size_t first, Estimate estimate, Moment at) {
  const HotLookup lookup(call, kRead);
  MANKAI_TRY(lookup.must_be_whole());
  call.array(call.size() - first);
  for (std::size_t i = first; i < call.size(); ++i) {
    call.real_number((lookup.value()->*estimate)(call.text(i), at));
  }
  return kOk;
}

Answer estimate_now(const Call& call, Estimate estimate) { return reply_each(call, 2, estimate, clock_now()); }

Answer estimate_at(const Call& call, Estimate estimate) {
  const auto at = read_moment(call, 2);
  return at ? reply_each(call, 3, estimate, *at) : refuse(kBadTime);
}

struct TopRequest {
  std::size_t most = kDefaultTop;
  std::size_t skip = 0;
  bool has_counts = false;
  std::optional<Moment> at;

  Result<void> read(const Call& call) {
    std::size_t i = 2;
    if (i < call.size() && call.integer(i)) {
      const long long wanted = *call.integer(i++);
      if (wanted < 1 || wanted > kMostTop) {
        return refuse("ERR the number of items must be in the range [1, 10000]: ask for more with OFFSET");
      }
      most = static_cast<std::size_t>(wanted);
    }
    const std::size_t first = i;
    for (; i < call.size(); ++i) {
      MANKAI_TRY(must_be_once(call, first, i));
      if (call.is(i, "WITHCOUNTS")) {
        has_counts = true;
      } else if (call.is(i, "AT")) {
        at = ++i < call.size() ? read_moment(call, i) : std::nullopt;
        if (!at) {
          return refuse(kBadTime);
        }
      } else if (call.is(i, "OFFSET")) {
        const auto offset = ++i < call.size() ? call.integer(i) : std::nullopt;
        if (!offset || *offset < 0) {
          return refuse("ERR the offset must be an integer, not below 0");
        }
        skip = static_cast<std::size_t>(*offset);
      } else {
        return refuse(kUnknownArgument);
      }
    }
    return {};
  }
};

// As ZRANGE … WITHSCORES: pairs in RESP3, alternating elements in RESP2.
void reply_with_counts(const Call& call, const std::vector<HotValue::Item>& items) noexcept {
  const bool is_resp3 = call.is_resp3();
  call.array(is_resp3 ? items.size() : 2 * items.size());
  for (const HotValue::Item& item : items) {
    if (is_resp3) {
      call.array(2);
    }
    call.bytes(item.key);
    call.real_number(item.count);
  }
}

Answer hot_reserve(Call& call) {
  const auto settings = read_settings(call);
  if (!settings) {
    return refuse("ERR " + settings.error().detail);
  }
  return reserve<HotValue>(call, *settings, "hot.reserve", replicate_creation);
}

Answer hot_incrby(Call& call) {
  constexpr std::size_t kFirst = 2;
  return are_pairs(call, kFirst) ? increase(call, kFirst, std::nullopt) : call.wrong_arity();
}

Answer hot_incrbyat(Call& call) {
  constexpr std::size_t kFirst = 3;
  if (!are_pairs(call, kFirst)) {
    return call.wrong_arity();
  }
  const auto at = read_moment(call, 2);
  if (!at) {
    return refuse(kBadTime);
  }
  return is_far_future(call, *at) ? refuse(kFarFuture) : increase(call, kFirst, at);
}

Answer hot_count(Call& call) { return estimate_now(call, &HotValue::count); }
Answer hot_countat(Call& call) { return estimate_at(call, &HotValue::count); }
Answer hot_rate(Call& call) { return estimate_now(call, &HotValue::rate); }
Answer hot_rateat(Call& call) { return estimate_at(call, &HotValue::rate); }

Answer hot_top(Call& call) {
  TopRequest request;
  MANKAI_TRY(request.read(call));
  const HotLookup lookup(call, kRead);
  MANKAI_TRY(lookup.must_be_whole());
  const auto items = lookup.value()->top(request.most, request.skip, request.at.value_or(clock_now()));
  if (request.has_counts) {
    reply_with_counts(call, items);
    return kOk;
  }
  call.array(items.size());
  for (const HotValue::Item& item : items) {
    call.bytes(item.key);
  }
  return kOk;
}

// Adds to a copy, so nothing changes if one of them cannot be added.
Answer hot_merge(Call& call) {
  HotLookup lookup(call, kRead | kWrite);
  MANKAI_TRY(lookup.may_be_absent());
  Sources<ImageKey<HotValue>> sources;
  MANKAI_TRY(sources.open(call, 2));
  const std::uint64_t bytes = (lookup.is_absent() ? sources[0] : *lookup.value()).filter().image_bytes();
  constexpr std::uint64_t kMergedBytesPerUnit = 16;  // all units take some seconds: one source of the largest size
  if (is_too_much(call, bytes / kMergedBytesPerUnit * sources.size())) {
    return refuse("ERR too many bytes in one command; merge fewer filters per command");
  }
  MemoryLimit limit(call.context());
  limit.set_filter(sizeof(ImageKey<HotValue>));  // the sum replaces the value
  const std::size_t copied = lookup.is_absent() ? 1 : 0;
  auto sum = (lookup.is_absent() ? sources.key(0) : *lookup.found()).copy();
  for (std::size_t i = copied; sum && i < sources.size(); ++i) {
    if (&sources.key(i) == lookup.found()) {
      continue;
    }
    if (const auto added = (*sum)->value()->filter().merge(sources[i].filter()); !added) {
      sum = std::unexpected(added.error());
    }
  }
  if (!sum) {
    return std::unexpected(not_made(sum.error()));
  }
  if (lookup.is_absent()) {
    lookup.set(std::move(*sum));
  } else {
    lookup.found()->set_value(std::move(*(*sum)->value()));  // the key keeps its expiry
  }
  engine.replicate_verbatim(call.context());
  call.key_changed("hot.merge");
  return call.ok();
}

Answer hot_info(Call& call) {
  const HotLookup lookup(call, kRead);
  MANKAI_TRY(lookup.must_be_whole());
  const DecayedTop& filter = lookup.value()->filter();
  return reply_facts(call, {{"Half-life", filter.decay().half_life_seconds()},
                            {"Lambda", filter.decay().lambda()},
                            {"Epoch", std::chrono::duration<double>(filter.epoch()).count()},
                            {"Window", std::chrono::duration<double>(filter.window()).count()},
                            {"Size", lookup.found()->memory_bytes()},
                            {"Rounding", name(filter.rounding())},
                            {"Room for names", filter.names_capacity()},
                            {"Names", filter.names()},
                            {"Events", filter.keys_inserted()},
                            {"Late events", filter.late_records()},
                            {"Newest event", moment_after(filter.newest()).time_since_epoch().count()}});
}

constexpr CommandArgument kTime = argument("unix_time_ms", ArgumentKind::unix_time);

// HALFLIFE with optional EPOCH, LAMBDA with EPOCH, or WINDOW.
constexpr std::array kHalfLife = {argument("half_life", ArgumentKind::string, 0, "HALFLIFE"),
                                  argument("epoch", ArgumentKind::string, kArgumentOptional, "EPOCH"), kEnd};
constexpr std::array kLambda = {argument("lambda", ArgumentKind::real, 0, "LAMBDA"),
                                argument("epoch", ArgumentKind::string, 0, "EPOCH"), kEnd};
constexpr std::array kSized = {argument("capacity", ArgumentKind::integer, 0, "CAPACITY"),
                               argument("error", ArgumentKind::real, kArgumentOptional, "ERROR"), kEnd};

constexpr std::array kDecays = {group("by_half_life", ArgumentKind::block, 0, kHalfLife.data()),
                                group("by_lambda", ArgumentKind::block, 0, kLambda.data()),
                                argument("window", ArgumentKind::string, 0, "WINDOW"), kEnd};
constexpr std::array kSizes = {argument("bytes", ArgumentKind::integer, 0, "MEMORY"),
                               group("by_items", ArgumentKind::block, 0, kSized.data()), kEnd};

constexpr std::array kReserveArguments = {kKeyArgument,
                                          group("decay", ArgumentKind::one_of, kArgumentOptional, kDecays.data()),
                                          group("size", ArgumentKind::one_of, kArgumentOptional, kSizes.data()),
                                          argument("rounding", ArgumentKind::string, kArgumentOptional, "ROUNDING"),
                                          kHash,
                                          kSeed,
                                          kEnd};
constexpr std::array kIncrbyatArguments = {kKeyArgument, kTime, kPairs, kEnd};
constexpr std::array kKeyTimeItems = {kKeyArgument, kTime, kItems, kEnd};
constexpr std::array kTopArguments = {kKeyArgument,
                                      argument("count", ArgumentKind::integer, kArgumentOptional),
                                      option("withcounts", "WITHCOUNTS"),
                                      argument("unix_time_ms", ArgumentKind::unix_time, kArgumentOptional, "AT"),
                                      argument("offset", ArgumentKind::integer, kArgumentOptional, "OFFSET"),
                                      kEnd};

constexpr const char* kItemsCost = "O(N), N items";
constexpr const char* kTopCost = "O(P log n), P names and n items asked for";

constexpr std::array kCommands = {
    command<-2, hot_reserve>("hot.reserve", "write deny-oom", "Creates an empty filter of decayed counts",
                             "O(M), M bytes of filter", kCreates, kReserveArguments),
    // Not deny-oom: neither allocates.
    command<-4, hot_incrby>("hot.incrby", "write", "Counts items now and returns their decayed counts", kItemsCost,
                            kUpdates, kIncrbyArguments),
    command<-5, hot_incrbyat>("hot.incrbyat", "write", "Counts items at a time and returns their decayed counts",
                              kItemsCost, kUpdates, kIncrbyatArguments),
    command<-3, hot_count>("hot.count", "readonly fast", "Returns the decayed counts of items as of now", kItemsCost,
                           kReads, kKeyItems),
    command<-4, hot_countat>("hot.countat", "readonly fast", "Returns the decayed counts of items as of a time",
                             kItemsCost, kReads, kKeyTimeItems),
    command<-3, hot_rate>("hot.rate", "readonly fast",
                          "Returns how often per hour items arrive, by their counts as of now", kItemsCost, kReads,
                          kKeyItems),
    command<-4, hot_rateat>("hot.rateat", "readonly fast",
                            "Returns how often per hour items arrived, by their counts as of a time", kItemsCost,
                            kReads, kKeyTimeItems),
    command<-2, hot_top>("hot.top", "readonly", "Returns the items with the highest counts, in pages of at most 10000",
                         kTopCost, kReads, kTopArguments),
    command<2, hot_info>("hot.info", "readonly", "Returns facts about a filter of decayed counts", "O(1)", kReads,
                         kKeyOnly),
    command<-3, hot_merge>("hot.merge", "write deny-oom", "Adds the counts of other filters of the same parameters",
                           "O(N * M), N sources of M bytes", kAddsSources, kDestinationSources),
    scandump<HotValue>("hot.scandump"),
    loadchunk<HotValue>(),
};

}  // namespace

MANKAI_DEFINE_FAMILY(hot) = {
    .name = "hot", .category = "hot", .type = kTypeOf<ImageKey<HotValue>>, .commands = kCommands};

}  // namespace mankai::redis
