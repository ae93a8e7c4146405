#include "modules/redis/gate/gate.hpp"

#include <array>

#include "modules/redis/engine/commands.hpp"
#include "modules/redis/engine/docs.hpp"
#include "modules/redis/gate/commands.hpp"
#include "modules/redis/gate/value.hpp"
#include "modules/redis/image/move.hpp"

namespace mankai::redis {
namespace {

constexpr std::array kAsked = {kKeyArgument, argument("position", ArgumentKind::string), kItems, kEnd};
constexpr std::array kChanges = {kKeyArgument,
                                 argument("source", ArgumentKind::string),
                                 argument("from", ArgumentKind::string),
                                 argument("from_mark", ArgumentKind::string),
                                 argument("to", ArgumentKind::string),
                                 argument("to_mark", ArgumentKind::string),
                                 argument("inserted", ArgumentKind::integer),
                                 argument("item", ArgumentKind::string, kArgumentMultiple | kArgumentOptional),
                                 kEnd};

constexpr CommandInfo kMaybe = info("Tells for which items the database may have a row; for all before a position",
                                    "O(N), N items", -4, kReads.data(), kAsked.data());
constexpr CommandInfo kApply = info("Puts items into a gate and takes others out, if it stands at a position",
                                    "O(N), N items", -8, kUpdates.data(), kChanges.data());
constexpr CommandInfo kInfo = info("Returns facts about a gate", "O(1)", 2, kReads.data(), kKeyOnly.data());
constexpr CommandInfo kLoadchunk =
    info("Loads a gate piece by piece", "O(N), N bytes of piece", 4, kCreates.data(), kLoadArguments.data());

constexpr std::array kCommands = {
    Command{"gate.maybe", run<gate_maybe>, "readonly fast", "gate read fast", 1, &kMaybe},
    // It takes no memory: the filter has all that it will ever have.
    Command{"gate.apply", run<gate_apply>, "write fast", "gate write fast", 1, &kApply},
    Command{"gate.info", run<gate_info>, "readonly fast", "gate read fast", 1, &kInfo},
    Command{"gate.loadchunk", run<image_loadchunk<GateValue>>, "write deny-oom", "gate write slow", 1, &kLoadchunk},
};

}  // namespace

int register_gate(Context* context) noexcept {
  add_category(context, "gate");
  const bool is_done =
      ImageType<GateValue>::register_type(context) == kOk && register_commands(context, kCommands) == kOk;
  return is_done ? kOk : kError;
}

void add_gate_info(InfoState* info) noexcept { ImageType<GateValue>::add_info(info); }

}  // namespace mankai::redis
