#include <array>

#include "modules/redis/bloom/commands.hpp"
#include "modules/redis/bloom/settings.hpp"
#include "modules/redis/engine/family.hpp"
#include "modules/redis/image/move.hpp"

namespace mankai::redis {
namespace {

constexpr std::array kClears = {keys_at(1, 0, kKeyReadWrite | kKeyDelete), KeySpec{}};

constexpr CommandArgument kItem = argument("item", ArgumentKind::string);

constexpr CommandArgument kNonscaling = option("nonscaling", "NONSCALING");
constexpr CommandArgument kDeletable = option("deletable", "DELETABLE");

constexpr std::array kKeyItem = {kKeyArgument, kItem, kEnd};
constexpr std::array kExistsArguments = {kKeyArgument, kItem, option("strict", "STRICT"), kEnd};
constexpr CommandArgument kTtl = argument("ttl", ArgumentKind::real, kArgumentOptional, "TTL");
constexpr CommandArgument kResolution = argument("resolution", ArgumentKind::real, kArgumentOptional, "RESOLUTION");
constexpr CommandArgument kBound = argument("bound", ArgumentKind::string, kArgumentOptional, "BOUND");
constexpr std::array kReserveArguments = {kKeyArgument, kErrorRate,  kCapacity, kExpansion, kNonscaling, kDeletable,
                                          kTtl,         kResolution, kHash,     kSeed,      kBound,      kEnd};
constexpr std::array kAdvanceArguments = {kKeyArgument, argument("milliseconds", ArgumentKind::unix_time), kEnd};
constexpr std::array kInsertArguments = {kKeyArgument,
                                         argument("capacity", ArgumentKind::integer, kArgumentOptional, "CAPACITY"),
                                         argument("error", ArgumentKind::real, kArgumentOptional, "ERROR"),
                                         kExpansion,
                                         option("nocreate", "NOCREATE"),
                                         kNonscaling,
                                         kDeletable,
                                         kTtl,
                                         kResolution,
                                         argument("item", ArgumentKind::string, kArgumentMultiple, "ITEMS"),
                                         kEnd};
constexpr std::array kFacts = {argument("capacity", ArgumentKind::pure_token, 0, "CAPACITY"),
                               argument("size", ArgumentKind::pure_token, 0, "SIZE"),
                               argument("filters", ArgumentKind::pure_token, 0, "FILTERS"),
                               argument("items", ArgumentKind::pure_token, 0, "ITEMS"),
                               argument("expansion", ArgumentKind::pure_token, 0, "EXPANSION"),
                               argument("fpr", ArgumentKind::pure_token, 0, "FPR"),
                               argument("deletable", ArgumentKind::pure_token, 0, "DELETABLE"),
                               argument("ttl", ArgumentKind::pure_token, 0, "TTL"),
                               kEnd};
constexpr CommandArgument kFact = group("single_value", ArgumentKind::one_of, kArgumentOptional, kFacts.data());
constexpr std::array kInfoArguments = {kKeyArgument, kFact, kEnd};

constexpr std::array kLoadWholeArguments = {kKeyArgument, argument("data", ArgumentKind::string), kEnd};

constexpr std::array kConvertArguments = {kKeyArgument, kHash, kSeed, kEnd};

constexpr const char* kOne = "O(1)";
constexpr const char* kSlices = "O(F), F the number of sub-filters";
constexpr const char* kBatch = "O(N * F), N items in F sub-filters";
constexpr const char* kCells = "O(N), N bytes of filter";

constexpr std::array kCommands = {
    command<-4, bloom_reserve>("bf.reserve", "write deny-oom fast",
                               "Creates an empty Bloom filter for a number of items at a false-positive rate", kOne,
                               kCreates, kReserveArguments),
    command<3, bloom_add>("bf.add", "write deny-oom fast",
                          "Adds an item to a Bloom filter, and creates it if it is absent", kSlices, kInserts,
                          kKeyItem),
    command<-3, bloom_madd>("bf.madd", "write deny-oom", "Adds items to a Bloom filter, and creates it if it is absent",
                            kBatch, kInserts, kKeyItems),
    command<-4, bloom_insert>("bf.insert", "write deny-oom",
                              "Adds items to a Bloom filter, and creates it with the given options if it is absent",
                              kBatch, kInserts, kInsertArguments),
    command<-3, bloom_exists>("bf.exists", "readonly fast", "Returns whether an item may be in a Bloom filter", kSlices,
                              kReads, kExistsArguments),
    command<-3, bloom_mexists>("bf.mexists", "readonly", "Returns which items may be in a Bloom filter", kBatch, kReads,
                               kKeyItems),
    command<2, bloom_card>("bf.card", "readonly fast",
                           "Returns how many items set a bit when they were added to a Bloom filter", kSlices, kReads,
                           kKeyOnly),
    command<-2, bloom_info>("bf.info", "readonly", "Returns facts about a Bloom filter", "O(F), and O(N) bytes for FPR",
                            kReads, kInfoArguments),
    command<2, bloom_debug>("bf.debug", "readonly", "Returns facts about each sub-filter", kSlices, kReads, kKeyOnly),
    scandump<BloomValue, bloom_scandump>("bf.scandump"),
    loadchunk<BloomValue, bloom_loadchunk>(),
    command<3, bloom_load>("bf.load", "write deny-oom", "Restores a filter of valkey-bloom", "O(N), N bytes of data",
                           kCreates, kLoadWholeArguments),
    command<-3, bloom_merge>("bf.merge", "write deny-oom",
                             "Adds the items of other Bloom filters that have the same parameters", kCells,
                             kAddsSources, kDestinationSources),
    command<2, bloom_clear>("bf.clear", "write deny-oom fast", "Removes all items from a Bloom filter", kOne, kClears,
                            kKeyOnly),
    command<3, bloom_advance>("bf.advance", "write", "Advances a Bloom filter whose items expire with time",
                              "O(N), N slots", kUpdates, kAdvanceArguments),
    command<-2, mankai_convert>("mankai.convert", "write fast",
                                "Makes a Bloom filter of RedisBloom or valkey-bloom grow by sub-filters of Mankai",
                                kOne, kUpdates, kConvertArguments),
    command<-3, bloom_rem>("bf.rem", "write", "Removes items from a deletable Bloom filter", kBatch, kDeletes,
                           kKeyItems),
};

}  // namespace

MANKAI_DEFINE_FAMILY(bloom) = {.name = "bf",
                               .category = "bloom",
                               .type = kTypeOf<BloomKey>,
                               .commands = kCommands,
                               .register_settings = register_bloom_configs};

}  // namespace mankai::redis
