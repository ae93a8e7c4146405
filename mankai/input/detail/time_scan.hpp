#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "mankai/base/time.hpp"

// Times at the start of a text, which may continue after them.

namespace mankai::detail {

enum class TimeShape : std::uint8_t {
  none,        ///< the text does not begin with a time of this kind
  impossible,  ///< it does, but the day, hour or zone does not exist
  good
};

struct ScannedTime {
  TimeShape shape = TimeShape::none;
  Time time = {};
  std::size_t length = 0;  ///< of a good time

  [[nodiscard]] std::optional<Time> whole(std::string_view text) const noexcept {
    return shape == TimeShape::good && length == text.size() ? std::optional(time) : std::nullopt;
  }
};

/// 2016-03-28, then optionally "T" or one space and a time of day, then optionally a zone.
[[nodiscard]] ScannedTime scan_iso_time(std::string_view text) noexcept;

/// 10/Oct/2000:13:55:36 -0700; the seconds may have decimals.
[[nodiscard]] ScannedTime scan_log_time(std::string_view text) noexcept;

/// 1459166400.25; the magnitude decides the unit, as in parse_time. At most 18 digits before the point.
[[nodiscard]] ScannedTime scan_epoch_time(std::string_view text) noexcept;

/// 12:00:00 or 12:00:00.25, as the time since midnight.
[[nodiscard]] ScannedTime scan_time_of_day(std::string_view text) noexcept;

/// As scan_log_time, but faster: remembers day and zone, which successive lines of a log share.
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
