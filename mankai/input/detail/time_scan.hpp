#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "mankai/base/time.hpp"

// Times at the beginning of a text, which may go on after them.

namespace mankai::detail {

enum class TimeShape : std::uint8_t {
  none,        ///< the text does not begin like a time of this kind
  impossible,  ///< it does, but there is no such day, hour or zone
  good
};

struct ScannedTime {
  TimeShape shape = TimeShape::none;
  Time time;
  std::size_t length = 0;  ///< of a good one
};

/// 2016-03-28, with a time of day after "T" or one space and a zone after that, or without.
[[nodiscard]] ScannedTime scan_iso_time(std::string_view text) noexcept;

/// 10/Oct/2000:13:55:36 -0700, decimals after the seconds allowed.
[[nodiscard]] ScannedTime scan_log_time(std::string_view text) noexcept;

/// 1459166400.25 and its like, by magnitude: see parse_time. At most 18 digits before the point.
[[nodiscard]] ScannedTime scan_epoch_time(std::string_view text) noexcept;

/// 12:00:00 or 12:00:00.25, as the time since midnight.
[[nodiscard]] ScannedTime scan_time_of_day(std::string_view text) noexcept;

/// Reads what scan_log_time reads, faster: successive lines of a log share the day and the zone.
class LogClock {
 public:
  [[nodiscard]] ScannedTime scan(std::string_view text) noexcept;

 private:
  static constexpr std::size_t kDayLength = 12;  // "10/Oct/2000:"
  static constexpr std::size_t kZoneLength = 6;  // " -0700"
  std::array<char, kDayLength> day_{};
  std::array<char, kZoneLength> zone_{};
  Time midnight_;  // of that day in that zone
};

}  // namespace mankai::detail
