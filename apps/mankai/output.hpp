#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"

namespace mankai::command {

/// The standard output, in large writes. A failure is remembered and nothing is written after it, so a loop looks
/// only at its end, or now and then.
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

  /// Writes what is waiting; returns false after a failure.
  bool flush();
  [[nodiscard]] bool has_failed() const noexcept { return failure_.has_value(); }

  /// Flushes and returns what went wrong, if anything did. Errors: io, out_of_space; EPIPE when the reader is gone.
  [[nodiscard]] Result<void> finish();

 private:
  // Large enough that a system call costs nothing a line, small enough to stay in a core's cache.
  static constexpr std::size_t kBufferBytes = std::size_t{128} << 10;

  void make_room(std::string_view bytes);
  void write_all(std::string_view bytes);

  std::string buffer_;
  std::optional<Error> failure_;
};

/// Whether an error only says that whoever read the output has had enough.
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

/// A line on the terminal for work that takes long. It shows only when standard error is a terminal, and standard
/// output is not one that data is written to meanwhile.
class Progress {
 public:
  /// `total_bytes` is unset where nobody knows, as for a pipe.
  explicit Progress(std::optional<std::uint64_t> total_bytes, bool writes_output = true);

  /// `lines` is unset where there are none.
  void advance(std::uint64_t bytes, std::optional<std::uint64_t> lines = {});
  /// Takes the line away, so that something else can be said.
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
