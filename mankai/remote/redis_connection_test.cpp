#include "mankai/remote/redis_connection.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

namespace {

/// After so many bytes `send` fails, as if the connection had broken.
std::optional<std::size_t> breaks_after;

}  // namespace

// Instead of the system's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" ssize_t send(int descriptor, const void* bytes, std::size_t size, int flags) {
  if (breaks_after && *breaks_after == 0) {
    errno = ECONNRESET;
    return -1;
  }
  const std::size_t some = std::min(size, breaks_after.value_or(size));
  const ssize_t sent = ::sendto(descriptor, bytes, some, flags, nullptr, 0);
  if (breaks_after && sent > 0) {
    *breaks_after -= static_cast<std::size_t>(sent);
  }
  return sent;
}

namespace mankai {
namespace {

// What was passed to the system before an error may have been run.
TEST(RedisConnectionTest, bytes_before_an_error_are_written) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(place);
  // NOLINTBEGIN(*-reinterpret-cast): the interface of sockets
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&place), size), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&place), &size), 0);
  // NOLINTEND(*-reinterpret-cast)
  RedisAddress address;
  address.host = "127.0.0.1";
  address.port = ntohs(place.sin_port);
  auto connection = RedisConnection::open(address, std::chrono::seconds(60));
  ASSERT_TRUE(connection) << connection.error().message();

  const std::uint64_t first = connection->append("first");
  const std::uint64_t second = connection->append("second");
  breaks_after = first;
  EXPECT_FALSE(connection->write_some());
  breaks_after.reset();
  EXPECT_LE(first, connection->written());
  EXPECT_GT(second, connection->written());
  ::close(listener);
}

}  // namespace
}  // namespace mankai
