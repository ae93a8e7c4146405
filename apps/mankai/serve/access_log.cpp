#include "apps/mankai/serve/access_log.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <string_view>
#include <utility>

namespace mankai::command::serve {
namespace {

// Escapes quotes and control characters, as Apache and nginx do.
std::string escaped(std::string_view text) {
  constexpr char kFirstPrintable = 0x20;
  constexpr char kDelete = 0x7f;
  std::string out;
  for (const char byte : text) {
    if (byte < kFirstPrintable || byte == kDelete || byte == '"' || byte == '\\') {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    } else {
      out += byte;
    }
  }
  return out;
}

bool waits(int file) noexcept {
  struct stat found{};
  return fstat(file, &found) == 0 && (S_ISFIFO(found.st_mode) || S_ISCHR(found.st_mode));
}

}  // namespace

Result<std::unique_ptr<AccessLog>> AccessLog::open(std::string path) {
  std::unique_ptr<AccessLog> log(new AccessLog(std::move(path)));
  auto opened = log->reopen();
  return opened ? Result<std::unique_ptr<AccessLog>>(std::move(log)) : std::unexpected(opened.error());
}

// Opens pipes and terminals again even if they are open already: O_NONBLOCK must not affect other processes that share
// the open file.
Descriptor AccessLog::open_anew() const {
  constexpr int kFlags = O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  constexpr mode_t kMode = 0640;  // contains clients' addresses
  if (path_ == "-") {
    Descriptor anew(waits(STDERR_FILENO) ? ::open("/proc/self/fd/2", O_WRONLY | kFlags) : -1);
    return anew.get() >= 0 ? std::move(anew) : Descriptor(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  }
  Descriptor opened(::open(path_.c_str(), O_WRONLY | O_CREAT | kFlags, kMode));
  const bool has_no_reader = opened.get() < 0 && errno == ENXIO;
  return has_no_reader ? Descriptor(::open(path_.c_str(), O_RDWR | kFlags)) : std::move(opened);
}

AccessLog::Way AccessLog::way_of(int file) noexcept {
  struct stat found{};
  if (fstat(file, &found) == 0 && S_ISSOCK(found.st_mode)) {
    return Way::socket;
  }
  return waits(file) && (fcntl(file, F_GETFL) & O_NONBLOCK) == 0 ? Way::shared : Way::at_once;
}

Result<void> AccessLog::reopen() {
  Descriptor opened = open_anew();
  if (opened.get() < 0) {
    return fail(errno == ENOENT ? ErrorCode::not_found : ErrorCode::io, path_ + ": cannot be written", errno);
  }
  const std::lock_guard lock(mutex_);
  file_ = std::move(opened);
  way_ = way_of(file_.get());
  is_torn_ = false;
  return {};
}

// Writes without blocking; returns the number of bytes or -1.
ssize_t AccessLog::put(std::string_view line) const noexcept {
  if (way_ == Way::socket) {
    return send(file_.get(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  pollfd ready{.fd = file_.get(), .events = POLLOUT, .revents = 0};
  if (way_ == Way::shared && poll(&ready, 1, 0) <= 0) {
    return -1;
  }
  return ::write(file_.get(), line.data(), line.size());
}

void AccessLog::write(const Exchange& exchange) {
  // One write per line, so that lines of several processes do not mix.
  const std::string line = fmt::format("\n{} - - [{:%d/%b/%Y:%H:%M:%S} +0000] \"{}\" {} {}\n", exchange.address,
                                       fmt::gmtime(std::time(nullptr)), escaped(exchange.request_line), exchange.status,
                                       exchange.answer_bytes);
  const std::lock_guard lock(mutex_);
  const auto wanted = std::string_view(line).substr(is_torn_ ? 0 : 1);
  const ssize_t written = put(wanted);
  if (written == static_cast<ssize_t>(wanted.size())) {
    is_torn_ = false;
    return;
  }
  is_torn_ = is_torn_ || written > 0;
  lost_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace mankai::command::serve
