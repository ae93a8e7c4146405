#include "modules/redis/bloom/docs.hpp"

#include <array>

#include "modules/redis/bloom/commands.hpp"
#include "modules/redis/engine/docs.hpp"

namespace mankai::redis {
namespace {

constexpr std::array kRemoves = {keys_at(1, 0, kKeyReadWrite | kKeyAccess | kKeyDelete), KeySpec{}};
constexpr std::array kClears = {keys_at(1, 0, kKeyReadWrite | kKeyDelete), KeySpec{}};
constexpr std::array kMerges = {keys_at(1, 0, kKeyReadWrite | kKeyInsert), keys_at(2, -1, kKeyReadOnly | kKeyAccess),
                                KeySpec{}};

constexpr CommandArgument kItem = argument("item", ArgumentKind::string);

constexpr CommandArgument kNonscaling = option("nonscaling", "NONSCALING");
constexpr CommandArgument kDeletable = option("deletable", "DELETABLE");

constexpr std::array kKeyItem = {kKeyArgument, kItem, kEnd};
constexpr std::array kExistsArguments = {kKeyArgument, kItem, option("strict", "STRICT"), kEnd};
constexpr std::array kReserveArguments = {kKeyArgument, kErrorRate, kCapacity, kExpansion, kNonscaling,
                                          kDeletable,   kHash,      kSeed,     kEnd};
constexpr std::array kInsertArguments = {kKeyArgument,
                                         argument("capacity", ArgumentKind::integer, kArgumentOptional, "CAPACITY"),
                                         argument("error", ArgumentKind::real, kArgumentOptional, "ERROR"),
                                         kExpansion,
                                         option("nocreate", "NOCREATE"),
                                         kNonscaling,
                                         kDeletable,
                                         argument("item", ArgumentKind::string, kArgumentMultiple, "ITEMS"),
                                         kEnd};
constexpr std::array kFacts = {argument("capacity", ArgumentKind::pure_token, 0, "CAPACITY"),
                               argument("size", ArgumentKind::pure_token, 0, "SIZE"),
                               argument("filters", ArgumentKind::pure_token, 0, "FILTERS"),
                               argument("items", ArgumentKind::pure_token, 0, "ITEMS"),
                               argument("expansion", ArgumentKind::pure_token, 0, "EXPANSION"),
                               argument("fpr", ArgumentKind::pure_token, 0, "FPR"),
                               argument("deletable", ArgumentKind::pure_token, 0, "DELETABLE"),
                               kEnd};
constexpr CommandArgument kFact = {.name = "single_value",
                                   .kind = ArgumentKind::one_of,
                                   .key_spec_index = -1,
                                   .flags = kArgumentOptional,
                                   .parts = kFacts.data()};
constexpr std::array kInfoArguments = {kKeyArgument, kFact, kEnd};
constexpr std::array kMergeArguments = {key_argument("destination"), key_argument("source", 1, kArgumentMultiple),
                                        kEnd};

constexpr const char* kOne = "O(1)";
constexpr const char* kSlices = "O(F), F the number of sub-filters";
constexpr const char* kBatch = "O(N * F), N items in F sub-filters";
constexpr const char* kCells = "O(N), N bytes of filter";

constexpr CommandInfo kReserve = info("Makes an empty Bloom filter for so many items at such a rate of false positives",
                                      kOne, -4, kCreates.data(), kReserveArguments.data());
constexpr CommandInfo kAdd = info("Adds an item to a Bloom filter, which is made if there is none", kSlices, 3,
                                  kInserts.data(), kKeyItem.data());
constexpr CommandInfo kMadd =
    info("Adds items to a Bloom filter, which is made if there is none", kBatch, -3, kInserts.data(), kKeyItems.data());
constexpr CommandInfo kInsert = info("Adds items to a Bloom filter, which is made as told if there is none", kBatch, -4,
                                     kInserts.data(), kInsertArguments.data());
constexpr CommandInfo kExists =
    info("Tells whether an item may be in a Bloom filter", kSlices, -3, kReads.data(), kExistsArguments.data());
constexpr CommandInfo kMexists =
    info("Tells which items may be in a Bloom filter", kBatch, -3, kReads.data(), kKeyItems.data());
constexpr CommandInfo kCard = info("Returns how many items set a bit when they were added to a Bloom filter", kSlices,
                                   2, kReads.data(), kKeyOnly.data());
constexpr CommandInfo kInfo = info("Returns facts about a Bloom filter", "O(F), and O(N) bytes for FPR", -2,
                                   kReads.data(), kInfoArguments.data());
constexpr CommandInfo kDebug = info("Returns facts about each sub-filter", kSlices, 2, kReads.data(), kKeyOnly.data());
constexpr CommandInfo kScandump = info("Returns the next chunk of a Bloom filter", "O(N), N bytes of chunk", 3,
                                       kReadsSeed.data(), kDumpArguments.data());
constexpr CommandInfo kLoadchunk =
    info("Restores a Bloom filter chunk by chunk", "O(N), N bytes of chunk", 4, kCreates.data(), kLoadArguments.data());
constexpr CommandInfo kMerge = info("Adds to a Bloom filter the items of others that were made alike", kCells, -3,
                                    kMerges.data(), kMergeArguments.data());
constexpr CommandInfo kRem =
    info("Takes items out of a deletable Bloom filter", kBatch, -3, kRemoves.data(), kKeyItems.data());
constexpr CommandInfo kClear = info("Makes a Bloom filter forget every item", kOne, 2, kClears.data(), kKeyOnly.data());

constexpr std::array kCommands = {
    Command{"bf.reserve", run<bloom_reserve>, "write deny-oom fast", "bloom write fast", 1, &kReserve},
    Command{"bf.add", run<bloom_add>, "write deny-oom fast", "bloom write fast", 1, &kAdd},
    Command{"bf.madd", run<bloom_madd>, "write deny-oom", "bloom write slow", 1, &kMadd},
    Command{"bf.insert", run<bloom_insert>, "write deny-oom", "bloom write slow", 1, &kInsert},
    Command{"bf.exists", run<bloom_exists>, "readonly fast", "bloom read fast", 1, &kExists},
    Command{"bf.mexists", run<bloom_mexists>, "readonly", "bloom read slow", 1, &kMexists},
    Command{"bf.card", run<bloom_card>, "readonly fast", "bloom read fast", 1, &kCard},
    Command{"bf.info", run<bloom_info>, "readonly", "bloom read slow", 1, &kInfo},
    Command{"bf.debug", run<bloom_debug>, "readonly", "bloom read slow", 1, &kDebug},
    Command{"bf.scandump", run<bloom_scandump>, "readonly", "bloom slow dangerous", 1, &kScandump},
    Command{"bf.loadchunk", run<bloom_loadchunk>, "write deny-oom", "bloom write slow", 1, &kLoadchunk},
    Command{"bf.merge", run<bloom_merge>, "write deny-oom", "bloom write slow", -1, &kMerge},
    Command{"bf.clear", run<bloom_clear>, "write deny-oom fast", "bloom write fast", 1, &kClear},
    Command{"bf.rem", run<bloom_rem>, "write", "bloom write slow", 1, &kRem},
};

}  // namespace

std::span<const Command> bloom_commands() noexcept { return kCommands; }

}  // namespace mankai::redis
