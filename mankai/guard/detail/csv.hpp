#pragma once

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

enum class RowEnd : std::uint8_t {
  complete,
  open,   ///< inside quotes: the next line continues the row
  wrong,  ///< text follows closing quotes
};

/// Classifies one line of a row. `is_open`: the previous line ended `open`.
[[nodiscard]] RowEnd end_of_row(std::string_view line, char divider, bool is_open) noexcept;

/// Returns a field without quotes and surrounding blanks, a view into the row or into `unquoted`. Skipped:
/// missing_column, also for an empty field; bad_quotes. Source: RFC 4180, and blanks around quotes.
[[nodiscard]] RuleEntry csv_field(std::string_view row, char divider, std::size_t column, std::string& unquoted);

[[nodiscard]] std::vector<std::string> csv_fields(std::string_view row, char divider);

/// A record, a blank line, or a comment.
struct CsvRecord {
  std::string_view text{};  ///< its lines, separated by line feeds
  std::uint64_t line = 0;   ///< number of the first line, from 1
  std::uint64_t lines = 1;
  std::optional<RuleSkip> skipped{};  ///< bad_quotes or long_record: text is only the first line
};

/// Joins lines while a quoted field is open. A record is given up at the end of the file, if text follows its closing
/// quote, or if it exceeds kCsvRecordBytesMax, so that an unclosed quote cannot swallow the file: its first line is
/// skipped, and the lines after it are read one by one. Source: RFC 4180, and '#' begins a comment.
class CsvRecords {
 public:
  explicit CsvRecords(char divider) noexcept : divider_(divider) {}

  /// Adds the next line, which must stay valid until next() returns nothing. Pre: next() returned nothing.
  void add(std::string_view line) noexcept;
  void finish() noexcept;
  /// Returns a complete record, valid until the next call; nothing if another line is needed.
  [[nodiscard]] std::optional<CsvRecord> next();
  [[nodiscard]] std::optional<CsvRecord> open_record() const noexcept;

 private:
  [[nodiscard]] std::optional<CsvRecord> begin_record(std::string_view line);
  [[nodiscard]] std::optional<CsvRecord> continue_record(std::string_view line);
  [[nodiscard]] CsvRecord give_up(RuleSkip reason);
  [[nodiscard]] CsvRecord next_alone() noexcept;

  char divider_;
  std::optional<std::string_view> line_;  ///< the added line
  std::uint64_t lines_ = 0;               ///< number of added lines
  bool is_finished_ = false;
  std::string open_;  ///< the lines of the record that is open or was given up
  std::uint64_t open_lines_ = 0;
  std::optional<std::string_view> alone_;  ///< the lines of open_ that are read one by one
};

}  // namespace mankai::detail
