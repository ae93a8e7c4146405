#pragma once

/// The first lines of a list: its format and, for CSV, its heading and columns.

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

/// The first lines, read as CSV.
struct ListHead {
  std::string comment{};            ///< the last comment before the first row, without '#'
  std::vector<std::string> rows{};  ///< neither blank nor beginning with '#'; one record each
  std::uint64_t first_row_line = 0;
  char divider = ',';
};

/// Reads the first lines. A line inside quotes is not a row: the author of one field must not choose the format.
[[nodiscard]] ListHead head_of(std::span<const std::string_view> lines);

[[nodiscard]] RuleListFormat detect_format(const ListHead& head, const std::string& column);

struct CsvColumn {
  std::size_t place = 0;                      ///< from 0
  std::optional<std::uint64_t> heading = {};  ///< number of its line, from 1
};

/// Errors: invalid_argument for a missing column.
[[nodiscard]] Result<CsvColumn> find_column(const std::string& wanted, const ListHead& head);

}  // namespace mankai::detail
