#pragma once

/// Reads a line of Adblock's syntax as a rule, if a rule can express it.

#include <string_view>

#include "mankai/guard/detail/rule_entry.hpp"

namespace mankai::detail {

/// A filter of an Adblock list.
struct AdblockFilter {
  bool is_exception = false;
  RuleEntry entry{};
};

/// Shape:   line without blanks at its ends, and neither blank nor a comment; entry is a view into it.
/// Errors:  none; total.
[[nodiscard]] AdblockFilter read_adblock(std::string_view line) noexcept;

/// Whether a line hides parts of pages: "##", perhaps with bytes of "@?$%" between, after nothing or names of hosts.
[[nodiscard]] bool hides_elements(std::string_view line) noexcept;

/// Whether only Adblock lists have such a line.
[[nodiscard]] bool is_surely_adblock(std::string_view line) noexcept;

}  // namespace mankai::detail
