#include "modules/redis/hot/hot.hpp"

#include <array>

#include "modules/redis/engine/commands.hpp"
#include "modules/redis/engine/docs.hpp"
#include "modules/redis/hot/commands.hpp"
#include "modules/redis/hot/value.hpp"
#include "modules/redis/image/move.hpp"

namespace mankai::redis {
namespace {

constexpr CommandArgument kTime = argument("unix_time_ms", ArgumentKind::unix_time);

// HALFLIFE with or without EPOCH, or LAMBDA with it.
constexpr std::array kHalfLife = {argument("half_life", ArgumentKind::string, 0, "HALFLIFE"),
                                  argument("epoch", ArgumentKind::string, kArgumentOptional, "EPOCH"), kEnd};
constexpr std::array kLambda = {argument("lambda", ArgumentKind::real, 0, "LAMBDA"),
                                argument("epoch", ArgumentKind::string, 0, "EPOCH"), kEnd};
constexpr std::array kSized = {argument("capacity", ArgumentKind::integer, 0, "CAPACITY"),
                               argument("error", ArgumentKind::real, kArgumentOptional, "ERROR"), kEnd};

constexpr CommandArgument group(const char* name, ArgumentKind kind, int flags, const CommandArgument* parts) {
  return {.name = name, .kind = kind, .key_spec_index = -1, .flags = flags, .parts = parts};
}

constexpr std::array kDecays = {group("by_half_life", ArgumentKind::block, 0, kHalfLife.data()),
                                group("by_lambda", ArgumentKind::block, 0, kLambda.data()), kEnd};
constexpr std::array kSizes = {argument("bytes", ArgumentKind::integer, 0, "MEMORY"),
                               group("by_items", ArgumentKind::block, 0, kSized.data()), kEnd};
constexpr std::array kPair = {argument("item", ArgumentKind::string), argument("increment", ArgumentKind::integer),
                              kEnd};
constexpr CommandArgument kPairs = group("pair", ArgumentKind::block, kArgumentMultiple, kPair.data());

constexpr std::array kReserveArguments = {kKeyArgument,
                                          group("decay", ArgumentKind::one_of, kArgumentOptional, kDecays.data()),
                                          group("size", ArgumentKind::one_of, kArgumentOptional, kSizes.data()),
                                          kHash,
                                          kSeed,
                                          kEnd};
constexpr std::array kIncrbyArguments = {kKeyArgument, kPairs, kEnd};
constexpr std::array kIncrbyatArguments = {kKeyArgument, kTime, kPairs, kEnd};
constexpr std::array kKeyTimeItems = {kKeyArgument, kTime, kItems, kEnd};
constexpr std::array kTopArguments = {kKeyArgument,
                                      argument("count", ArgumentKind::integer, kArgumentOptional),
                                      option("withcounts", "WITHCOUNTS"),
                                      argument("unix_time_ms", ArgumentKind::unix_time, kArgumentOptional, "AT"),
                                      argument("offset", ArgumentKind::integer, kArgumentOptional, "OFFSET"),
                                      kEnd};

constexpr const char* kItemsCost = "O(N), N items";
constexpr const char* kIncreaseCost = "O(N), N items; the first of an epoch also O(M), M bytes of filter";
constexpr const char* kTableCost = "O(P log n), P places and n items asked for";

constexpr CommandInfo kReserve = info("Makes an empty filter for counts that fade by half in a half-life",
                                      "O(M), M bytes of filter", -2, kCreates.data(), kReserveArguments.data());
constexpr CommandInfo kIncrby = info("Counts items now, and returns what their counts are then", kIncreaseCost, -4,
                                     kUpdates.data(), kIncrbyArguments.data());
constexpr CommandInfo kIncrbyat = info("Counts items at a time, and returns what their counts are then", kIncreaseCost,
                                       -5, kUpdates.data(), kIncrbyatArguments.data());
constexpr CommandInfo kCount =
    info("Returns the decayed counts of items as of now", kItemsCost, -3, kReads.data(), kKeyItems.data());
constexpr CommandInfo kCountat =
    info("Returns the decayed counts of items as of a time", kItemsCost, -4, kReads.data(), kKeyTimeItems.data());
constexpr CommandInfo kRate = info("Returns how often per hour items arrive, by their counts as of now", kItemsCost, -3,
                                   kReads.data(), kKeyItems.data());
constexpr CommandInfo kRateat = info("Returns how often per hour items arrived, by their counts as of a time",
                                     kItemsCost, -4, kReads.data(), kKeyTimeItems.data());
constexpr CommandInfo kTop = info("Returns the items with the highest counts, in pages of at most 10000", kTableCost,
                                  -2, kReads.data(), kTopArguments.data());
constexpr CommandInfo kInfo =
    info("Returns facts about a filter of decayed counts", "O(P), P places", 2, kReads.data(), kKeyOnly.data());
constexpr CommandInfo kScandump = info("Returns the next piece of a filter of decayed counts", "O(N), N bytes of piece",
                                       3, kReadsSeed.data(), kDumpArguments.data());
constexpr CommandInfo kLoadchunk = info("Restores a filter of decayed counts piece by piece", "O(N), N bytes of piece",
                                        4, kCreates.data(), kLoadArguments.data());

constexpr std::array kCommands = {
    Command{"hot.reserve", run<hot_reserve>, "write deny-oom", "hot write slow", 1, &kReserve},
    // Neither takes memory: the filter has all that it will ever have.
    Command{"hot.incrby", run<hot_incrby>, "write", "hot write slow", 1, &kIncrby},
    Command{"hot.incrbyat", run<hot_incrbyat>, "write", "hot write slow", 1, &kIncrbyat},
    Command{"hot.count", run<hot_count>, "readonly fast", "hot read fast", 1, &kCount},
    Command{"hot.countat", run<hot_countat>, "readonly fast", "hot read fast", 1, &kCountat},
    Command{"hot.rate", run<hot_rate>, "readonly fast", "hot read fast", 1, &kRate},
    Command{"hot.rateat", run<hot_rateat>, "readonly fast", "hot read fast", 1, &kRateat},
    Command{"hot.top", run<hot_top>, "readonly", "hot read slow", 1, &kTop},
    Command{"hot.info", run<hot_info>, "readonly", "hot read slow", 1, &kInfo},
    Command{"hot.scandump", run<image_scandump<HotValue>>, "readonly", "hot slow dangerous", 1, &kScandump},
    Command{"hot.loadchunk", run<image_loadchunk<HotValue>>, "write deny-oom", "hot write slow", 1, &kLoadchunk},
};

}  // namespace

int register_hot(Context* context) noexcept {
  add_category(context, "hot");
  const bool is_done =
      ImageType<HotValue>::register_type(context) == kOk && register_commands(context, kCommands) == kOk;
  return is_done ? kOk : kError;
}

void add_hot_info(InfoState* info) noexcept { ImageType<HotValue>::add_info(info); }

}  // namespace mankai::redis
