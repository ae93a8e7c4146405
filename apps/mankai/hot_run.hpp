#pragma once

#include <optional>
#include <string>

#include "apps/mankai/hot_keys.hpp"
#include "apps/mankai/input.hpp"
#include "mankai/hot/hot.hpp"

namespace mankai::command {

/// Where --follow starts to read.
enum class FollowFrom : std::uint8_t { start, end };

struct HotRunRequest {
  InputRequest input;
  HotKeyRequest keys;
  std::optional<std::uint64_t> memory_bytes;
  std::optional<CountRounding> rounding;
  std::optional<std::uint64_t> top;
  std::optional<double> min_count;
  std::optional<Time> at;
  std::optional<Duration> every;
  std::string wanted_path;                   ///< file of --keys
  Duration future = std::chrono::hours(24);  ///< records further in the future are skipped
  bool follow = false;
  std::optional<FollowFrom> from;
  std::string position;  ///< position of the source after these logs; empty: not given
  bool is_exact = false;
  bool is_json = false;
  bool has_header = false;  ///< prints a header if the output is not a terminal
};

/// Reads the logs, prints the tables and updates the state file, if `state` names one. Returns the exit code. Errors:
/// as Input and Output; invalid_argument if the state cannot answer the request.
[[nodiscard]] Result<int> run_hot(const HotRunRequest& request, Hot hot, const std::string& state);

}  // namespace mankai::command
