#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "apps/mankai/subcommand.hpp"
#include "mankai/gate/database/redis_mirror.hpp"

namespace mankai::command {

inline constexpr std::string_view kRedisAddressHelp =
    "A Redis server with Mankai's module: redis://[USER@]HOST[:PORT][/DATABASE], the same with rediss:// for TLS and "
    "?cacert=FILE&cert=FILE&certkey=FILE, or unix:/PATH. The password is taken from MANKAI_REDIS_PASSWORD in the "
    "environment.";

// Parses a server's address; the password comes from the environment. Errors: invalid_argument.
[[nodiscard]] Result<RedisAddress> redis_address(std::string_view text, std::string_view option);

struct MirrorRequest {
  std::string address;
  std::string key;
};

[[nodiscard]] Options mirror_options(MirrorRequest& request);

// Returns nothing without --mirror. Errors: invalid_argument.
[[nodiscard]] Result<std::optional<RedisMirrorSettings>> mirror_settings(const MirrorRequest& request);

// Returns the server and key for messages.
[[nodiscard]] std::string mirror_name(const RedisMirrorSettings& settings);

}  // namespace mankai::command
