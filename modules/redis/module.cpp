#include <algorithm>

#include "modules/redis/engine/family.hpp"
#include "modules/redis/engine/layout.hpp"
#include "modules/redis/engine/memory.hpp"

namespace mankai::redis {
namespace {

constexpr const char* kModuleName = "mankai";

// Called for INFO and for crash reports, so it must not allocate.
void add_info(InfoState* info, int /*for_crash_report*/) noexcept {
  for (const Family* family : families()) {
    engine.info_add_section(info, family->name);
    engine.info_add_field_u_long_long(info, family->keys_name, family->type.alive());
  }
  engine.info_add_section(info, "memory");
  engine.info_add_field_u_long_long(info, "cells_bytes", engine_bytes_in_use());
  engine.info_add_field_u_long_long(info, "cells_moved", engine_blocks_moved());
}

int register_family(Context* context, const Family& family) noexcept {
  const bool is_done = family.type.register_types(context) == kOk &&
                       (family.register_settings == nullptr || family.register_settings(context) == kOk) &&
                       register_commands(context, family.category, family.commands) == kOk;
  return is_done ? kOk : kError;
}

bool do_all_take(const Call& arguments) noexcept {
  return std::ranges::all_of(families(), [&](const Family* family) {
    return family->read_arguments == nullptr || family->read_arguments(arguments) == kOk;
  });
}

int load(Context* context, const Call& arguments) noexcept {
  engine.set_module_options(context, kHandleIoErrors | kNoImplicitSignalModified | kHandleReplAsyncLoad);
  const auto is_registered = [&](const Family* family) { return register_family(context, *family) == kOk; };
  const bool is_ready = register_memory_config(context) == kOk && register_layout_configs(context) == kOk &&
                        std::ranges::all_of(families(), is_registered) && engine.load_configs(context) == kOk &&
                        do_all_take(arguments) && engine.register_info_func(context, add_info) == kOk;
  return is_ready ? kOk : kError;
}

}  // namespace
}  // namespace mankai::redis

// The engine calls it when it loads the module. The arguments are those after the path of the module's file.
// NOLINTNEXTLINE(readability-identifier-naming): the engine looks for this name
extern "C" [[gnu::visibility("default")]] int RedisModule_OnLoad(mankai::redis::Context* context,
                                                                 mankai::redis::String** arguments, int count) {
  using namespace mankai::redis;
  const char* missing = bind_engine(context);
  if (engine.set_module_attribs == nullptr || engine.log == nullptr) {
    return kError;
  }
  engine.set_module_attribs(context, kModuleName, MANKAI_MODULE_VERSION, kApiVersion);
  if (missing != nullptr) {
    engine.log(context, "warning", "mankai needs Redis 7.0 or later: %s is missing", missing);
    return kError;
  }
  return load(context, Call(context, arguments, count));
}
