#pragma once

/// Tests of ASCII bytes, independent of the locale.

#include <string_view>

namespace mankai {

[[nodiscard]] constexpr bool is_digit(char byte) noexcept { return byte >= '0' && byte <= '9'; }
[[nodiscard]] constexpr char lower(char byte) noexcept {
  return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte | 0x20) : byte;
}
[[nodiscard]] constexpr bool is_letter(char byte) noexcept { return lower(byte) >= 'a' && lower(byte) <= 'z'; }
[[nodiscard]] constexpr bool is_ascii(char byte) noexcept { return static_cast<unsigned char>(byte) < 0x80; }

/// Returns the text without leading and trailing bytes for which `is_blank(byte)` holds.
template <class IsBlank>
[[nodiscard]] constexpr std::string_view trimmed(std::string_view text, const IsBlank& is_blank) noexcept {
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

}  // namespace mankai
