#pragma once

#include <string>
#include <string_view>

#include "apps/mankai/serve/http_server.hpp"

namespace mankai::command::serve {

/// Where to listen.
struct Endpoint {
  std::string host;  ///< an address or a name; IPv6 without brackets
  std::string port;
};

/// Reads "127.0.0.1:8080", "[::1]:8080" or "localhost:8080"; port 0 is any that is free.
/// Errors: invalid_argument.
[[nodiscard]] Result<Endpoint> parse_endpoint(const std::string& text);

/// "127.0.0.1:8080", as in URLs.
[[nodiscard]] std::string to_text(const Endpoint& endpoint);

struct Listener {
  Descriptor socket;  ///< does not block
  Endpoint at;        ///< with the number of the port
};

/// Begins to listen. Errors: io, where the address is none of ours, the port is taken or may not be had.
[[nodiscard]] Result<Listener> listen_at(const Endpoint& endpoint);

}  // namespace mankai::command::serve
