#pragma once

/// Bytes, schemes and ports of URLs, for both parsers.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "mankai/base/ascii.hpp"

namespace mankai::url {

/// Removes white space and control bytes from both ends.
[[nodiscard]] constexpr std::string_view without_blanks(std::string_view text) noexcept {
  return trimmed(text, [](char byte) { return static_cast<unsigned char>(byte) <= ' '; });
}

/// Whether URL parsers drop the byte wherever it occurs.
[[nodiscard]] constexpr bool is_line_byte(char byte) noexcept { return byte == '\t' || byte == '\r' || byte == '\n'; }

struct Scheme {
  std::string_view name;
  std::optional<std::uint16_t> default_port;
};

/// Schemes whose slashes may be omitted, and whose default port is dropped. `canonicalize` uses the first three.
inline constexpr Scheme kSchemes[] = {{"http", 80}, {"https", 443}, {"ftp", 21}, {"ws", 80}, {"wss", 443}};

/// Returns the length of "name" if text begins with "name:", else 0 [RFC3986] §3.1.
[[nodiscard]] constexpr std::size_t scheme_length(std::string_view text) noexcept {
  const auto* const stop = std::ranges::find_if_not(
      text, [](char byte) { return is_letter(byte) || is_digit(byte) || byte == '+' || byte == '-' || byte == '.'; });
  const bool is_scheme = !text.empty() && is_letter(text.front()) && stop != text.end() && *stop == ':';
  return is_scheme ? static_cast<std::size_t>(stop - text.begin()) : 0;
}

/// Whether text, after "example.org:", begins with a port, followed by a byte of `ends` or the end of the text.
[[nodiscard]] constexpr bool begins_with_port(std::string_view text, std::string_view ends) noexcept {
  const auto* const stop = std::ranges::find_if_not(text, is_digit);
  return stop != text.begin() && (stop == text.end() || ends.contains(*stop));
}

/// Parses a part of an IPv4 address: decimal, octal after "0", hexadecimal after "0x"; saturates.
[[nodiscard]] inline std::optional<std::uint64_t> parse_ipv4_part(std::string_view text) noexcept {
  constexpr int kHexadecimal = 16;
  constexpr int kOctal = 8;
  int radix = 10;
  if (text.starts_with("0x")) {
    radix = kHexadecimal;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text.front() == '0') {
    radix = kOctal;
    text.remove_prefix(1);
  }
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, radix);
  if (stop != text.data() + text.size() || error == std::errc::invalid_argument) {
    return std::nullopt;
  }
  return error == std::errc() ? value : UINT64_MAX;
}

/// Returns nothing if the text is not a number up to 65535. An empty text is 0.
[[nodiscard]] constexpr std::optional<std::uint32_t> parse_port(std::string_view digits) noexcept {
  constexpr std::uint32_t kMaxPort = 65535;
  std::uint32_t port = 0;
  for (const char digit : digits) {
    port = port * 10 + static_cast<std::uint32_t>(digit - '0');
    if (!is_digit(digit) || port > kMaxPort) {
      return std::nullopt;
    }
  }
  return port;
}

}  // namespace mankai::url
