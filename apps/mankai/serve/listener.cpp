#include "apps/mankai/serve/listener.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <memory>

#include "mankai/base/number.hpp"

namespace mankai::command::serve {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* addresses) const noexcept { freeaddrinfo(addresses); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Result<Addresses> resolve(const Endpoint& endpoint) {
  addrinfo wish{};
  wish.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  wish.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(endpoint.host.c_str(), endpoint.port.c_str(), &wish, &found);
  if (failure != 0) {
    return fail(ErrorCode::io, "cannot listen on " + to_text(endpoint) + ": " + gai_strerror(failure));
  }
  return Addresses(found);
}

std::unexpected<Error> failure_at(const Endpoint& endpoint) {
  const int cause = errno;
  const std::string what = "cannot listen on " + to_text(endpoint);
  if (cause == EADDRINUSE) {
    return fail(ErrorCode::io, what + ": the port is taken by another program; give another one (--listen)");
  }
  if (cause == EACCES) {
    return fail(ErrorCode::io, what + ": ports below 1024 need privileges; give a higher one (--listen)");
  }
  return fail(ErrorCode::io, what, cause);
}

Result<Endpoint> name_of(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host.data(), host.size(), port.data(),
                  port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return fail(ErrorCode::io, "cannot tell where the service listens", errno);
  }
  return Endpoint{.host = host.data(), .port = port.data()};
}

}  // namespace

Result<Endpoint> parse_endpoint(const std::string& text) {
  constexpr unsigned kPortMax = 65535;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    return fail(ErrorCode::invalid_argument, "write an address and a port, such as 127.0.0.1:8080 or [::1]:8080");
  }
  Endpoint endpoint{.host = text.substr(0, colon), .port = text.substr(colon + 1)};
  if (to_number<unsigned>(endpoint.port).value_or(kPortMax + 1) > kPortMax) {
    return fail(ErrorCode::invalid_argument, "a port is a number from 0 to 65535");
  }
  if (endpoint.host.starts_with('[') && endpoint.host.ends_with(']')) {
    endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
  } else if (endpoint.host.find(':') != std::string::npos) {
    return fail(ErrorCode::invalid_argument, "an IPv6 address needs brackets, such as [::1]:8080");
  }
  return endpoint;
}

std::string to_text(const Endpoint& endpoint) {
  const bool is_ipv6 = endpoint.host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + endpoint.host + "]" : endpoint.host) + ":" + endpoint.port;
}

Result<Listener> listen_at(const Endpoint& endpoint) {
  constexpr int kBacklog = 1024;
  MANKAI_ASSIGN(auto addresses, resolve(endpoint));
  const addrinfo& address = *addresses;
  const int flags = static_cast<int>(SOCK_NONBLOCK) | static_cast<int>(SOCK_CLOEXEC);
  Descriptor socket(::socket(address.ai_family, address.ai_socktype | flags, address.ai_protocol));
  // Allows a restart before old connections time out; two processes still cannot share the port.
  const int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (socket.get() < 0 || bind(socket.get(), address.ai_addr, address.ai_addrlen) != 0 ||
      listen(socket.get(), kBacklog) != 0) {
    return failure_at(endpoint);
  }
  MANKAI_ASSIGN(auto at, name_of(socket.get()));
  return Listener{.socket = std::move(socket), .at = std::move(at)};
}

}  // namespace mankai::command::serve
