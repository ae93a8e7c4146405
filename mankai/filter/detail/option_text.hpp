#pragma once

/// Parses and formats the values of options in specs.

#include <string>
#include <string_view>

#include "mankai/base/error.hpp"

namespace mankai::detail {

[[nodiscard]] inline std::unexpected<Error> bad(std::string_view what, std::string_view text,
                                                std::string_view way_out) {
  return fail(ErrorCode::invalid_argument,
              "invalid " + std::string(what) + " '" + std::string(text) + "'; give " + std::string(way_out));
}

template <class T, class U>
[[nodiscard]] Result<void> assign(T& target, const Result<U>& value) {
  if (!value) {
    return std::unexpected(value.error());
  }
  target = *value;
  return {};
}

/// As assign. 0 is invalid: it stands for the default.
template <class T, class U>
[[nodiscard]] Result<void> assign_positive(std::string_view what, std::string_view text, T& target,
                                           const Result<U>& value) {
  if (value && *value == 0) {
    return bad(what, text, "a number above 0");
  }
  return assign(target, value);
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
