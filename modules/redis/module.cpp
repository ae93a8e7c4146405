#include <algorithm>

#include "modules/redis/engine/family.hpp"
#include "modules/redis/engine/layout.hpp"
#include "modules/redis/engine/memory.hpp"
#include "modules/redis/engine/settings.hpp"

namespace mankai::redis {
namespace {

// Clients compare it with RedisBloom's versions, so it is the version of RedisBloom whose replies and errors the
// families give, in RedisBloom's encoding: 8.8.0. INFO has our own version.
constexpr int kContractVersion = 8'08'00;

// Called for INFO and for crash reports, so it must not allocate.
void add_info(InfoState* info, int /*for_crash_report*/) noexcept {
  engine.info_add_section(info, "mankai");
  engine.info_add_field_c_string(info, "mankai_version", MANKAI_VERSION);
  for (const Family* family : families()) {
    engine.info_add_section(info, family->name);
    engine.info_add_field_u_long_long(info, family->keys_name, family->type.alive());
  }
  engine.info_add_section(info, "memory");
  engine.info_add_field_u_long_long(info, "cells_bytes", engine_bytes_in_use());
  engine.info_add_field_u_long_long(info, "cells_moved", engine_blocks_moved());
}

int register_family(Context* context, const Family& family) noexcept {
  if (family.type.register_types(context) != kOk) {
    engine.log(context, "warning", "the engine refuses the type of %s: is this module loaded already?", family.name);
    return kError;
  }
  const bool is_done = (family.register_settings == nullptr || family.register_settings(context) == kOk) &&
                       register_commands(context, family.category, family.commands) == kOk;
  return is_done ? kOk : kError;
}

int load(Context* context, const Call& arguments) noexcept {
  const int of_valkey = engine.is_valkey ? kHandleAtomicSlotMigration : 0;
  engine.set_module_options(context, kHandleIoErrors | kNoImplicitSignalModified | kHandleReplAsyncLoad | of_valkey);
  const auto is_registered = [&](const Family* family) { return register_family(context, *family) == kOk; };
  const bool is_ready = register_memory_configs(context) == kOk && register_layout_configs(context) == kOk &&
                        std::ranges::all_of(families(), is_registered) && load_settings(arguments) == kOk &&
                        engine.register_info_func(context, add_info) == kOk;
  return is_ready ? kOk : kError;
}

}  // namespace
}  // namespace mankai::redis

// The engine calls it when it loads the module. The arguments are those after the path of the module's file.
extern "C" [[gnu::visibility("default")]] int RedisModule_OnLoad(mankai::redis::Context* context,
                                                                 mankai::redis::String** arguments, int count) {
  using namespace mankai::redis;
  const char* missing = bind_engine(context);
  if (engine.log == nullptr) {
    return kError;
  }
  if (missing != nullptr) {
    engine.log(context, "warning", "mankai needs Redis 7.0 or later: %s is missing", missing);
    return kError;
  }
  const Call call(context, arguments, count);
  const char* name = module_name(call);
  if (engine.is_module_name_busy(name) != 0) {
    engine.log(context, "warning", "a module named %s is loaded already", name);
    return kError;
  }
  engine.set_module_attribs(context, name, kContractVersion, kApiVersion);
  return load(context, call);
}
