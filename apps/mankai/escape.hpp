#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "apps/mankai/report.hpp"

namespace mankai::command {

/// The bytes of the UTF-8 character that a text begins with, or 0: no overlong forms, surrogates or beyond U+10FFFF.
/// Pre: not empty.
[[nodiscard]] std::size_t character_bytes(std::string_view text) noexcept;

/// Bytes for people: every one that is not part of printable UTF-8 as \xNN and backslashes doubled, or as they are if
/// all are.
[[nodiscard]] std::string printable(std::string_view bytes);

/// Adds bytes for programs: those that are not UTF-8 as \xNN and backslashes doubled, with NAME_is_escaped beside
/// them, or as they are if all are. With a label, `printable` shows them to people.
void add_bytes(const std::string& name, std::string_view bytes, Report& report, const std::string& label = "");

}  // namespace mankai::command
