#pragma once

#include <cstdint>
#include <string>

#include "mankai/guard/guard_file.hpp"
#include "mankai/remote/redis_address.hpp"

namespace mankai::command {

/// Loads a guard into a key of a server, and returns its size. Shows progress. Errors: as load_guard_into_redis.
[[nodiscard]] Result<std::uint64_t> load_into_server(const Guard& guard, const RedisAddress& server,
                                                     const std::string& key);

}  // namespace mankai::command
