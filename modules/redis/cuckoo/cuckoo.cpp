#include <algorithm>
#include <array>
#include <chrono>

#include "modules/redis/cuckoo/commands.hpp"
#include "modules/redis/cuckoo/settings.hpp"
#include "modules/redis/engine/family.hpp"
#include "modules/redis/engine/moment.hpp"
#include "modules/redis/image/expiring.hpp"
#include "modules/redis/image/move.hpp"
#include "modules/redis/image/work.hpp"

namespace mankai::redis {
namespace {

/// What a command asks of a key: its items, and which of them may be in. One that is absent, or of another type, has
/// none.
class Question {
 public:
  explicit Question(const Call& call) : batch_(call, kFirstCuckooItem), lookup_(call, kRead) {}

  /// Errors: to be replied.
  [[nodiscard]] Result<void> answer(const Call& call) {
    if (lookup_.value() == nullptr) {
      return lookup_.found() == nullptr ? Result<void>() : refuse(kIncomplete);
    }
    if (is_too_much(call, batch_.keys().size() * value().work_per_item())) {
      return refuse(kTooMuchWork);
    }
    if (const auto* chain = value().redisbloom(); chain != nullptr) {
      chain->may_contain(batch_.keys(), batch_.answers());
    } else {
      ask(call, *value().own(), batch_.keys(), batch_.answers());
    }
    return {};
  }

  [[nodiscard]] std::span<const bool> answers() const noexcept { return batch_.answers(); }
  [[nodiscard]] std::string_view first_item() const noexcept { return batch_.keys().front(); }
  /// Pre: an item may be in.
  [[nodiscard]] const CuckooValue& value() const noexcept { return *lookup_.value(); }

 private:
  KeyBatch batch_;
  CuckooLookup lookup_;
};

constexpr CommandArgument whole(const char* name, const char* token) {
  return argument(name, ArgumentKind::integer, kArgumentOptional, token);
}
constexpr CommandArgument number(const char* name, const char* token) {
  return argument(name, ArgumentKind::real, kArgumentOptional, token);
}
constexpr std::array kExpiries = {argument("seconds", ArgumentKind::integer, 0, "EX"),
                                  argument("milliseconds", ArgumentKind::integer, 0, "PX"),
                                  argument("unix-time-seconds", ArgumentKind::unix_time, 0, "EXAT"),
                                  argument("unix-time-milliseconds", ArgumentKind::unix_time, 0, "PXAT"), kEnd};
constexpr CommandArgument kExpiry = group("expiration", ArgumentKind::one_of, kArgumentOptional, kExpiries.data());
constexpr CommandArgument kOneItem = argument("item", ArgumentKind::string);
constexpr std::array kKeyItem = {kKeyArgument, kOneItem, kEnd};
constexpr std::array kAddArguments = {kKeyArgument, kOneItem, kExpiry, kEnd};
constexpr std::array kInsertArguments = {kKeyArgument,
                                         whole("capacity", "CAPACITY"),
                                         option("nocreate", "NOCREATE"),
                                         kExpiry,
                                         argument("item", ArgumentKind::string, kArgumentMultiple, "ITEMS"),
                                         kEnd};
constexpr std::array kReserveArguments = {kKeyArgument,
                                          kCapacity,
                                          whole("bucketsize", "BUCKETSIZE"),
                                          whole("maxiterations", "MAXITERATIONS"),
                                          kExpansion,
                                          number("error_rate", "ERROR"),
                                          number("ttl", "TTL"),
                                          number("resolution", "RESOLUTION"),
                                          kHash,
                                          kSeed,
                                          kEnd};
constexpr std::array kAdvanceArguments = {kKeyArgument, argument("milliseconds", ArgumentKind::unix_time), kEnd};
constexpr const char* kBatch = "O(N * F), N items in F sub-filters";
constexpr const char* kSingle = "O(F), F sub-filters";

constexpr std::array kCommands = {
    command<-3, cuckoo_reserve>("cf.reserve", "write deny-oom fast",
                                "Creates an empty cuckoo filter for a number of items", "O(1)", kCreates,
                                kReserveArguments),
    command<-3, cuckoo_add>("cf.add", "write deny-oom fast",
                            "Adds an item to a cuckoo filter, and creates it if it is absent", kSingle, kInserts,
                            kAddArguments),
    command<-3, cuckoo_addnx>("cf.addnx", "write deny-oom fast", "Adds an item to a cuckoo filter unless it is found",
                              kSingle, kInserts, kAddArguments),
    command<-4, cuckoo_insert>("cf.insert", "write deny-oom fast",
                               "Adds items to a cuckoo filter, and creates it if it is absent", kBatch, kInserts,
                               kInsertArguments),
    command<-4, cuckoo_insertnx>("cf.insertnx", "write deny-oom fast",
                                 "Adds those items to a cuckoo filter that are not found", kBatch, kInserts,
                                 kInsertArguments),
    command<3, cuckoo_exists>("cf.exists", "readonly fast", "Returns whether an item may be in a cuckoo filter",
                              kSingle, kReads, kKeyItem),
    command<-3, cuckoo_mexists>("cf.mexists", "readonly fast", "Returns which items may be in a cuckoo filter", kBatch,
                                kReads, kKeyItems),
    command<3, cuckoo_del>("cf.del", "write fast", "Deletes an item from a cuckoo filter, once", kSingle, kDeletes,
                           kKeyItem),
    command<-3, cuckoo_mdel>("cf.mdel", "write fast", "Deletes items from a cuckoo filter, each once", kBatch, kDeletes,
                             kKeyItems),
    command<3, cuckoo_count>("cf.count", "readonly fast", "Returns how often an item may be in a cuckoo filter",
                             kSingle, kReads, kKeyItem),
    command<3, cuckoo_ttl>("cf.ttl", "readonly fast", "Returns for how many seconds an item is found at most", kSingle,
                           kReads, kKeyItem),
    command<3, cuckoo_advance>("cf.advance", "write", "Advances the time of a cuckoo filter whose items expire",
                               "O(N), N slots", kUpdates, kAdvanceArguments),
    command<2, cuckoo_compact>("cf.compact", "write", "Moves items to older sub-filters and drops empty ones",
                               "O(N), N slots", kUpdates, kKeyOnly),
    command<2, cuckoo_info>("cf.info", "readonly fast", "Returns facts about a cuckoo filter", kSingle, kReads,
                            kKeyOnly),
    command<2, cuckoo_debug>("cf.debug", "readonly fast", "Returns facts about a cuckoo filter as a line of text",
                             kSingle, kReads, kKeyOnly),
    scandump<CuckooValue, cuckoo_scandump>("cf.scandump"),
    loadchunk<CuckooValue, cuckoo_loadchunk>(),
};

}  // namespace

Answer cuckoo_exists(Call& call) {
  Question question(call);
  MANKAI_TRY(question.answer(call));
  return call.truth(question.answers().front());
}

Answer cuckoo_mexists(Call& call) {
  Question question(call);
  MANKAI_TRY(question.answer(call));
  return call.truths(question.answers());
}

Answer cuckoo_count(Call& call) {
  Question question(call);
  MANKAI_TRY(question.answer(call));
  return call.number(question.answers().front() ? question.value().count(question.first_item()) : 0);
}

Answer cuckoo_ttl(Call& call) {
  constexpr long long kAbsent = -2;
  constexpr long long kForever = -1;
  Question question(call);
  MANKAI_TRY(question.answer(call));
  const bool is_in = question.answers().front();
  const Cuckoo* filter = is_in ? question.value().expiring() : nullptr;
  if (filter == nullptr) {
    return engine.reply_with_long_long(call.context(), is_in ? kForever : kAbsent);
  }
  const Duration left = *filter->expiry(filter->hasher()(question.first_item())) - clock_now();
  return call.number(
      static_cast<std::uint64_t>(std::max<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(left).count(), 0)));
}

Answer cuckoo_info(Call& call) {
  const CuckooLookup lookup(call, kRead);
  MANKAI_TRY(lookup.must_be_whole());
  const takeover::CuckooShape shape = lookup.value()->shape();
  const bool is_own = lookup.value()->own() != nullptr;
  return reply_facts(call, {{"Size", is_own ? lookup.found()->memory_bytes() : shape.redisbloom_bytes()},
                            {"Number of buckets", shape.buckets},
                            {"Number of filters", shape.filters},
                            {"Number of items inserted", shape.items},
                            {"Number of items deleted", shape.deletes},
                            {"Bucket size", shape.bucket_cells},
                            {"Expansion rate", shape.expansion},
                            {"Max iterations", shape.max_iterations}});
}

Answer cuckoo_debug(Call& call) {
  const CuckooLookup lookup(call, kRead);
  MANKAI_TRY(lookup.must_be_whole());
  return call.bytes(lookup.value()->shape().debug_text());
}

MANKAI_DEFINE_FAMILY(cuckoo) = {.name = "cf",
                                .category = "cuckoo",
                                .type = kTypeOf<CuckooKey>,
                                .commands = kCommands,
                                .register_settings = register_cuckoo_configs};

}  // namespace mankai::redis
