#include "apps/mankai/serve/notify.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace mankai::command::serve {

ServiceManager::ServiceManager() {
  // Called once, before there are threads. NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (const char* name = std::getenv("NOTIFY_SOCKET"); name != nullptr) {
    socket_ = name;
  }
  if (socket_.starts_with('@')) {
    socket_[0] = '\0';
  }
}

void ServiceManager::tell(std::string_view lines) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof(address.sun_path)) {
    return;
  }
  const int descriptor = socket(AF_UNIX, static_cast<int>(SOCK_DGRAM) | static_cast<int>(SOCK_CLOEXEC), 0);
  if (descriptor < 0) {
    return;
  }
  std::memcpy(static_cast<char*>(address.sun_path), socket_.data(), socket_.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  static_cast<void>(sendto(descriptor, lines.data(), lines.size(), MSG_NOSIGNAL,
                           reinterpret_cast<const sockaddr*>(&address), length));
  close(descriptor);
}

void ServiceManager::tell_reloading() const {
  constexpr long long kMicrosecondsPerSecond = 1'000'000;
  constexpr long long kNanosecondsPerMicrosecond = 1000;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  tell(fmt::format("RELOADING=1\nMONOTONIC_USEC={}",
                   now.tv_sec * kMicrosecondsPerSecond + now.tv_nsec / kNanosecondsPerMicrosecond));
}

}  // namespace mankai::command::serve
