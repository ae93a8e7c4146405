#include "modules/redis/bloom/config.hpp"
#include "modules/redis/bloom/docs.hpp"
#include "modules/redis/bloom/type.hpp"
#include "modules/redis/counting/counting.hpp"
#include "modules/redis/engine/memory.hpp"
#include "modules/redis/fade/fade.hpp"
#include "modules/redis/gate/gate.hpp"
#include "modules/redis/guard/guard.hpp"
#include "modules/redis/hot/hot.hpp"
#include "modules/redis/url/url.hpp"

namespace mankai::redis {
namespace {

constexpr const char* kModuleName = "mankai";

// Called for INFO, and when the server reports a crash: nothing is allocated here.
void add_info(InfoState* info, int /*for_crash_report*/) noexcept {
  BloomType::add_info(info);
  add_counting_info(info);
  add_url_info(info);
  add_hot_info(info);
  add_fade_info(info);
  add_guard_info(info);
  add_gate_info(info);
  engine.info_add_section(info, "memory");
  engine.info_add_field_u_long_long(info, "cells_bytes", engine_bytes_in_use());
  engine.info_add_field_u_long_long(info, "cells_moved", engine_blocks_moved());
}

int register_bloom(Context* context) noexcept {
  add_category(context, "bloom");
  const bool is_done = BloomType::register_type(context) == kOk && register_bloom_configs(context) == kOk &&
                       register_commands(context, bloom_commands()) == kOk;
  return is_done ? kOk : kError;
}

int load(Context* context, const Call& arguments) noexcept {
  engine.set_module_options(context, kHandleIoErrors | kNoImplicitSignalModified | kHandleReplAsyncLoad);
  const bool are_there = register_memory_config(context) == kOk && register_bloom(context) == kOk &&
                         register_counting(context) == kOk && register_url(context) == kOk &&
                         register_hot(context) == kOk && register_fade(context) == kOk &&
                         register_guard(context) == kOk && register_gate(context) == kOk;
  const bool is_ready = are_there && engine.load_configs(context) == kOk && read_bloom_arguments(arguments) == kOk &&
                        engine.register_info_func(context, add_info) == kOk;
  return is_ready ? kOk : kError;
}

}  // namespace
}  // namespace mankai::redis

// What the engine calls when it loads the module; the arguments are those behind the path of the file.
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
