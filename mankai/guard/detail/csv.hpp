#pragma once

/// Reads CSV: the fields of a row, and records, which may have line breaks inside quotes.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/guard/detail/rule_entry.hpp"
#include "mankai/guard/rule_list.hpp"

namespace mankai::detail {

/// Returns the separator of a row: the first of tab, ',' and ';' that occurs outside quotes; ',' if none does.
[[nodiscard]] char divider_of(std::string_view row) noexcept;

/// How a line of a row ends.
enum class RowEnd : std::uint8_t {
  complete,
  open,   ///< inside quotes: the next line continues the row
  wrong,  ///< text follows closing quotes
};

/// Reads one line of a row; `is_open`: the line before ended `open`. Errors: none; total.
[[nodiscard]] RowEnd end_of_row(std::string_view line, char divider, bool is_open) noexcept;

/// Returns a field without its quotes and surrounding blanks: a view into the row or, if it has escaped quotes, into
/// `unquoted`. Skipped: missing_column, also for an empty field; bad_quotes. Source: RFC 4180, and blanks around
/// quotes.
[[nodiscard]] RuleEntry csv_field(std::string_view row, char divider, std::size_t column, std::string& unquoted);

/// Returns all fields of a row.
[[nodiscard]] std::vector<std::string> csv_fields(std::string_view row, char divider);

/// A record, a blank line, or a comment.
struct CsvRecord {
  std::string_view text{};  ///< its lines, with line feeds between them
  std::uint64_t line = 0;   ///< the number of the first, from 1
  std::uint64_t lines = 1;
  std::optional<RuleSkip> skipped{};  ///< bad_quotes or long_record: text is only the first line
};

/// Joins lines while a quoted field is open.
///
/// An unclosed quote does not swallow the rest of the file. A record is given up at the end of the file, if text
/// follows its closing quote, or if it exceeds kCsvRecordBytesMax: its first line is skipped with that reason, and each
/// line after it is read by itself.
///
/// Cost: at most two passes; memory for one record. Source: RFC 4180, and '#' begins a comment.
class CsvRecords {
 public:
  explicit CsvRecords(char divider) noexcept : divider_(divider) {}

  /// Adds the next line, which must stay valid until next() returns none. Pre: next() returned none.
  void add(std::string_view line) noexcept;
  /// Ends the file: an open record is given up.
  void finish() noexcept;
  /// Returns a complete record, valid until the next call; none if another line is needed.
  [[nodiscard]] std::optional<CsvRecord> next();
  /// The incomplete record, if there is one.
  [[nodiscard]] std::optional<CsvRecord> open_record() const noexcept;

 private:
  [[nodiscard]] std::optional<CsvRecord> begin_record(std::string_view line);
  [[nodiscard]] std::optional<CsvRecord> continue_record(std::string_view line);
  [[nodiscard]] CsvRecord give_up(RuleSkip reason);
  [[nodiscard]] CsvRecord next_alone() noexcept;

  char divider_;
  std::optional<std::string_view> line_;  ///< that was added
  std::uint64_t lines_ = 0;               ///< that were added
  bool is_finished_ = false;
  std::string open_;  ///< the lines of the record that is open, or was given up
  std::uint64_t open_lines_ = 0;
  std::optional<std::string_view> alone_;  ///< the lines of open_ that are read by themselves
};

}  // namespace mankai::detail
