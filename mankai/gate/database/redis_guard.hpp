#pragma once

/// Loads a guard into a Redis or Valkey server with the module of this project (docs/redis/guard.md).
///
///     auto address = mankai::parse_redis_address("redis://10.0.0.5:6379");
///     auto loaded = mankai::load_guard_into_redis({.address = *address, .key = "lists"}, guard.to_bytes());

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"
#include "mankai/remote/redis_address.hpp"

namespace mankai {

/// Settings of a load.
struct RedisGuardSettings {
  RedisAddress address;
  std::string key;
  Duration patience = std::chrono::seconds(30);  ///< per reply; the server checks the guard before the last one
};

/// Loads under a temporary name, {KEY}:load-NUMBER, in pieces of 1 MiB, and renames that to the key. Readers see the
/// old guard or the whole new one, which replaces everything in the key, including rules that commands added.
/// Concurrent loads do not mix; the last one wins. `sent`, if given, receives the number of bytes sent so far.
///
/// Errors: the key stays unchanged; the loaded part is deleted, or expires after ten minutes. invalid_argument for a
/// key of another type, or with a } without a { before it, a server without the module, and a user without permission;
/// io; corrupt if the server finds the bytes damaged.
[[nodiscard]] Result<void> load_guard_into_redis(const RedisGuardSettings& settings, std::span<const std::byte> guard,
                                                 const std::function<void(std::uint64_t)>& sent = {});

}  // namespace mankai
