#pragma once

#include <string>
#include <string_view>

namespace mankai::command::serve {

/// Bytes as text of an HTML page: markup escaped, and what is no printable ASCII as %XX, since other scripts have
/// characters that cannot be seen, or turn the direction around, and so show another address than there is.
[[nodiscard]] std::string html_text(std::string_view bytes);

struct Warning {
  std::string_view url;            ///< as it was asked for
  std::string_view rule;           ///< the expression that a list has
  double false_positive_rate = 0;  ///< how often the filter is wrong about a URL on no list; 0 for never
};

/// The page for a person who followed a link to a blocked URL. Nothing on it leads there.
[[nodiscard]] std::string warning_page(const Warning& warning);

/// The page for a link that cannot be followed; `why` is a sentence in ASCII.
[[nodiscard]] std::string refusal_page(std::string_view url, std::string_view why);

/// What the pages may load, which is their own style sheet and nothing else.
[[nodiscard]] std::string_view page_policy() noexcept;

}  // namespace mankai::command::serve
