#pragma once

#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"

namespace mankai {

/// Parses 90s, 10m, 1.5h, 7d, 2w, 250ms or 64us; a number alone is seconds. Errors: invalid_argument unless it is at
/// least a microsecond and at most 1000 years.
[[nodiscard]] Result<Duration> parse_duration(std::string_view text);

/// Inverse of parse_duration, in the largest unit that gives an integer.
[[nodiscard]] std::string to_text(Duration duration);

}  // namespace mankai
