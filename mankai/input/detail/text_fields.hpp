#pragma once

#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

#include "mankai/input/log_record.hpp"

// What the parsers of several formats need.

namespace mankai::detail {

/// Returns where `wanted` is first, or the end.
[[nodiscard]] inline const char* find(const char* begin, const char* end, char wanted) noexcept {
  const void* const found = begin == end ? nullptr : std::memchr(begin, wanted, static_cast<std::size_t>(end - begin));
  return found == nullptr ? end : static_cast<const char*>(found);
}

[[nodiscard]] inline std::string_view between(const char* begin, const char* end) noexcept {
  return {begin, static_cast<std::size_t>(end - begin)};
}

/// "-" is how most formats say that there is nothing.
[[nodiscard]] inline std::string_view unless_dash(std::string_view text) noexcept {
  return text == "-" ? std::string_view() : text;
}

/// Takes the text up to the next `separator` off the front of `rest`, and the separator too.
[[nodiscard]] inline std::string_view take_field(std::string_view& rest, char separator) noexcept {
  const std::string_view field = rest.substr(0, rest.find(separator));
  rest.remove_prefix(field.size() < rest.size() ? field.size() + 1 : field.size());
  return field;
}

/// Drops all leading copies of a character.
inline void skip_all(std::string_view& rest, char character) noexcept {
  while (rest.starts_with(character)) {
    rest.remove_prefix(1);
  }
}

/// Reads a whole text of decimal digits; "-" and nothing are no number and fine. False for anything else.
template <class Number>
[[nodiscard]] bool read_number(std::string_view text, std::optional<Number>& out) noexcept {
  if (text.empty() || text == "-") {
    return true;
  }
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return false;
  }
  out = value;
  return true;
}

/// Reads a status: a number below 1000, where 0 is none.
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

}  // namespace mankai::detail
