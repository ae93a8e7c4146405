#pragma once

/// Fields of one row of CSV.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/guard/detail/rule_entry.hpp"

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

}  // namespace mankai::detail
