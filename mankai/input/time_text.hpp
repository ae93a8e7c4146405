#pragma once

#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"

// Times as written by people and in logs, independent of the locale and the local time zone.

namespace mankai {

/// Parses a point in time, for options such as --at and for logs.
///
/// - ISO 8601, by default in UTC: 2016-03-28, 2016-03-28T12:00, 2016-03-28T12:00:00.25Z, 2016-03-28 14:00:00+02:00.
/// - The Common Log Format: 10/Oct/2000:13:55:36 -0700, with or without brackets.
/// - A number since 1970: seconds (1459166400 or 1459166400.25), from 10^11 on milliseconds, from 10^14 microseconds,
///   from 10^17 nanoseconds. "@" may precede it, as for date(1).
///
/// Digits below the microsecond are dropped. Errors: invalid_argument for other texts, or a nonexistent day or hour.
[[nodiscard]] Result<Time> parse_time(std::string_view text);

/// Formats a time as ISO 8601 in UTC, such as 2016-03-28T12:00:00Z, with as many decimals (0, 3 or 6) as necessary. A
/// time outside the years 0 to 9999 becomes the nearest one inside. parse_time accepts the result.
[[nodiscard]] std::string format_time(Time time);

}  // namespace mankai
