#pragma once

/// Filters in a server in place of files.

#include <string>
#include <string_view>

#include "apps/mankai/report.hpp"
#include "apps/mankai/subcommand.hpp"
#include "mankai/remote/remote_filter.hpp"

namespace mankai::command {

inline constexpr std::string_view kRemoteHelp =
    " Or a filter in a Redis server with Mankai's module: redis://[USER@]HOST[:PORT]/KEY[?shards=N], rediss:// for "
    "TLS, "
    "or unix:/PATH?key=KEY.";

/// Adds the password of MANKAI_REDIS_PASSWORD to an address that has none.
void add_password(RedisAddress& address);

/// Parses the address and opens the filter. Errors: as parse_remote_address and RemoteFilter::open.
[[nodiscard]] Result<RemoteFilter> open_remote(const std::string& text,
                                               const std::optional<RemoteCreation>& creation = {});

/// Adds type, keys, capacity and memory.
void add_facts(const RemoteFilter& filter, const RemoteFacts& facts, Report& report);

}  // namespace mankai::command
