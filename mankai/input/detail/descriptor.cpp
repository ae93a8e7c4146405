#include "mankai/input/detail/descriptor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace mankai::detail {
namespace {

enum class Wake : std::uint8_t { readable, stopped };

Result<Wake> wait_readable(int fd, int stop_fd) {
  std::array<pollfd, 2> waiting{pollfd{.fd = fd, .events = POLLIN, .revents = 0},
                                pollfd{.fd = stop_fd, .events = POLLIN, .revents = 0}};
  while (poll(waiting.data(), stop_fd >= 0 ? 2 : 1, -1) < 0) {
    if (errno != EINTR) {
      return fail(ErrorCode::io, "cannot wait for input", errno);
    }
  }
  return waiting[1].revents != 0 ? Wake::stopped : Wake::readable;
}

}  // namespace

Descriptor::~Descriptor() {
  if (is_owned_) {
    close(fd_);
  }
}

Result<Descriptor> Descriptor::open(const std::string& path) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) {
    const int os_error = errno;
    return fail(os_error == ENOENT ? ErrorCode::not_found : ErrorCode::io, "cannot open", os_error);
  }
  return Descriptor(fd, true);
}

Result<std::optional<std::uint64_t>> Descriptor::remaining_bytes() const {
  struct stat status{};
  if (fstat(fd_, &status) != 0) {
    return fail(ErrorCode::io, "cannot examine", errno);
  }
  if (S_ISDIR(status.st_mode)) {
    return fail(ErrorCode::io, "a file is needed here; name the files in it", EISDIR);
  }
  const off_t position = S_ISREG(status.st_mode) ? lseek(fd_, 0, SEEK_CUR) : -1;
  if (position < 0 || status.st_size <= position) {  // files in /proc claim to be empty
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(status.st_size - position);
}

Result<std::size_t> Descriptor::read(std::span<char> into, int stop_fd) const {
  bool must_wait = stop_fd >= 0;
  for (;;) {
    if (must_wait) {
      const Result<Wake> wake = wait_readable(fd_, stop_fd);
      if (!wake) {
        return std::unexpected(wake.error());
      }
      if (*wake == Wake::stopped) {
        return fail(ErrorCode::io, "asked to stop", EINTR);
      }
    }
    const ssize_t got = ::read(fd_, into.data(), into.size());
    if (got >= 0) {
      return static_cast<std::size_t>(got);
    }
    must_wait = must_wait || errno == EAGAIN;
    if (errno != EINTR && errno != EAGAIN) {
      return fail(ErrorCode::io, "cannot read", errno);
    }
  }
}

}  // namespace mankai::detail
