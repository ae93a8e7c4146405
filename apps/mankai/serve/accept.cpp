#include "apps/mankai/serve/accept.hpp"

#include <algorithm>
#include <charconv>
#include <ranges>

namespace mankai::command::serve {
namespace {

char lower(char byte) noexcept { return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + ('a' - 'A')) : byte; }

bool is_same(std::string_view text, std::string_view lowered) noexcept {
  return std::ranges::equal(text, lowered, {}, lower);
}

std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  return begin == std::string_view::npos ? std::string_view()
                                         : text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

// Of ";q=0.5" and what else stands behind a type; what is no number wants nothing.
double quality(std::string_view parameters) noexcept {
  for (const auto part : std::views::split(parameters, ';')) {
    const std::string_view parameter = trimmed(std::string_view(part));
    if (!is_same(parameter.substr(0, 2), "q=")) {
      continue;
    }
    const std::string_view number = parameter.substr(2);
    double value = 0;
    const auto parsed = std::from_chars(number.begin(), number.end(), value, std::chars_format::fixed);
    return parsed.ec == std::errc() && parsed.ptr == number.end() && value >= 0 ? std::min(value, 1.0) : 0;
  }
  return 1;
}

}  // namespace

double wanted(std::string_view accept, std::string_view type) noexcept {
  double most = 0;
  for (const auto part : std::views::split(accept, ',')) {
    const std::string_view element(part);
    const std::string_view name = element.substr(0, element.find(';'));
    if (is_same(trimmed(name), type)) {
      most = std::max(most, quality(element.substr(name.size())));
    }
  }
  return most;
}

}  // namespace mankai::command::serve
