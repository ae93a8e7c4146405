#include "apps/mankai/output.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "apps/mankai/report.hpp"

namespace mankai::command {
namespace {

// Another process may have made the descriptor non-blocking; a full pipe then returns EAGAIN.
bool wait_until_writable(int fd) {
  pollfd waiting{.fd = fd, .events = POLLOUT, .revents = 0};
  return poll(&waiting, 1, -1) >= 0 || errno == EINTR;
}

}  // namespace

Progress::Progress(std::optional<std::uint64_t> total_bytes, bool writes_output)
    : is_on_(isatty(STDERR_FILENO) == 1 && !(writes_output && isatty(STDOUT_FILENO) == 1)), total_bytes_(total_bytes) {}

void Progress::advance(std::uint64_t bytes, std::optional<std::uint64_t> lines, bool is_compressed) {
  if (!is_on_ || Clock::now() < next_) {
    return;
  }
  const auto now = Clock::now();
  next_ = now + std::chrono::milliseconds(250);
  const double seconds = std::chrono::duration<double>(now - start_).count();
  std::string share;
  if (total_bytes_) {
    share = fmt::format(" of {}, {:.0f}%", human_bytes(*total_bytes_),
                        100 * static_cast<double>(bytes) / static_cast<double>(*total_bytes_));
  }
  const std::string line_count = lines ? counted(*lines, "line") + ", " : std::string();
  write_error(fmt::format("\r\x1b[K{}{}{}; {}{}/s", human_bytes(bytes), is_compressed ? " compressed" : "", share,
                          line_count, human_bytes(static_cast<std::uint64_t>(static_cast<double>(bytes) / seconds))));
  is_shown_ = true;
}

void Progress::clear() {
  if (is_shown_) {
    write_error("\r\x1b[K");
    is_shown_ = false;
  }
}

bool Output::flush() {
  write_all(buffer_);
  buffer_.clear();
  return !failure_;
}

Result<void> Output::finish() {
  flush();
  // Some file systems report a full disk only when the file is closed.
  if (!failure_ && descriptor_ == STDOUT_FILENO && close(descriptor_) != 0 && errno != EINTR) {
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
    const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR && !(errno == EAGAIN && wait_until_writable(descriptor_))) {
      failure_ = Error{
          .code = errno == ENOSPC || errno == EDQUOT ? ErrorCode::out_of_space : ErrorCode::io,
          .os_error = errno,
          .detail = descriptor_ == STDOUT_FILENO ? "standard output: cannot write" : "standard error: cannot write"};
    }
  }
}

bool is_closed_pipe(const Error& error) noexcept { return error.code == ErrorCode::io && error.os_error == EPIPE; }

// The system's words belong to what is wrong. EINTR stays: it decides the exit code.
std::unexpected<Error> fail_after(const Error& error, std::string_view done) {
  const bool is_stop = error.os_error == EINTR;
  return fail(error.code, fmt::format("{}; {}", is_stop ? error.detail : error.message(), done), is_stop ? EINTR : 0);
}

Result<int> write_output(std::string_view text) {
  Output output;
  output.append(text);
  MANKAI_TRY(output.finish());
  return 0;
}

Result<void> write_summary(std::string_view text) {
  Output output(STDERR_FILENO);
  output.append(text);
  auto done = output.finish();
  // If nobody reads it, the command's own exit code counts.
  return !done && is_closed_pipe(done.error()) ? Result<void>() : done;
}

void write_error(std::string_view text) { static_cast<void>(!write(STDERR_FILENO, text.data(), text.size())); }

// One write per line, so that lines of several processes do not mix.
void say(std::string_view line) { write_error("mankai: " + std::string(line) + "\n"); }

void show_step(std::string_view text) {
  if (isatty(STDERR_FILENO) == 1) {
    write_error("\r\x1b[K" + std::string(text));
  }
}

}  // namespace mankai::command
