#pragma once

#include <charconv>
#include <concepts>
#include <memory>
#include <optional>
#include <string_view>

namespace mankai {

/// Parses the whole text as a number: decimal, or an integer in the given radix.
template <class Number>
[[nodiscard]] std::optional<Number> to_number(std::string_view text, std::same_as<int> auto... radix) noexcept {
  Number number{};
  const char* const end = std::to_address(text.end());
  const auto [stop, error] = std::from_chars(std::to_address(text.begin()), end, number, radix...);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

}  // namespace mankai
