#pragma once

#include <span>

#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/docs.hpp"
#include "modules/redis/engine/guard.hpp"
#include "modules/redis/engine/redis_abi.hpp"

namespace mankai::redis {

/// A row of a family's table. The engine's key positions and ACL categories are derived from it.
struct Command {
  const char* name;
  CommandFunction function;
  const char* flags;  ///< as CreateCommand takes them
  CommandInfo info;
};

/// The engine's callback of a command: checks the arity, does the work, and replies with an error if memory is
/// exhausted. The engine checks the arity, too, except for AOF files.
template <int Arity, Answer (*Work)(Call&)>
int run(Context* context, String** arguments, int count) noexcept {
  Call call(context, arguments, count);
  if (Arity < 0 ? count < -Arity : count != Arity) {
    return call.wrong_arity();
  }
  const auto answer = [&] {
    const Answer answered = Work(call);
    return answered ? *answered : call.error(answered.error().detail.c_str());
  };
  return guarded(answer, [&] { return call.error(kNoMemory); });
}

/// Makes a row. Arity counts the command's name; if negative, it is a minimum. Lists end with an empty element.
template <int Arity, Answer (*Work)(Call&)>
constexpr Command command(const char* name, const char* flags, const char* summary, const char* complexity,
                          std::span<const KeySpec> keys, std::span<const CommandArgument> arguments) {
  return {.name = name,
          .function = run<Arity, Work>,
          .flags = flags,
          .info = {.version = &kInfoVersion,
                   .summary = summary,
                   .complexity = complexity,
                   .since = kSince,
                   .history = nullptr,
                   .tips = nullptr,
                   .arity = Arity,
                   .key_specs = keys.data(),
                   .arguments = arguments.data()}};
}

/// Returns kOk, or kError after logging the reason. Engines without ACL categories ignore the category.
[[nodiscard]] int register_commands(Context* context, const char* category, std::span<const Command> commands) noexcept;

}  // namespace mankai::redis
