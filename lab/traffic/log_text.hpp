#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "mankai/base/time.hpp"

// Numbers and times in the formats of logs. Each function appends to `out`.

namespace mankai::detail {

/// The latest start of generated traffic.
inline constexpr Time kLatestStart = std::chrono::sys_days(std::chrono::January / 1 / 2200);

void append_number(std::uint64_t value, std::string& out, int base = 10);
/// With leading zeros. Pre: the value has at most `digits` digits.
void append_digits(std::uint64_t value, std::size_t digits, std::string& out);

void append_clock(Time time, std::string& out);     ///< 12:34:56
void append_date(Time time, std::string& out);      ///< 2024-01-01
void append_iso(Time time, std::string& out);       ///< 2024-01-01T12:34:56.789Z
void append_log_time(Time time, std::string& out);  ///< 01/Jan/2024:12:34:56 +0000

[[nodiscard]] std::uint64_t seconds_of(Time time);
[[nodiscard]] std::uint64_t milliseconds_of(Time time);  ///< of the fractional second

}  // namespace mankai::detail
