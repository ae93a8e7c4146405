#pragma once

/// A line of Adblock's syntax -> a rule's text, where the two say the same.

#include <string_view>

#include "mankai/guard/detail/rule_entry.hpp"

namespace mankai::detail {

/// What a line of an Adblock list is.
struct AdblockLine {
  bool is_filter = false;  ///< not blank, a comment or a heading
  bool is_exception = false;
  RuleEntry entry{};
};

/// Shape:   line without blanks at its ends; entry is a view into it.
/// Errors:  none; total.
[[nodiscard]] AdblockLine read_adblock(std::string_view line) noexcept;

/// Whether no list of another format has such a line.
[[nodiscard]] bool is_surely_adblock(std::string_view line) noexcept;

}  // namespace mankai::detail
