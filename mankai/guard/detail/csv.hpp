#pragma once

/// Fields of one row of CSV.
/// Lines of a CSV file -> its records, which may have line breaks inside quotes.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/guard/detail/rule_entry.hpp"
#include "mankai/guard/rule_list.hpp"

namespace mankai::detail {

/// What divides the fields of a row: a tab, ',' or ';', whichever of them, in this order, stands outside quotes; ',' if
/// none does.
[[nodiscard]] char divider_of(std::string_view row) noexcept;

/// How a line of a row ends.
enum class RowEnd : std::uint8_t {
  complete,
  open,   ///< inside quotes: the row goes on in the next line
  wrong,  ///< something follows closing quotes
};

/// Reads one line of a row, of which the lines before ended `open` or are none. Errors: none; total.
[[nodiscard]] RowEnd end_of_row(std::string_view line, char divider, bool is_open) noexcept;

/// Returns a field without its quotes and the blanks around it, a view into the row or, where it has quotes in quotes,
/// into `unquoted`. Skipped: missing_column, also where it is empty; bad_quotes.
/// Source: RFC 4180; blanks around quotes are taken off.
[[nodiscard]] RuleEntry csv_field(std::string_view row, char divider, std::size_t column, std::string& unquoted);

/// All of them, as a heading has them.
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
/// Quotes that are never closed do not take the rest of the file with them. The record is given up at the end of the
/// file, where something follows its closing quote, or when it exceeds kCsvRecordBytesMax: its first line is skipped
/// with that reason, and each line after it is read by itself.
///
/// Cost: each byte is looked at twice at most. Holds one record. Source: RFC 4180, and '#' begins a comment.
class CsvRecords {
 public:
  explicit CsvRecords(char divider) noexcept : divider_(divider) {}

  /// Takes the next line. Pre: next() returned none. The line must stay until it does again.
  void add(std::string_view line) noexcept;
  /// Gives up a record that is open at the end.
  void finish() noexcept;
  /// Returns a record that is complete, which stays until the next call; none: a line is needed.
  [[nodiscard]] std::optional<CsvRecord> next();
  /// The record that is open, as far as it has come.
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
