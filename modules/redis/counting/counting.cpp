#include "modules/redis/counting/counting.hpp"

#include <array>

#include "modules/redis/counting/commands.hpp"
#include "modules/redis/counting/value.hpp"
#include "modules/redis/engine/commands.hpp"
#include "modules/redis/engine/docs.hpp"
#include "modules/redis/image/move.hpp"

namespace mankai::redis {
namespace {

constexpr std::array kPair = {argument("item", ArgumentKind::string), argument("id", ArgumentKind::integer), kEnd};
constexpr CommandArgument kPairs = {.name = "numbered-item",
                                    .kind = ArgumentKind::block,
                                    .key_spec_index = -1,
                                    .flags = kArgumentMultiple,
                                    .parts = kPair.data()};
constexpr std::array kKeyPairs = {kKeyArgument, kPairs, kEnd};

constexpr std::array kReserveArguments = {kKeyArgument, kErrorRate, kCapacity, kExpansion, kHash, kSeed, kEnd};

constexpr const char* kBatch = "O(N * F), N items in F sub-filters";
constexpr const char* kChunk = "O(N), N bytes of chunk";

constexpr CommandInfo kReserve =
    info("Makes an empty counting filter for so many items at such a rate of false positives", "O(1)", -4,
         kCreates.data(), kReserveArguments.data());
constexpr CommandInfo kAdd = info("Counts items, each with an id, in a counting filter, which is made if there is none",
                                  kBatch, -4, kInserts.data(), kKeyPairs.data());
constexpr CommandInfo kRem = info("Takes items out of a counting filter, each by the id that it was added with", kBatch,
                                  -4, kDeletes.data(), kKeyPairs.data());
constexpr CommandInfo kCount =
    info("Tells how often items are in a counting filter", kBatch, -3, kReads.data(), kKeyItems.data());
constexpr CommandInfo kExists =
    info("Tells which items may be in a counting filter", kBatch, -3, kReads.data(), kKeyItems.data());
constexpr CommandInfo kInfo =
    info("Returns facts about a counting filter", "O(F), F sub-filters", 2, kReads.data(), kKeyOnly.data());
constexpr CommandInfo kScandump =
    info("Returns the next chunk of a counting filter", kChunk, 3, kReadsSeed.data(), kDumpArguments.data());
constexpr CommandInfo kLoadchunk =
    info("Restores a counting filter chunk by chunk", kChunk, 4, kCreates.data(), kLoadArguments.data());

constexpr std::array kCommands = {
    Command{"cbf.reserve", run<counting_reserve>, "write deny-oom fast", "cbf write fast", 1, &kReserve},
    Command{"cbf.add", run<counting_add>, "write deny-oom fast", "cbf write fast", 1, &kAdd},
    Command{"cbf.rem", run<counting_rem>, "write fast", "cbf write fast", 1, &kRem},
    Command{"cbf.count", run<counting_count>, "readonly fast", "cbf read fast", 1, &kCount},
    Command{"cbf.exists", run<counting_exists>, "readonly fast", "cbf read fast", 1, &kExists},
    Command{"cbf.info", run<counting_info>, "readonly fast", "cbf read fast", 1, &kInfo},
    Command{"cbf.scandump", run<image_scandump<CountingValue>>, "readonly", "cbf slow dangerous", 1, &kScandump},
    Command{"cbf.loadchunk", run<image_loadchunk<CountingValue>>, "write deny-oom", "cbf write slow", 1, &kLoadchunk},
};

}  // namespace

int register_counting(Context* context) noexcept {
  add_category(context, "cbf");
  const bool is_done = CountingType::register_type(context) == kOk &&
                       register_growing_configs(context, counting_defaults()) == kOk &&
                       register_commands(context, kCommands) == kOk;
  return is_done ? kOk : kError;
}

void add_counting_info(InfoState* info) noexcept { CountingType::add_info(info); }

}  // namespace mankai::redis
