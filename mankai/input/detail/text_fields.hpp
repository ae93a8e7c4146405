#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

#include "mankai/base/ascii.hpp"
#include "mankai/base/number.hpp"
#include "mankai/input/log_record.hpp"

// Shared by the parsers of several formats.

namespace mankai::detail {

[[nodiscard]] inline bool is_digits(std::string_view text) noexcept {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

/// Returns the first position of `wanted`, or the end.
[[nodiscard]] inline const char* find(const char* begin, const char* end, char wanted) noexcept {
  const void* const found = begin == end ? nullptr : std::memchr(begin, wanted, static_cast<std::size_t>(end - begin));
  return found == nullptr ? end : static_cast<const char*>(found);
}

[[nodiscard]] inline std::string_view between(const char* begin, const char* end) noexcept {
  return {begin, static_cast<std::size_t>(end - begin)};
}

/// Returns nothing for "-", which most formats write for an empty field.
[[nodiscard]] inline std::string_view unless_dash(std::string_view text) noexcept {
  return text == "-" ? std::string_view() : text;
}

/// Removes and returns the text up to the next `separator`, which is removed as well.
[[nodiscard]] inline std::string_view take_field(std::string_view& rest, char separator) noexcept {
  const std::string_view field = rest.substr(0, rest.find(separator));
  rest.remove_prefix(field.size() < rest.size() ? field.size() + 1 : field.size());
  return field;
}

inline void skip_all(std::string_view& rest, char character) noexcept {
  while (rest.starts_with(character)) {
    rest.remove_prefix(1);
  }
}

/// Parses decimal digits. "-" and "" give no number; returns false for anything else.
template <class Number>
[[nodiscard]] bool read_number(std::string_view text, std::optional<Number>& out) noexcept {
  if (text.empty() || text == "-") {
    return true;
  }
  const auto number = to_number<Number>(text);
  out = number ? number : out;
  return number.has_value();
}

/// Reads a status: a number below 1000, where 0 means none.
[[nodiscard]] inline bool read_status(std::string_view text, std::optional<unsigned>& out) noexcept {
  constexpr unsigned kStatusEnd = 1000;
  if (!read_number(text, out) || (out && *out >= kStatusEnd)) {
    return false;
  }
  if (out == 0U) {
    out.reset();
  }
  return true;
}

/// Splits "METHOD target HTTP/x" into `out.method` and `out.target`; sets an unset `out.host` to the host of an
/// absolute URL. "GET target", as in HTTP/0.9, is a request too. A target may contain spaces, since some servers log
/// what they received. Anything else is not a request and leaves both empty.
void split_request(std::string_view request, LogRecord& out) noexcept;

/// Sets an unset host to that of an absolute target, or of CONNECT's host:port.
void take_host_of_target(LogRecord& record) noexcept;

/// Returns a host without its port: "example.org:80", "[::1]:80".
[[nodiscard]] std::string_view without_port(std::string_view host) noexcept;

}  // namespace mankai::detail
