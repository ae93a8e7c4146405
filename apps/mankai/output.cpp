#include "apps/mankai/output.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace mankai::command {
namespace {

// A descriptor that somebody else made non-blocking is waited for like any other.
bool wait_until_writable(int fd) {
  pollfd waiting{.fd = fd, .events = POLLOUT, .revents = 0};
  return poll(&waiting, 1, -1) >= 0 || errno == EINTR;
}

}  // namespace

bool Output::flush() {
  write_all(buffer_);
  buffer_.clear();
  return !failure_;
}

Result<void> Output::finish() {
  flush();
  // Some file systems tell only now that the disk is full.
  if (!failure_ && close(STDOUT_FILENO) != 0 && errno != EINTR) {
    failure_ = Error{.code = ErrorCode::io, .os_error = errno, .detail = "standard output: cannot write"};
  }
  return failure_ ? Result<void>(std::unexpected(*failure_)) : Result<void>{};
}

void Output::make_room(std::string_view bytes) {
  flush();
  if (bytes.size() > kBufferBytes) {
    write_all(bytes);
  } else {
    buffer_.append(bytes);
  }
}

void Output::write_all(std::string_view bytes) {
  while (!bytes.empty() && !failure_) {
    const ssize_t written = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR && !(errno == EAGAIN && wait_until_writable(STDOUT_FILENO))) {
      failure_ = Error{.code = errno == ENOSPC || errno == EDQUOT ? ErrorCode::out_of_space : ErrorCode::io,
                       .os_error = errno,
                       .detail = "standard output: cannot write"};
    }
  }
}

bool is_closed_pipe(const Error& error) noexcept { return error.code == ErrorCode::io && error.os_error == EPIPE; }

void say(std::string_view line) {
  // One write, so that lines of several processes do not mix.
  const std::string text = "mankai: " + std::string(line) + "\n";
  static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
}

}  // namespace mankai::command
