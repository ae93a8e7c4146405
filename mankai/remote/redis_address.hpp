#pragma once

/// Addresses of Redis and Valkey servers, and of filters in them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"

namespace mankai {

/// Address and credentials of a Redis server.
struct RedisAddress {
  std::string host = {};    ///< a name or an address; empty if `socket` is set
  std::string socket = {};  ///< path of a unix socket
  std::uint16_t port = 6379;
  std::uint32_t database = 0;
  std::string user = {};             ///< empty: the server's default user
  std::string password = {};         ///< empty: no password is sent
  bool has_tls = false;              ///< rediss://
  std::string ca_certificates = {};  ///< PEM file of the accepted authorities; empty: the system's
  std::string certificate = {};      ///< PEM file that the client shows; empty: none
  std::string certificate_key = {};  ///< PEM file of its private key

  friend bool operator==(const RedisAddress&, const RedisAddress&) = default;
};

/// Parses redis://[USER@]HOST[:PORT][/DATABASE], the same with rediss:// for TLS and
/// ?cacert=FILE&cert=FILE&certkey=FILE, or unix:/PATH. Errors: invalid_argument, also if there is a password.
[[nodiscard]] Result<RedisAddress> parse_redis_address(std::string_view text);

/// Formats an address as parse_redis_address reads it, without password and options.
[[nodiscard]] std::string to_text(const RedisAddress& address);

/// The families of commands that a filter can belong to: BF, CF, CBF, URL, HOT.
enum class RemoteType : std::uint8_t { bloom, cuckoo, counting, url, hot };

/// A filter in a server: one key, or one key per shard (docs/redis/shards.md).
struct RemoteAddress {
  static constexpr std::uint32_t kMaxShards = 4096;
  static constexpr std::uint32_t kMaxReplicas = 100;

  RedisAddress server;
  std::string key;
  std::uint32_t shards = 0;                     ///< 0: the filter is `key` itself; N: KEY{0} to KEY{N-1}
  Duration timeout = std::chrono::seconds(30);  ///< longest time without a reply before an error
  std::uint32_t wait = 0;                       ///< replicas that must acknowledge each write
  /// Not `hot`. An existing filter must be of this type.
  std::optional<RemoteType> type = {};
  // What a missing filter is created with. Unset: as the caller says.
  std::optional<std::uint64_t> keys = {};  ///< capacity, over all shards
  std::optional<double> fpr = {};
  std::optional<Duration> ttl = {};  ///< keys expire after this time

  friend bool operator==(const RemoteAddress&, const RemoteAddress&) = default;
};

/// Whether a text begins with redis://, rediss:// or unix:.
[[nodiscard]] constexpr bool is_remote_address(std::string_view text) noexcept {
  return text.starts_with("redis://") || text.starts_with("rediss://") || text.starts_with("unix:");
}

/// Parses redis://[USER[:PASSWORD]@]HOST[:PORT]/KEY[?OPTIONS], the same with rediss:// for TLS, or unix:/PATH?key=KEY.
/// OPTIONS are NAME=VALUE, separated by &: `shards`, `wait`, `type` (bf, cf, cbf or url), `keys`, `fpr`, `ttl` (bf,
/// cf), `timeout`, `db`, `user` (unix), `cacert`, `cert`, `certkey` (rediss). User, password, key, path and values may
/// contain %XX. Errors: invalid_argument; the text never contains the password.
[[nodiscard]] Result<RemoteAddress> parse_remote_address(std::string_view text);

/// Formats server and key for messages, without password and options.
[[nodiscard]] std::string to_text(const RemoteAddress& address);

}  // namespace mankai
