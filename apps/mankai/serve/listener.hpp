#pragma once

#include <string>

#include "apps/mankai/serve/http_server.hpp"

namespace mankai::command::serve {

struct Endpoint {
  std::string host;  ///< address or name; IPv6 without brackets
  std::string port;
};

/// Parses "127.0.0.1:8080", "[::1]:8080" or "localhost:8080"; port 0 is any free port. Errors: invalid_argument.
[[nodiscard]] Result<Endpoint> parse_endpoint(const std::string& text);

/// "127.0.0.1:8080", as in URLs.
[[nodiscard]] std::string to_text(const Endpoint& endpoint);

struct Listener {
  Descriptor socket;  ///< non-blocking
  Endpoint at;        ///< with the actual port
};

/// Errors: io if the address is not of this machine, or the port is in use or not permitted.
[[nodiscard]] Result<Listener> listen_at(const Endpoint& endpoint);

}  // namespace mankai::command::serve
