#pragma once

#include <string>
#include <string_view>

namespace mankai::command::serve {

/// Bytes as text of an HTML page: markup is escaped, and bytes other than printable ASCII are %XX, because invisible
/// characters and changes of direction could make the page show another address.
[[nodiscard]] std::string html_text(std::string_view bytes);

struct Warning {
  std::string_view url;            ///< as requested
  std::string_view rule;           ///< the expression on the list
  double false_positive_rate = 0;  ///< 0 for an exact guard
};

/// The page for a person who followed a link to a blocked URL. Nothing on it links to that URL.
[[nodiscard]] std::string warning_page(const Warning& warning);

/// The page for a link that cannot be followed; `why` is a sentence in ASCII.
[[nodiscard]] std::string refusal_page(std::string_view url, std::string_view why);

/// The Content-Security-Policy of the pages: their own style sheet and nothing else.
[[nodiscard]] std::string_view page_policy() noexcept;

}  // namespace mankai::command::serve
