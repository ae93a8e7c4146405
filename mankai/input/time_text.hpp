#pragma once

#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"

// Times as people and logs write them. Nothing here knows a locale or this machine's time zone.

namespace mankai {

/// Reads a moment, for options such as --at and for logs.
///
/// - ISO 8601: 2016-03-28, 2016-03-28T12:00, 2016-03-28T12:00:00.25Z, 2016-03-28 14:00:00+02:00. UTC unless a zone is
///   given; digits after the microsecond are dropped.
/// - The Common Log Format: 10/Oct/2000:13:55:36 -0700, in brackets or not.
/// - A number since 1970, of seconds (1459166400 or 1459166400.25), or, from 10^11 on, of milliseconds, from 10^14 on
///   of microseconds, from 10^17 on of nanoseconds. "@" may stand in front, as for date(1).
///
/// Errors: invalid_argument when the text is none of these, or names a day or an hour that does not exist.
[[nodiscard]] Result<Time> parse_time(std::string_view text);

/// Writes a moment as ISO 8601 in UTC: 2016-03-28T12:00:00Z, with as many decimals (0, 3 or 6) as it needs.
/// A moment outside the years 0 to 9999 is written as the nearest within. parse_time reads what this writes.
[[nodiscard]] std::string format_time(Time time);

}  // namespace mankai
