#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "apps/mankai/serve/http_server.hpp"

namespace mankai::command::serve {

/// A line per request in the Common Log Format, which `mankai hot` and other tools read.
///
/// Errors:  a line that cannot be written at once is left out and counted; answers are more important. So nobody waits
///          for whoever reads a pipe.
/// Threads: write and lost from any; reopen from one.
class AccessLog {
 public:
  /// Errors: io and not_found, where the file cannot be opened for appending. "-" is the standard error. A FIFO needs
  /// no reader yet.
  [[nodiscard]] static Result<std::unique_ptr<AccessLog>> open(std::string path);

  void write(const Exchange& exchange);
  /// Opens the path anew, so that whoever renamed the file has it for himself. The old file is kept on after an error.
  [[nodiscard]] Result<void> reopen();
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

 private:
  explicit AccessLog(std::string path) : path_(std::move(path)) {}

  /// How to write without waiting.
  enum class Way : std::uint8_t {
    at_once,  ///< a file, or what was opened so that nothing waits
    socket,   ///< it is asked each time
    shared,   ///< whoever has it, too, may want to wait: looked at first
  };

  [[nodiscard]] static Way way_of(int file) noexcept;
  [[nodiscard]] Descriptor open_anew() const;
  [[nodiscard]] ssize_t put(std::string_view line) const noexcept;

  std::string path_;
  std::mutex mutex_;  ///< of what follows
  Descriptor file_;
  Way way_ = Way::at_once;
  bool is_torn_ = false;  ///< the last line was written in part
  std::atomic<std::uint64_t> lost_ = 0;
};

}  // namespace mankai::command::serve
