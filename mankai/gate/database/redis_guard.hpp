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
#include "mankai/gate/database/redis_mirror.hpp"

namespace mankai {

/// What to load where.
struct RedisGuardSettings {
  RedisAddress address;
  std::string key;
  Duration patience = std::chrono::seconds(30);  ///< for each answer of the server: the last one checks the guard
};

/// Sends the bytes of a guard in pieces of a mebibyte to a name beside the key, {KEY}:load-NUMBER, and renames it to
/// the key when it is whole: readers see the old guard until then, and the whole new one after it. The new guard
/// replaces everything in the key, also the rules that commands added. Loads beside each other do not mix; the last one
/// wins.
///
/// `sent`, where it is given, is called with the number of bytes sent so far.
///
/// Errors: the key stays as it was. What was loaded is deleted, or expires after ten minutes where the server cannot be
/// reached. invalid_argument for a key that holds another type, or has a } without a { before it, a server without the
/// module, and a user without permission; io; corrupt when the server finds the bytes damaged.
[[nodiscard]] Result<void> load_guard_into_redis(const RedisGuardSettings& settings, std::span<const std::byte> guard,
                                                 const std::function<void(std::uint64_t)>& sent = {});

}  // namespace mankai
