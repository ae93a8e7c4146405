#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace mankai::url {

/// "%XX".
inline constexpr std::size_t kEscapeBytes = 3;

/// Returns the byte that the escape at the beginning of `text` stands for, or nothing where there is none.
[[nodiscard]] std::optional<char> escaped_byte(std::string_view text) noexcept;

/// Overwrites `decoded` with the raw URL less white space around it, its fragment, every TAB, CR and LF, and all its
/// percent escapes, those that only come up by undoing others too.
///
/// Cost:    linear: each byte is appended once and each escape undone once.
/// Errors:  none; total. What is no escape ("%", "%4", "%zz") stays as it is.
void decode(std::string_view raw, std::string& decoded);

/// Appends `bytes` with %XX for every byte that a canonical URL does not hold as it is: 0x00-0x20, 0x7f-0xff, '#', '%'.
void append_escaped(std::string_view bytes, std::string& text);

/// Whether a canonical URL holds the byte as it is.
[[nodiscard]] constexpr bool is_plain(char byte) noexcept {
  return byte > ' ' && byte < '\x7f' && byte != '#' && byte != '%';
}

}  // namespace mankai::url
