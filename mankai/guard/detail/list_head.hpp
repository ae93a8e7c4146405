#pragma once

/// The first lines of a list: its format, and of a CSV its heading and columns.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/guard/rule_list.hpp"

namespace mankai::detail {

/// The first lines as a CSV has them.
struct ListHead {
  std::string comment{};            ///< the last before the first row, without '#'
  std::vector<std::string> rows{};  ///< neither blank nor beginning with '#'; one record each
  std::uint64_t first_row_line = 0;
  char divider = ',';
};

/// Reads first lines. A line inside quotes is not a row: the author of one field must not choose the format.
[[nodiscard]] ListHead head_of(std::span<const std::string_view> lines);

/// Returns the detected format.
[[nodiscard]] RuleListFormat detect_format(const ListHead& head, const std::string& column);

/// The column with the rules.
struct CsvColumn {
  std::size_t place = 0;                      ///< from 0
  std::optional<std::uint64_t> heading = {};  ///< the number of its line, from 1
};

/// Errors: invalid_argument for a missing column.
[[nodiscard]] Result<CsvColumn> find_column(const std::string& wanted, const ListHead& head);

}  // namespace mankai::detail
