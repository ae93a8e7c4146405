#pragma once

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

/// Writes "mankai: …" on standard error, where it cannot get lost behind the data.
void say(std::string_view line);

}  // namespace mankai::command
