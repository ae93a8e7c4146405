#pragma once

/// Values that configs of the engine and arguments of the module set.
///
/// A value may be registered under several names, such as those of RedisBloom and of valkey-bloom: to set one of them
/// is to set the value. Threads: the engine's main thread. Settings must live as long as the module.

#include <span>

#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/redis_abi.hpp"

namespace mankai::redis {

struct IntegerSetting {
  long long initial;
  long long least;
  long long most;
  long long value = initial;

  [[nodiscard]] bool set(long long number) noexcept;
};

/// Above 0, below 1.
struct RateSetting {
  double initial;
  double most = 1;  ///< higher rates are lowered to this one
  double value = initial;
  String* text = nullptr;  ///< for CONFIG GET; null: not yet written

  [[nodiscard]] bool set(double rate, String* as_text) noexcept;
};

struct FlagSetting {
  bool initial;
  bool value = initial;
};

/// One of several names.
struct ChoiceSetting {
  std::span<const char* const> names;
  int initial;  ///< an index of `names`
  int value = initial;
};

/// Registers a config whose name begins with the module's name and a dot, and an argument of the module. Returns kOk or
/// kError.
[[nodiscard]] int register_setting(Context* context, const char* name, IntegerSetting& setting,
                                   unsigned flags = kConfigDefault) noexcept;
[[nodiscard]] int register_setting(Context* context, const char* name, RateSetting& setting,
                                   unsigned flags = kConfigDefault) noexcept;
[[nodiscard]] int register_setting(Context* context, const char* name, FlagSetting& setting,
                                   unsigned flags = kConfigDefault) noexcept;
[[nodiscard]] int register_setting(Context* context, const char* name, ChoiceSetting& setting) noexcept;

/// Registers a name of RedisBloom: on Redis 8 and later without the module's name, as RedisBloom does.
template <class Setting>
[[nodiscard]] int register_short_setting(Context* context, const char* name, Setting& setting) noexcept {
  // Builds from before the release of Redis 8 refuse the flag. Engines refuse to register a name in both forms.
  constexpr int kFirstUnprefixed = 0x00080000;
  const bool may_be_short = !engine.is_valkey && engine.get_server_version() >= kFirstUnprefixed;
  const bool is_done = may_be_short && register_setting(context, name, setting, kConfigUnprefixed) == kOk;
  return is_done ? kOk : register_setting(context, name, setting);
}

/// Sets all settings from the server's configuration, then from the arguments of the module: pairs of a setting's name,
/// or of an argument of RedisBloom 2, and a value. Returns kOk, or kError after logging the reason.
[[nodiscard]] int load_settings(const Call& arguments) noexcept;

/// The module's name: `bf`, which clients of RedisBloom and valkey-bloom look for, or what the argument NAME selects.
[[nodiscard]] const char* module_name(const Call& arguments) noexcept;

}  // namespace mankai::redis
