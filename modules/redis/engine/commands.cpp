#include "modules/redis/engine/commands.hpp"

#include <string>
#include <string_view>

namespace mankai::redis {
namespace {

bool has_flag(const Command& command, std::string_view flag) noexcept {
  return std::string_view(command.flags).find(flag) != std::string_view::npos;
}

// Commands that change nothing and still need write permission reveal a filter's seed (kReadsSeed).
std::string categories_of(const Command& command, const char* category) {
  const bool is_read = has_flag(command, "readonly");
  const bool is_dangerous = is_read && (command.info.key_specs->flags & kKeyReadOnly) == 0;
  return std::string(category) +
         (is_dangerous ? " dangerous"
          : is_read    ? " read"
                       : " write") +
         (has_flag(command, "fast") ? " fast" : " slow");
}

// The first key is argument 1, and keys are consecutive; -1: to the end. Keys behind their number are in the spec only.
int last_key(const Command& command) noexcept {
  int last = 1;
  for (const KeySpec* keys = command.info.key_specs; keys->begin_kind != 0; ++keys) {
    last = keys->find_kind == kFindRange && keys->find.range.last_key < 0 ? -1 : last;
  }
  return last;
}

int failed(Context* context, const char* why, const Command& command) noexcept {
  engine.log(context, "warning", why, command.name);
  return kError;
}

int register_command(Context* context, const Command& command, const char* category) {
  if (engine.create_command(context, command.name, command.function, command.flags, 1, last_key(command), 1) != kOk) {
    return failed(context, "the command %s is there already: is another module of filters loaded?", command);
  }
  CommandHandle* handle = engine.get_command(context, command.name);
  if (engine.set_command_info(handle, &command.info) != kOk) {
    return failed(context, "the engine refuses the description of %s", command);
  }
  if (engine.set_command_acl_categories != nullptr &&
      engine.set_command_acl_categories(handle, categories_of(command, category).c_str()) != kOk) {
    return failed(context, "the engine refuses the ACL categories of %s", command);
  }
  return kOk;
}

}  // namespace

int register_commands(Context* context, const char* category, std::span<const Command> commands) noexcept {
  if (engine.add_acl_category != nullptr) {
    // Fails if the category exists.
    static_cast<void>(engine.add_acl_category(context, category));
  }
  for (const Command& command : commands) {
    const int done = guarded([&] { return register_command(context, command, category); }, [] { return kError; });
    if (done != kOk) {
      return kError;
    }
  }
  return kOk;
}

}  // namespace mankai::redis
