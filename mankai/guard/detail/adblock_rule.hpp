#pragma once

#include <string_view>

#include "mankai/guard/detail/rule_entry.hpp"

namespace mankai::detail {

/// A filter of an Adblock list, and the rule that expresses it if there is one.
struct AdblockFilter {
  bool is_exception = false;
  RuleEntry entry{};
};

/// Parses a trimmed line that is neither blank nor a comment. The entry is a view into the line.
[[nodiscard]] AdblockFilter read_adblock(std::string_view line) noexcept;

/// Whether a line hides parts of pages: "##", possibly with bytes of "@?$%" inside, at the start or after host names.
[[nodiscard]] bool hides_elements(std::string_view line) noexcept;

[[nodiscard]] bool is_surely_adblock(std::string_view line) noexcept;

}  // namespace mankai::detail
