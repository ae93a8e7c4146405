#pragma once

#include <charconv>
#include <concepts>
#include <limits>
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

/// A sum that stays at the largest number of its type.
template <std::unsigned_integral Number>
[[nodiscard]] constexpr Number add_saturating(Number a, Number b) noexcept {
  constexpr Number kMost = std::numeric_limits<Number>::max();
  return b > kMost - a ? kMost : a + b;
}

/// A product that stays at the largest number of its type.
template <std::unsigned_integral Number>
[[nodiscard]] constexpr Number multiply_saturating(Number a, Number b) noexcept {
  constexpr Number kMost = std::numeric_limits<Number>::max();
  return a != 0 && b > kMost / a ? kMost : a * b;
}

}  // namespace mankai
