#pragma once

#include <string_view>

#include "mankai/input/detail/time_scan.hpp"
#include "mankai/input/log_record.hpp"

namespace mankai::detail {

/// Common and Combined Log Format:
///
///     [vhost[:port]] client ident user [10/Oct/2000:13:55:36 -0700] "request" status bytes ["referrer" ["agent" …]]
///
/// A quoted text ends at a quote that has an even number of backslashes before it and a blank or the end of the line
/// behind it: servers that do not escape quotes are common in old logs. Where a line ends early after the size, as one
/// cut off by its writer does, what is there is taken.
class CombinedLog {
 public:
  [[nodiscard]] LogLine parse(std::string_view line, LogRecord& out) noexcept;

 private:
  LogClock clock_;
};

}  // namespace mankai::detail
