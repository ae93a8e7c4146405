#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "apps/mankai/serve/http_server.hpp"

namespace mankai::command::serve {

/// Writes one line per request in the Common Log Format, which `mankai hot` and other tools read.
///
/// Errors:  a line that cannot be written without blocking is dropped and counted.
/// Threads: write and lost from any; reopen from one.
class AccessLog {
 public:
  /// "-" is standard error. A FIFO needs no reader yet. Errors: io; not_found.
  [[nodiscard]] static Result<std::unique_ptr<AccessLog>> open(std::string path);

  void write(const Exchange& exchange);
  /// Opens the path again after log rotation. After an error the old file stays in use.
  [[nodiscard]] Result<void> reopen();
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

 private:
  explicit AccessLog(std::string path) : path_(std::move(path)) {}

  /// How to write without blocking.
  enum class Way : std::uint8_t {
    at_once,  ///< a file, or a descriptor opened with O_NONBLOCK
    socket,   ///< MSG_DONTWAIT per call
    shared,   ///< shared with processes that need blocking writes: poll first
  };

  [[nodiscard]] static Way way_of(int file) noexcept;
  [[nodiscard]] Descriptor open_anew() const;
  [[nodiscard]] ssize_t put(std::string_view line) const noexcept;

  std::string path_;
  std::mutex mutex_;  ///< protects file_, way_ and is_torn_
  Descriptor file_;
  Way way_ = Way::at_once;
  bool is_torn_ = false;  ///< the last line was written partially
  std::atomic<std::uint64_t> lost_ = 0;
};

}  // namespace mankai::command::serve
