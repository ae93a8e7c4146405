#include "apps/mankai/serve/access_log.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace mankai::command::serve {
namespace {

// What would end the field or drive a terminal: in the form that Apache and nginx write.
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

}  // namespace

Result<std::unique_ptr<AccessLog>> AccessLog::open(std::string path) {
  std::unique_ptr<AccessLog> log(new AccessLog(std::move(path)));
  auto opened = log->reopen();
  return opened ? Result<std::unique_ptr<AccessLog>>(std::move(log)) : std::unexpected(opened.error());
}

Result<void> AccessLog::reopen() {
  constexpr mode_t kMode = 0640;  // addresses of people
  const int file = path_ == "-" ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)
                                : ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, kMode);
  if (file < 0) {
    return fail(errno == ENOENT ? ErrorCode::not_found : ErrorCode::io, path_ + ": cannot be written", errno);
  }
  Descriptor opened(file);
  const std::lock_guard lock(mutex_);
  file_ = std::move(opened);
  return {};
}

void AccessLog::write(const Exchange& exchange) {
  // One write a line, so that lines of several threads and processes do not mix.
  const std::string line = fmt::format("{} - - [{:%d/%b/%Y:%H:%M:%S} +0000] \"{}\" {} {}\n", exchange.address,
                                       fmt::gmtime(std::time(nullptr)), escaped(exchange.request_line), exchange.status,
                                       exchange.answer_bytes);
  const std::lock_guard lock(mutex_);
  if (::write(file_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    lost_.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace mankai::command::serve
