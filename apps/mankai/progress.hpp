#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace mankai::command {

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
