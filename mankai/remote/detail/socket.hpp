#pragma once

#include <sys/socket.h>

#include <chrono>
#include <utility>

#include "mankai/base/error.hpp"
#include "mankai/remote/redis_address.hpp"

namespace mankai::detail {

using Deadline = std::chrono::steady_clock::time_point;

/// Owns a socket that never blocks.
class Socket {
 public:
  /// Connects to the address's host or unix socket. Errors: io; invalid_argument for a path that is too long.
  [[nodiscard]] static Result<Socket> connect(const RedisAddress& address, Deadline deadline);

  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// As poll(). Errors: io, also after the deadline.
  [[nodiscard]] Result<void> wait(short events, Deadline deadline) const;

 private:
  explicit Socket(int descriptor) noexcept : descriptor_(descriptor) {}

  [[nodiscard]] static Result<Socket> connect(int family, const sockaddr* address, socklen_t size, Deadline deadline);

  int descriptor_;
};

}  // namespace mankai::detail
