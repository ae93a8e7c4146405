#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"

namespace mankai {

/// Formats of access logs; docs/logs.md describes each.
enum class LogFormat : std::uint8_t {
  automatic,  ///< detected from the lines
  combined,   ///< Common and Combined Log Format, with or without a virtual host
  squid,      ///< Squid's native access.log
  w3c,        ///< W3C Extended Log File Format, as written by IIS and CloudFront
  json,       ///< one JSON object per line
  keys,       ///< one key per line, optionally after a time
};

/// Returns the format's name, such as "combined".
[[nodiscard]] std::string_view name(LogFormat format) noexcept;
/// Parses such a name, or "auto" or "common". Errors: invalid_argument, with the valid names.
[[nodiscard]] Result<LogFormat> parse_log_format(std::string_view text);

/// One request of an access log; absent fields are empty. The texts are as logged, except that JSON strings are
/// unescaped. They point into the line or into the parser; LogParser documents their lifetime.
struct LogRecord {
  std::optional<Time> time;
  std::string_view client;    ///< address or name of the client
  std::string_view host;      ///< the virtual host without its port, or the host of an absolute target
  std::string_view method;    ///< such as "GET"; empty if the format has none
  std::string_view target;    ///< path and query, or an absolute URL; empty for an invalid request: "-", "\x16\x03"
  std::string_view referrer;  ///< empty for "-"
  std::string_view agent;     ///< empty for "-"
  std::optional<unsigned> status;
  std::optional<std::uint64_t> bytes;
};

/// The outcome of a line.
enum class LogLine : std::uint8_t {
  record,
  skipped,          ///< empty, a comment or a directive
  malformed_shape,  ///< not a line of the format: fields are missing or misplaced
  malformed_time,   ///< an invalid time, such as 31 February
  malformed_number  ///< a status or size that is not a number, or too large
};
inline constexpr std::size_t kLogLineKinds = 5;

/// Returns a phrase for the outcome.
[[nodiscard]] std::string_view name(LogLine line) noexcept;
[[nodiscard]] constexpr bool is_malformed(LogLine line) noexcept { return line >= LogLine::malformed_shape; }

}  // namespace mankai
