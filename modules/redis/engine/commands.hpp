#pragma once

/// Registration of commands: a table per family.

#include <span>

#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/docs.hpp"
#include "modules/redis/engine/guard.hpp"
#include "modules/redis/engine/redis_abi.hpp"

namespace mankai::redis {

/// A row of a family's table. The keys of a command and its ACL categories follow from it.
struct Command {
  const char* name;
  CommandFunction function;
  const char* flags;  ///< as CreateCommand takes them
  CommandInfo info;
};

/// What the engine calls for a command: the work, and an error reply where there is no memory for it. The engine checks
/// the number of arguments too, but not of those in an AOF file.
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

/// Makes a row. Arity counts the command's name; below 0 it is the least. `keys` and `arguments` end with an empty one.
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

/// Registers the commands, in an ACL category where the engine has these. Returns kOk, or kError after it has been
/// logged why.
[[nodiscard]] int register_commands(Context* context, const char* category, std::span<const Command> commands) noexcept;

}  // namespace mankai::redis
