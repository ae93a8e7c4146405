#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"

namespace mankai {

/// How the lines of an access log are written; docs/logs.md describes each.
enum class LogFormat : std::uint8_t {
  automatic,  ///< found out from the lines
  combined,   ///< Common and Combined Log Format, a virtual host in front or not
  squid,      ///< Squid's native access.log
  w3c,        ///< W3C Extended Log File Format, as of IIS and CloudFront
  json,       ///< a JSON object per line
  keys,       ///< a key a line, a time in front or not
};

/// Returns the format's lower-case name, such as "combined".
[[nodiscard]] std::string_view name(LogFormat format) noexcept;
/// Reads such a name; "auto" and "common" are understood too. Errors: invalid_argument, which lists the names.
[[nodiscard]] Result<LogFormat> parse_log_format(std::string_view text);

/// One request as an access log tells it. What the line does not say is empty.
///
/// The texts are as logged: nothing is unescaped, except that JSON strings are. They point into the line or into the
/// parser; LogParser says for how long.
struct LogRecord {
  std::optional<Time> time;
  std::string_view client;  ///< address or name of who asked
  std::string_view host;    ///< who was asked: the virtual host without its port, or the host of an absolute target
  std::string_view method;  ///< "GET"; empty where the format has none
  std::string_view
      target;  ///< path and query, or an absolute URL; empty when the request was none, as "-" or "\x16\x03"
  std::string_view referrer;  ///< empty for "-"
  std::string_view agent;     ///< empty for "-"
  std::optional<unsigned> status;
  std::optional<std::uint64_t> bytes;
};

/// What a line turned out to be.
enum class LogLine : std::uint8_t {
  record,
  skipped,          ///< empty, a comment or a directive
  malformed_shape,  ///< not a line of the format: fields are missing or out of place
  malformed_time,   ///< a time that does not exist, such as 31 February, or is not written as one
  malformed_number  ///< a status or size that is no number, or too large
};
inline constexpr std::size_t kLogLineKinds = 5;

/// Returns what is wrong with a line, or that nothing is, in a few words.
[[nodiscard]] std::string_view name(LogLine line) noexcept;
[[nodiscard]] constexpr bool is_malformed(LogLine line) noexcept { return line >= LogLine::malformed_shape; }

}  // namespace mankai
