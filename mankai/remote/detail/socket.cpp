#include "mankai/remote/detail/socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

namespace mankai::detail {
namespace {

std::unexpected<Error> no_connection(int error) { return fail(ErrorCode::io, "no connection", error); }

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

Result<Socket> Socket::connect(const RedisAddress& address, Deadline deadline) {
  if (!address.socket.empty()) {
    sockaddr_un path{};
    path.sun_family = AF_UNIX;
    if (address.socket.size() >= sizeof(path.sun_path)) {
      return fail(ErrorCode::invalid_argument, "the path of a socket has at most 107 bytes");
    }
    std::memcpy(path.sun_path, address.socket.data(), address.socket.size());
    // NOLINTNEXTLINE(*-reinterpret-cast): the interface of sockets
    return connect(AF_UNIX, reinterpret_cast<const sockaddr*>(&path), sizeof(path), deadline);
  }
  addrinfo wanted{};
  wanted.ai_flags = AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  if (const int error = ::getaddrinfo(address.host.c_str(), port.c_str(), &wanted, &found); error != 0) {
    return fail(ErrorCode::io, "no connection: " + std::string(::gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, ::freeaddrinfo);
  Result<Socket> connected = no_connection(EHOSTUNREACH);
  for (const addrinfo* next = found; next != nullptr && !connected; next = next->ai_next) {
    connected = connect(next->ai_family, next->ai_addr, next->ai_addrlen, deadline);
  }
  return connected;
}

Result<Socket> Socket::connect(int family, const sockaddr* address, socklen_t size, Deadline deadline) {
  Socket socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int descriptor = socket.descriptor();
  if (descriptor < 0) {
    return no_connection(errno);
  }
  if (::connect(descriptor, address, size) != 0) {
    if (errno != EINPROGRESS) {
      return no_connection(errno);
    }
    MANKAI_TRY(socket.wait(POLLOUT, deadline));
    int error = 0;
    socklen_t error_size = sizeof(error);
    if (::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &error_size) != 0 || error != 0) {
      return no_connection(error == 0 ? errno : error);
    }
  }
  const int on = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));  // fails for unix sockets, which need none
  return socket;
}

Result<void> Socket::wait(short events, Deadline deadline) const {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) {
      return fail(ErrorCode::io, "no answer in time");
    }
    pollfd waited{.fd = descriptor_, .events = events, .revents = 0};
    const int ready = ::poll(&waited, 1, static_cast<int>(std::min<std::int64_t>(left, INT32_MAX)));
    if (ready > 0) {
      return {};
    }
    if (ready < 0 && errno != EINTR) {
      return no_connection(errno);
    }
  }
}

}  // namespace mankai::detail
