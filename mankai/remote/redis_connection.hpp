#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"
#include "mankai/remote/redis_address.hpp"
#include "mankai/remote/redis_reply.hpp"

namespace mankai {

namespace detail {
class Socket;
class TlsSession;
}  // namespace detail

/// One connection to a Redis server, over TCP, TLS or a unix socket, whose calls never raise SIGPIPE. `call` waits for
/// each reply. For pipelining, `append` requests, and alternate `write_some`, `read_some` and `next`, which never wait.
///
/// TLS accepts certificates of the given authorities for the address's host name only.
/// Errors:  io if the server cannot be reached, is gone, or does not reply in time; corrupt if it sends something else
///          than replies. The connection is unusable then.
/// Threads: one at a time.
class RedisConnection {
 public:
  /// Connects, authenticates and selects the database. Errors: also invalid_argument if the server refuses access, or
  /// for certificates that cannot be read.
  [[nodiscard]] static Result<RedisConnection> open(const RedisAddress& address, Duration patience);
  RedisConnection(RedisConnection&& other) noexcept;
  RedisConnection& operator=(RedisConnection&& other) noexcept;
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;
  ~RedisConnection();

  /// Runs one command. The reply may be an error of the server. Pre: nothing else is outstanding.
  [[nodiscard]] Result<RedisReply> call(std::span<const std::string_view> words);
  /// As call, but fails if the reply is an error.
  [[nodiscard]] Result<RedisReply> must(std::span<const std::string_view> words);

  /// Returns the number of bytes appended so far, this request included.
  std::uint64_t append(std::string_view request);
  /// Number of bytes that were passed to the system. A request that ends after them has not been run.
  [[nodiscard]] std::uint64_t written() const noexcept { return written_; }
  [[nodiscard]] bool wants_write() const noexcept;
  [[nodiscard]] Result<void> write_some();
  /// Reads at most 256 KiB, so that replies are taken as they arrive.
  [[nodiscard]] Result<void> read_some();
  [[nodiscard]] Result<std::optional<RedisReply>> next(std::size_t max_bytes = kMaxReplyBytes) {
    return reader_.next(max_bytes);
  }
  /// For poll().
  [[nodiscard]] int descriptor() const noexcept;

 private:
  RedisConnection(detail::Socket socket, Duration patience);

  [[nodiscard]] Result<void> begin_tls(const RedisAddress& address, std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] Result<void> sign_on(const RedisAddress& address);
  [[nodiscard]] Result<void> send(std::string& bytes, std::size_t& sent) const;
  /// Returns the number of bytes received; 0 if there are none now.
  [[nodiscard]] Result<std::size_t> receive(std::span<char> room) const;
  [[nodiscard]] Result<void> feed_decrypted(std::string_view bytes);

  std::unique_ptr<detail::Socket> socket_;
  Duration patience_;
  std::unique_ptr<detail::TlsSession> tls_;
  RedisReplyReader reader_;
  std::string output_;  // plain bytes
  std::size_t output_sent_ = 0;
  std::string encrypted_;
  std::size_t encrypted_sent_ = 0;
  std::uint64_t appended_ = 0;
  std::uint64_t written_ = 0;
  std::unique_ptr<char[]> room_;
};

/// The error for an error reply: invalid_argument if a retry cannot succeed, else io.
[[nodiscard]] std::unexpected<Error> refused_by_redis(std::string_view reply);

}  // namespace mankai
