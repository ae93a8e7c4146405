#pragma once

#include <string>
#include <string_view>

namespace mankai::command::serve {

/// Escapes bytes for HTML text. Bytes other than printable ASCII become %XX: invisible or right-to-left characters
/// could disguise a URL.
[[nodiscard]] std::string html_text(std::string_view bytes);

struct Warning {
  std::string_view url;            ///< as requested
  std::string_view rule;           ///< as it is in the list
  double false_positive_rate = 0;  ///< 0 for an exact guard
};

/// Returns the page for a blocked URL; it contains no link to that URL.
[[nodiscard]] std::string warning_page(const Warning& warning);

/// Returns the page for a URL that cannot be redirected to; `why` is a sentence in ASCII.
[[nodiscard]] std::string refusal_page(std::string_view url, std::string_view why);

/// Returns the Content-Security-Policy of the pages, which allows only their own style sheet.
[[nodiscard]] std::string_view page_policy() noexcept;

}  // namespace mankai::command::serve
