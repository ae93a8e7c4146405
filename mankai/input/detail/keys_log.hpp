#pragma once

#include <string_view>

#include "mankai/input/log_record.hpp"

namespace mankai::detail {

/// A key a line: the target is the line, or what follows a time and one blank or tab.
///
/// A time is a number of 9 or 10 digits (seconds, decimals allowed), 12 or 13 (milliseconds) or 15 or 16
/// (microseconds), or as ISO 8601. Other numbers are a part of the key.
[[nodiscard]] LogLine parse_key(std::string_view line, LogRecord& out) noexcept;

}  // namespace mankai::detail
