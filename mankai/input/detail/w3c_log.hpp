#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "mankai/input/detail/text_arena.hpp"
#include "mankai/input/log_record.hpp"

namespace mankai::detail {

/// W3C Extended Log File Format, as IIS, CloudFront and others write it.
///
/// "#Fields:" says what the columns are, and may say so again at any line. Columns are parted by tabs in a line that
/// has any, by blanks otherwise; a text in quotes may contain blanks, and quotes that are doubled. Times are UTC. A
/// column missing at the end of a line, or a line before any "#Fields:", is malformed.
///
/// The time is that of the columns `date` and `time`. Without `date`, the date of the last "#Date:" is taken; a file
/// that runs past midnight without a new one would tell wrong dates, but IIS and its like write one.
class W3cLog {
 public:
  [[nodiscard]] LogLine parse(std::string_view line, TextArena& arena, LogRecord& out);
  void restart();

  /// Whether a line is a directive, by which a log of this format is recognized.
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
  [[nodiscard]] LogLine take_time(std::string_view text) noexcept;
  [[nodiscard]] std::optional<Time> time_of_line() const noexcept;

  std::vector<Column> columns_;
  std::optional<Time> directive_date_;    // midnight of the last #Date
  std::optional<Time> directive_moment_;  // the last #Date
  std::optional<Time> line_date_;
  std::optional<Duration> line_clock_;
};

}  // namespace mankai::detail
