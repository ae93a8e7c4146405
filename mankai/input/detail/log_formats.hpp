#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mankai/input/detail/text_arena.hpp"
#include "mankai/input/detail/time_scan.hpp"
#include "mankai/input/log_parser.hpp"

// One parser per log format; docs/logs.md describes the formats.

namespace mankai::detail {

/// Common and Combined Log Format:
///
///     [vhost[:port]] client ident user [10/Oct/2000:13:55:36 -0700] "request" status bytes ["referrer" ["agent" …]]
///
/// A quoted text ends at a quote that follows an even number of backslashes and precedes a space or the end of the
/// line, since old logs often have unescaped quotes. A line that ends right after the size is a record.
class CombinedLog {
 public:
  [[nodiscard]] LogLine parse(std::string_view line, LogRecord& out) noexcept;

 private:
  LogClock clock_;
};

/// Squid's native access.log:
///
///     1066036250.603    310 client TCP_MISS/200 bytes METHOD URL user hierarchy/peer type
[[nodiscard]] LogLine parse_squid(std::string_view line, LogRecord& out) noexcept;

/// One key per line, optionally after a time and one space or tab. A time is ISO 8601 or a number of 9 or 10 digits
/// (seconds, decimals allowed), 12 or 13 (milliseconds) or 15 or 16 (microseconds).
[[nodiscard]] LogLine parse_key(std::string_view line, LogRecord& out) noexcept;

/// W3C Extended Log File Format, as written by IIS, CloudFront and others.
///
/// "#Fields:" names the columns, at any line. Tabs separate columns in a line with tabs, else spaces; a quoted text may
/// contain spaces and doubled quotes. Times are UTC. A line with too few columns or before "#Fields:" is malformed.
///
/// The time comes from the columns `date` and `time`; without `date`, from the last "#Date:". A file that continues
/// past midnight without a new "#Date:" gets wrong dates, but IIS and others write one.
class W3cLog {
 public:
  [[nodiscard]] LogLine parse(std::string_view line, TextArena& arena, LogRecord& out);

  /// Returns whether a line is a directive, which identifies the format.
  [[nodiscard]] static bool is_directive(std::string_view line) noexcept;

 private:
  enum class Column : std::uint8_t {
    other,
    date,
    time,
    client,
    host,
    method,
    stem,
    query,
    uri,
    referrer,
    agent,
    status,
    bytes
  };
  struct Target {
    std::string_view stem;
    std::string_view query;
  };

  void take_directive(std::string_view line);
  [[nodiscard]] static Column column_named(std::string_view name) noexcept;
  [[nodiscard]] LogLine take_column(Column column, std::string_view text, Target& target, LogRecord& out);
  [[nodiscard]] std::optional<Time> time_of_line() const noexcept;

  std::vector<Column> columns_;
  std::optional<Time> directive_date_;    // midnight of the last #Date
  std::optional<Time> directive_moment_;  // the last #Date
  std::optional<Time> line_date_;
  std::optional<Time> line_clock_;  // since midnight
};

/// One JSON object per line. Members are found by name, with "." between the names of nested ones; an array has the
/// value of its first string or number. If a line has several of a field's names, the first in the field's list counts.
class JsonLog {
 public:
  /// Errors: invalid_argument if two fields have the same name.
  [[nodiscard]] static Result<JsonLog> create(const LogFieldNames& names);

  [[nodiscard]] LogLine parse(std::string_view line, TextArena& arena, LogRecord& out) const;

 private:
  /// The field of a member, and the position of its name in the field's list.
  struct Role {
    std::uint8_t field;
    std::uint8_t rank;
  };
  std::unordered_map<std::string, Role> roles_;
};

}  // namespace mankai::detail
