#pragma once

/// A line of Adblock's syntax -> a rule's text, where the two say the same.

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

/// Whether it hides parts of pages: "##", or some of "@?$%" between the two, after nothing or the names of hosts.
[[nodiscard]] bool hides_elements(std::string_view line) noexcept;

/// Whether no list of another format has such a line.
[[nodiscard]] bool is_surely_adblock(std::string_view line) noexcept;

}  // namespace mankai::detail
