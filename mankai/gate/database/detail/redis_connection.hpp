#pragma once

#include <hiredis/hiredis.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"
#include "mankai/gate/database/redis_mirror.hpp"

namespace mankai::detail {

/// One piece of a load blocks other clients for less than a millisecond.
inline constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;
/// An abandoned load expires after this time, which restarts every kBytesWithinLife bytes.
inline constexpr std::string_view kLoadLives = "600000";  // milliseconds
inline constexpr std::size_t kBytesWithinLife = std::size_t{64} << 20U;

class RedisReply {
 public:
  explicit RedisReply(redisReply* reply) noexcept : reply_(reply, freeReplyObject) {}

  /// The value of a name in a map, which is an array of names and values; as text or number.
  [[nodiscard]] std::optional<std::string_view> text_of(std::string_view name) const noexcept;
  [[nodiscard]] std::optional<std::uint64_t> number_of(std::string_view name) const noexcept;
  /// The text of an error, also of the first one in an array (the result of a transaction); empty for other replies.
  [[nodiscard]] std::string_view error() const noexcept;

 private:
  [[nodiscard]] const redisReply* value_of(std::string_view name) const noexcept;

  std::unique_ptr<redisReply, void (*)(void*)> reply_;
};

/// One connection, whose calls never raise SIGPIPE. Errors: io if the server cannot be reached, is gone, or does not
/// reply in time: the connection is unusable then. Threads: one at a time.
class RedisConnection {
 public:
  /// Connects, authenticates and selects the database. Errors: also invalid_argument if the server refuses access.
  [[nodiscard]] static Result<RedisConnection> open(const RedisAddress& address, Duration patience);

  /// Runs one command. The reply may be an error of the server.
  [[nodiscard]] Result<RedisReply> call(std::span<const std::string_view> words);
  /// As call, but fails if the reply is an error.
  [[nodiscard]] Result<RedisReply> must(std::span<const std::string_view> words);

 private:
  explicit RedisConnection(redisContext* context) noexcept : context_(context, redisFree) {}

  [[nodiscard]] std::unexpected<Error> broken() const;
  [[nodiscard]] Result<void> sign_on(const RedisAddress& address);

  std::unique_ptr<redisContext, void (*)(redisContext*)> context_;
};

/// Returns a name in the same cluster slot as the key: a value can be loaded under it and renamed to the key.
[[nodiscard]] std::string name_beside(const std::string& key, const std::string& what);
/// Errors: invalid_argument for a key with a } without a { before it: no other key can share its slot.
[[nodiscard]] Result<void> check_has_names_beside(const std::string& key);

[[nodiscard]] std::unexpected<Error> refused_by_redis(std::string_view reply);

}  // namespace mankai::detail
