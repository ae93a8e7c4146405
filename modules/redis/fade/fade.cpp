#include "modules/redis/fade/fade.hpp"

#include <array>

#include "modules/redis/engine/commands.hpp"
#include "modules/redis/engine/docs.hpp"
#include "modules/redis/fade/commands.hpp"
#include "modules/redis/fade/value.hpp"
#include "modules/redis/image/move.hpp"

namespace mankai::redis {
namespace {

constexpr std::array kReserveArguments = {
    kKeyArgument, kErrorRate, kCapacity, argument("slots", ArgumentKind::integer, kArgumentOptional, "SLOTS"),
    kHash,        kSeed,      kEnd};

constexpr const char* kItemsCost = "O(N), N items";

constexpr CommandInfo kReserve =
    info("Makes an empty filter that has forgotten half of its items when so many more have come", "O(1)", -4,
         kCreates.data(), kReserveArguments.data());
constexpr CommandInfo kPut =
    info("Puts items in, and tells which of them were not known", kItemsCost, -3, kUpdates.data(), kKeyItems.data());
constexpr CommandInfo kSeen =
    info("Tells which items were put recently", kItemsCost, -3, kReads.data(), kKeyItems.data());
constexpr CommandInfo kInfo =
    info("Returns facts about a filter that forgets", "O(1)", 2, kReads.data(), kKeyOnly.data());
constexpr CommandInfo kScandump = info("Returns the next piece of a filter that forgets", "O(N), N bytes of piece", 3,
                                       kReadsSeed.data(), kDumpArguments.data());
constexpr CommandInfo kLoadchunk = info("Restores a filter that forgets piece by piece", "O(N), N bytes of piece", 4,
                                        kCreates.data(), kLoadArguments.data());

constexpr std::array kCommands = {
    Command{"fade.reserve", run<fade_reserve>, "write deny-oom", "fade write slow", 1, &kReserve},
    // It takes no memory: the filter has all that it will ever have.
    Command{"fade.put", run<fade_put>, "write fast", "fade write fast", 1, &kPut},
    Command{"fade.seen", run<fade_seen>, "readonly fast", "fade read fast", 1, &kSeen},
    Command{"fade.info", run<fade_info>, "readonly fast", "fade read fast", 1, &kInfo},
    Command{"fade.scandump", run<image_scandump<FadeValue>>, "readonly", "fade slow dangerous", 1, &kScandump},
    Command{"fade.loadchunk", run<image_loadchunk<FadeValue>>, "write deny-oom", "fade write slow", 1, &kLoadchunk},
};

}  // namespace

int register_fade(Context* context) noexcept {
  add_category(context, "fade");
  const bool is_done =
      ImageType<FadeValue>::register_type(context) == kOk && register_commands(context, kCommands) == kOk;
  return is_done ? kOk : kError;
}

void add_fade_info(InfoState* info) noexcept { ImageType<FadeValue>::add_info(info); }

}  // namespace mankai::redis
