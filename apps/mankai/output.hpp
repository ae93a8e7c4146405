#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"

namespace mankai::command {

/// The standard output, in large writes. After a failed write nothing more is written and finish() returns the error,
/// so a loop need not test every call.
class Output {
 public:
  Output() { buffer_.reserve(kBufferBytes); }

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

  /// Writes the buffered bytes; returns false after a failure.
  bool flush();
  [[nodiscard]] bool has_failed() const noexcept { return failure_.has_value(); }

  /// Flushes, closes the standard output and returns the first error. Errors: io, out_of_space; EPIPE if the reader
  /// closed it.
  [[nodiscard]] Result<void> finish();

 private:
  // Large enough that system calls take no noticeable time, small enough to stay in a core's cache.
  static constexpr std::size_t kBufferBytes = std::size_t{128} << 10;

  void make_room(std::string_view bytes);
  void write_all(std::string_view bytes);

  std::string buffer_;
  std::optional<Error> failure_;
};

/// Returns whether the error is that the reader closed the output.
[[nodiscard]] bool is_closed_pipe(const Error& error) noexcept;

/// Writes the whole standard output of a command. Returns exit code 0. Errors: as Output::finish.
[[nodiscard]] Result<int> write_output(std::string_view text);
/// Writes a text on standard error, unchanged and at once; a failure is ignored.
void write_error(std::string_view text);
/// Writes "mankai: …" on standard error.
void say(std::string_view line);

/// Shows the current step of long work on standard error if that is a terminal, in place of the step before. An empty
/// text removes the line.
void show_step(std::string_view text);

/// A progress line for long work. It is shown only if standard error is a terminal, and standard output is not a
/// terminal to which data is written at the same time.
class Progress {
 public:
  /// `total_bytes` is unset if the size is unknown, as for a pipe.
  explicit Progress(std::optional<std::uint64_t> total_bytes, bool writes_output = true);

  /// `lines` is unset if the work has no lines.
  void advance(std::uint64_t bytes, std::optional<std::uint64_t> lines = {});
  /// Removes the line, so that a message can be printed.
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
