#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "apps/mankai/serve/http_server.hpp"

namespace mankai::command::serve {

/// A line a request in the Common Log Format, which `mankai hot` and other tools read.
///
/// Errors:  a line that cannot be written is left out and counted; answers are more important.
/// Threads: write and lost from any; reopen from one.
class AccessLog {
 public:
  /// Errors: io and not_found, where the file cannot be opened for appending. "-" is the standard error.
  [[nodiscard]] static Result<std::unique_ptr<AccessLog>> open(std::string path);

  void write(const Exchange& exchange);
  /// Opens the path anew, so that whoever renamed the file has it for himself. The old file is kept on after an error.
  [[nodiscard]] Result<void> reopen();
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

 private:
  explicit AccessLog(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::mutex mutex_;  ///< of the descriptor
  Descriptor file_;
  std::atomic<std::uint64_t> lost_ = 0;
};

}  // namespace mankai::command::serve
