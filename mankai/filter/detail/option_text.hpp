#pragma once

/// Parses and formats the values of options in specs.

#include <array>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"

namespace mankai::detail {

template <class T>
bool reads_whole(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

[[nodiscard]] inline std::unexpected<Error> bad(std::string_view what, std::string_view text,
                                                std::string_view way_out) {
  return fail(ErrorCode::invalid_argument,
              std::string(what) + " '" + std::string(text) + "' is wrong: give " + std::string(way_out));
}

template <class T, class U>
[[nodiscard]] Result<void> assign(T& target, const Result<U>& value) {
  if (!value) {
    return std::unexpected(value.error());
  }
  target = *value;
  return {};
}

/// The fewest digits that parse to the same number.
[[nodiscard]] std::string shortest(double value);

[[nodiscard]] inline Result<void> read_flag(std::string_view what, std::string_view text, bool& target) {
  if (text != "yes" && text != "no") {
    return bad(what, text, "yes or no");
  }
  target = text == "yes";
  return {};
}

}  // namespace mankai::detail
