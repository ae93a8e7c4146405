#pragma once

/// How a family tells the engine of its commands: one table each.

#include <span>

#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/guard.hpp"
#include "modules/redis/engine/redis_abi.hpp"

namespace mankai::redis {

/// A row of a family's table.
struct Command {
  const char* name;
  CommandFunction function;
  const char* flags;       ///< as CreateCommand takes them
  const char* categories;  ///< of ACLs, where the engine can
  int last_key;            ///< the first key is argument 1, and keys follow each other; -1: to the end
  const CommandInfo* info;
};

/// What the engine calls for a command: the work, and an error reply where there is no memory for it.
template <int (*Work)(Call&)>
int run(Context* context, String** arguments, int count) noexcept {
  Call call(context, arguments, count);
  return guarded([&] { return Work(call); }, [&] { return call.error(kNoMemory); });
}

/// Makes a category of ACLs, where the engine can and has not one of that name.
void add_category(Context* context, const char* name) noexcept;

/// Returns kOk, or kError after it has been logged which command there is already.
[[nodiscard]] int register_commands(Context* context, std::span<const Command> commands) noexcept;

}  // namespace mankai::redis
