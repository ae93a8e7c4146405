#include <array>

#include "modules/redis/engine/family.hpp"
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

constexpr std::array kCommands = {
    command<-2, hot_reserve>("hot.reserve", "write deny-oom", "Creates an empty filter of decayed counts",
                             "O(M), M bytes of filter", kCreates, kReserveArguments),
    // Neither takes memory: the filter has all that it will ever have.
    command<-4, hot_incrby>("hot.incrby", "write", "Counts items now and returns their decayed counts", kIncreaseCost,
                            kUpdates, kIncrbyArguments),
    command<-5, hot_incrbyat>("hot.incrbyat", "write", "Counts items at a time and returns their decayed counts",
                              kIncreaseCost, kUpdates, kIncrbyatArguments),
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
                         kTableCost, kReads, kTopArguments),
    command<2, hot_info>("hot.info", "readonly", "Returns facts about a filter of decayed counts", "O(P), P places",
                         kReads, kKeyOnly),
    scandump<HotValue>("hot.scandump"),
    loadchunk<HotValue>(),
};

}  // namespace

MANKAI_DEFINE_FAMILY(hot) = {
    .name = "hot", .category = "hot", .type = type_of<ImageKey<HotValue>>, .commands = kCommands};

}  // namespace mankai::redis
