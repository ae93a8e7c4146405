#include "modules/redis/engine/commands.hpp"

namespace mankai::redis {

void add_category(Context* context, const char* name) noexcept {
  if (engine.add_acl_category != nullptr) {
    // Fails where the engine has it already.
    static_cast<void>(engine.add_acl_category(context, name));
  }
}

int register_commands(Context* context, std::span<const Command> commands) noexcept {
  for (const Command& command : commands) {
    if (engine.create_command(context, command.name, command.function, command.flags, 1, command.last_key, 1) != kOk) {
      engine.log(context, "warning", "the command %s is there already: is another module of filters loaded?",
                 command.name);
      return kError;
    }
    CommandHandle* handle = engine.get_command(context, command.name);
    if (engine.set_command_info(handle, command.info) != kOk) {
      engine.log(context, "warning", "the engine refuses the description of %s", command.name);
      return kError;
    }
    if (engine.set_command_acl_categories != nullptr &&
        engine.set_command_acl_categories(handle, command.categories) != kOk) {
      engine.log(context, "warning", "the engine refuses the ACL categories of %s", command.name);
      return kError;
    }
  }
  return kOk;
}

}  // namespace mankai::redis
