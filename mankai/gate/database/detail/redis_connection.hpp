#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"
#include "mankai/gate/database/redis_mirror.hpp"

// A connection to a Redis server, by hiredis.

namespace mankai::detail {

/// What a server answered.
class RedisReply {
 public:
  explicit RedisReply(redisReply* reply) noexcept : reply_(reply, freeReplyObject) {}

  /// Of a map of facts, as an array of names and values: the value of a name, as text or number.
  [[nodiscard]] std::optional<std::string_view> text_of(std::string_view name) const noexcept;
  [[nodiscard]] std::optional<std::uint64_t> number_of(std::string_view name) const noexcept;
  /// The text of an error, also of one in an array (of what a transaction did); empty for any other reply.
  [[nodiscard]] std::string_view error() const noexcept;

 private:
  [[nodiscard]] const redisReply* value_of(std::string_view name) const noexcept;

  std::unique_ptr<redisReply, void (*)(void*)> reply_;
};

/// One connection. No call of it raises SIGPIPE in a program that leaves the signal as it is.
///
/// Errors:  io when the server cannot be reached, is gone, or does not answer in time: the connection is of no use
/// then. Threads: one at a time.
class RedisConnection {
 public:
  /// Connects, signs on and chooses the database. Errors: also invalid_argument when the server does not let us in.
  [[nodiscard]] static Result<RedisConnection> open(const RedisAddress& address, Duration patience);

  /// One command. What the server answers may be an error of its own.
  [[nodiscard]] Result<RedisReply> call(std::span<const std::string_view> words);
  /// As call, where an error of the server's is one.
  [[nodiscard]] Result<RedisReply> must(std::span<const std::string_view> words);

 private:
  explicit RedisConnection(redisContext* context) noexcept : context_(context, redisFree) {}

  [[nodiscard]] std::unexpected<Error> broken() const;
  [[nodiscard]] Result<void> sign_on(const RedisAddress& address);

  std::unique_ptr<redisContext, void (*)(redisContext*)> context_;
};

/// A name of the key's slot, so that a value can be loaded under it and renamed to the key, also in a cluster.
[[nodiscard]] std::string name_beside(const std::string& key, const std::string& what);
/// Errors: invalid_argument for a key with a } without a { before it: no other key shares its slot.
[[nodiscard]] Result<void> check_has_names_beside(const std::string& key);

/// An error that the server replied with, as ours.
[[nodiscard]] std::unexpected<Error> refused_by_redis(std::string_view reply);

}  // namespace mankai::detail
