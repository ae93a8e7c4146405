#pragma once

#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"

// Times as people and logs write them, independent of the locale and the local time zone.

namespace mankai {

/// Reads a point in time, for options such as --at and for logs.
///
/// - ISO 8601: 2016-03-28, 2016-03-28T12:00, 2016-03-28T12:00:00.25Z, 2016-03-28 14:00:00+02:00. Without a zone,
///   UTC. Digits below the microsecond are dropped.
/// - The Common Log Format: 10/Oct/2000:13:55:36 -0700, with or without brackets.
/// - A number since 1970: of seconds (1459166400 or 1459166400.25), from 10^11 of milliseconds, from 10^14 of
///   microseconds, from 10^17 of nanoseconds. "@" may precede it, as for date(1).
///
/// Errors: invalid_argument for another text, or a day or an hour that does not exist.
[[nodiscard]] Result<Time> parse_time(std::string_view text);

/// Writes a time as ISO 8601 in UTC, such as 2016-03-28T12:00:00Z, with as many decimals (0, 3 or 6) as it needs.
/// A time outside the years 0 to 9999 is written as the nearest within. parse_time reads what this writes.
[[nodiscard]] std::string format_time(Time time);

}  // namespace mankai
