#pragma once

/// The files and streams that a command reads.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/mankai/subcommand.hpp"
#include "mankai/input/line_reader.hpp"
#include "mankai/input/source.hpp"

namespace mankai::command {

/// Files or streams to read.
struct InputRequest {
  std::vector<std::string> paths;  ///< "-": standard input; empty: only standard input
  LineReaderOptions lines;
  bool follow_last = false;      ///< waits for more of the last file, as tail -F
  bool follow_from_end = false;  ///< skips the current contents of the last file
  /// Interval between calls of `before_waiting` while no input is available.
  std::chrono::milliseconds look_interval = std::chrono::seconds(1);
  std::size_t threads = 1;  ///< that read and parse; 1: the caller's, as always with `follow_last`
};

/// An input's name in messages: its path, or "standard input".
[[nodiscard]] std::string label_of(const std::string& path);

/// Several inputs. A read that a signal interrupts fails with EINTR. Threads: any number.
class Sources {
 public:
  /// Calls a function that may wait; returns false, without a call, if the reader is to end.
  using Wait = std::function<bool(const std::function<void()>&)>;

  /// Checks every input. Errors: not_found; io.
  [[nodiscard]] static Result<Sources> open(const InputRequest& request, std::function<void()> before_waiting);

  /// Opens an input. Its reads call what may wait for a stream, and before_waiting, by `wait`. Errors: not_found; io.
  [[nodiscard]] Result<Source> open_source(std::size_t index, const Wait& wait) const;
  [[nodiscard]] std::size_t size() const noexcept { return request_.paths.size(); }
  /// The name in messages.
  [[nodiscard]] std::string label(std::size_t index) const;
  /// Whether it is a regular file, which can be read before the inputs that precede it.
  [[nodiscard]] bool is_file(std::size_t index) const noexcept { return is_file_[index]; }
  /// Total size, if all inputs are regular files.
  [[nodiscard]] std::optional<std::uint64_t> total_bytes() const noexcept { return total_bytes_; }

 private:
  Sources(const InputRequest& request, std::function<void()> before_waiting);

  [[nodiscard]] Result<void> check(const std::string& path);
  [[nodiscard]] bool is_followed(const std::string& path) const;

  InputRequest request_;
  std::function<void()> before_waiting_;
  std::vector<bool> is_file_;
  std::optional<std::uint64_t> total_bytes_ = 0;
};

/// --threads; sets the default.
[[nodiscard]] Option threads_option(InputRequest& request);

}  // namespace mankai::command
