#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"

namespace mankai::command {

/// Buffered standard output, or standard error. After a failed write it writes nothing more and finish() returns the
/// error, so loops need not check every call.
class Output {
 public:
  explicit Output(int descriptor = STDOUT_FILENO) : descriptor_(descriptor) { buffer_.reserve(kBufferBytes); }

  void append(std::string_view bytes) {
    if (buffer_.size() + bytes.size() > kBufferBytes) {
      make_room(bytes);
      return;
    }
    buffer_.append(bytes);
  }
  void append_line(std::string_view line) {
    append(line);
    append("\n");
  }

  /// Returns false after a failure.
  bool flush();
  [[nodiscard]] bool has_failed() const noexcept { return failure_.has_value(); }

  /// Flushes, and closes standard output. Errors: the first error of a write: io; out_of_space; EPIPE if the reader
  /// closed the pipe.
  [[nodiscard]] Result<void> finish();

 private:
  // Large enough to amortize system calls, small enough for a core's cache.
  static constexpr std::size_t kBufferBytes = std::size_t{128} << 10;

  void make_room(std::string_view bytes);
  void write_all(std::string_view bytes);

  int descriptor_;
  std::string buffer_;
  std::optional<Error> failure_;
};

[[nodiscard]] bool is_closed_pipe(const Error& error) noexcept;

/// The error, followed by what was done before it.
[[nodiscard]] std::unexpected<Error> fail_after(const Error& error, std::string_view done);

/// Writes all output of a command and returns exit code 0. Errors: as Output::finish.
[[nodiscard]] Result<int> write_output(std::string_view text);
/// Writes what the user asked for, such as a summary, to standard error. Errors: as Output::finish, but none for a pipe
/// that its reader closed.
[[nodiscard]] Result<void> write_summary(std::string_view text);
/// Writes to standard error without a buffer; errors are ignored.
void write_error(std::string_view text);
/// Writes "mankai: …" to standard error.
void say(std::string_view line);

/// Replaces the current line of standard error, if that is a terminal. An empty text clears the line.
void show_step(std::string_view text);

/// A progress line on standard error, if that is a terminal. Not shown if the command also writes data to a terminal.
class Progress {
 public:
  /// `total_bytes` is unset for pipes.
  explicit Progress(std::optional<std::uint64_t> total_bytes, bool writes_output = true);

  void advance(std::uint64_t bytes, std::optional<std::uint64_t> lines = {}, bool is_compressed = false);
  /// Call before a message is printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  bool is_on_;
  bool is_shown_ = false;
  std::optional<std::uint64_t> total_bytes_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::seconds(1);
};

}  // namespace mankai::command
