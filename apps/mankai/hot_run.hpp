#pragma once

#include <optional>
#include <string>

#include "apps/mankai/hot_keys.hpp"
#include "apps/mankai/input.hpp"
#include "mankai/hot/hot.hpp"

namespace mankai::command {

/// Where a log that is followed is begun.
enum class FollowFrom : std::uint8_t { start, end };

/// What to read, what to count and what to print.
struct HotRunRequest {
  InputRequest input;
  HotKeyRequest keys;
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> top;
  std::optional<double> min_count;
  std::optional<Time> at;
  std::optional<Duration> every;
  std::string wanted_path;                   ///< of --keys
  Duration future = std::chrono::hours(24);  ///< records so long after the clock are left out
  bool follow = false;
  std::optional<FollowFrom> from;
  std::string position;  ///< of the source, behind these logs; empty: not said
  bool is_exact = false;
  bool is_json = false;
  bool has_header = false;  ///< a line of titles where the output is not a terminal
};

/// Reads the logs, prints the tables and keeps the state, which `hot` was opened from, if there is one. Returns the
/// exit code. Errors: as Input's and Output's, and invalid_argument for what cannot be asked of the state.
[[nodiscard]] Result<int> run_hot(const HotRunRequest& request, Hot hot, const std::string& state);

}  // namespace mankai::command
