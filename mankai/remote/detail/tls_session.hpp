#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/remote/redis_address.hpp"

namespace mankai::detail {

/// A TLS client between two byte streams in memory: the caller moves the encrypted bytes, so that no call waits or
/// raises SIGPIPE.
class TlsSession {
 public:
  /// Errors: invalid_argument for certificate files that cannot be read.
  [[nodiscard]] static Result<std::unique_ptr<TlsSession>> create(const RedisAddress& address);

  /// Continues the handshake; returns whether it is complete. Errors: io, with the reason.
  [[nodiscard]] Result<bool> shake_hands();
  [[nodiscard]] Result<void> encrypt(std::string_view plain);
  void add_received(std::string_view encrypted);
  /// Returns the number of decrypted bytes; 0 if more must be received. Errors: io at the end of the session.
  [[nodiscard]] Result<std::size_t> decrypt(std::span<char> room);
  /// Appends bytes that must be sent.
  void take_output(std::string& encrypted);

 private:
  TlsSession(SSL_CTX* context, SSL* session) noexcept : context_(context, SSL_CTX_free), session_(session, SSL_free) {}

  [[nodiscard]] std::unexpected<Error> broken(int code) const;

  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  std::unique_ptr<SSL, void (*)(SSL*)> session_;
};

}  // namespace mankai::detail
