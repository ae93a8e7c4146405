#include <array>

#include "modules/redis/counting/commands.hpp"
#include "modules/redis/counting/value.hpp"
#include "modules/redis/engine/family.hpp"
#include "modules/redis/image/move.hpp"

namespace mankai::redis {
namespace {

constexpr std::array kPair = {argument("item", ArgumentKind::string), argument("id", ArgumentKind::integer), kEnd};
constexpr std::array kKeyPairs = {kKeyArgument,
                                  group("numbered-item", ArgumentKind::block, kArgumentMultiple, kPair.data()), kEnd};
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

MANKAI_DEFINE_FAMILY(counting) = {.name = "cbf",
                                  .category = "cbf",
                                  .type = type_of<CountingKey>,
                                  .commands = kCommands,
                                  .register_settings = [](Context* context) noexcept {
                                    return register_growing_configs(context, counting_defaults());
                                  }};

}  // namespace mankai::redis
