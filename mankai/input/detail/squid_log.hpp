#pragma once

#include <string_view>

#include "mankai/input/log_record.hpp"

namespace mankai::detail {

/// Squid's native access.log:
///
///     1066036250.603    310 client TCP_MISS/200 bytes METHOD URL user hierarchy/peer type
[[nodiscard]] LogLine parse_squid(std::string_view line, LogRecord& out) noexcept;

}  // namespace mankai::detail
