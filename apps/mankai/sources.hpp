#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/mankai/progress.hpp"
#include "mankai/input/source.hpp"

namespace mankai::command {

/// Where keys come from.
struct InputRequest {
  std::vector<std::string> paths;               ///< files, "-" for standard input; standard input when empty
  std::optional<std::uint64_t> max_line_bytes;  ///< unset: LineReader's own
  bool follow_last = false;                     ///< the last file never ends, as with tail -F
  bool follow_from_end = false;                 ///< what is in it now is not read
  /// How often `before_waiting` is called while nothing more can be read.
  std::chrono::milliseconds look_interval = std::chrono::seconds(1);
};

/// Several inputs, opened one after the other. A read that a signal ends fails with EINTR.
class Sources {
 public:
  /// Looks at every input before anything is read. As Input::open.
  [[nodiscard]] static Result<Sources> open(const InputRequest& request, std::function<void()> before_waiting);

  /// Opens the next one; nothing at the end. Errors: not_found, io.
  [[nodiscard]] Result<std::optional<Source>> next();
  /// Of all together, where they are files.
  [[nodiscard]] std::optional<std::uint64_t> total_bytes() const noexcept { return total_bytes_; }

 private:
  Sources(InputRequest request, std::function<void()> before_waiting, std::optional<std::uint64_t> total);

  [[nodiscard]] Result<Source> open_source(const std::string& path);

  InputRequest request_;
  std::function<void()> before_waiting_;
  std::optional<std::uint64_t> total_bytes_;
  std::size_t opened_ = 0;
};

/// Says how much behind the gzip data of a source was ignored, if anything was.
void warn_of_ignored_bytes(const Source& source, Progress& progress);

}  // namespace mankai::command
