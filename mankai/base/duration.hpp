#pragma once

/// Lengths of time as people write them.

#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"

namespace mankai {

/// Reads 90s, 10m, 1.5h, 7d, 2w, 250ms or 64us; a number alone is seconds. Errors: invalid_argument unless it is a
/// length of at least a microsecond and at most 1000 years.
[[nodiscard]] Result<Duration> parse_duration(std::string_view text);

/// Writes a length that parse_duration reads back, in the largest unit of which it is a whole number.
[[nodiscard]] std::string to_text(Duration duration);

}  // namespace mankai
