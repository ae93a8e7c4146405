#pragma once

#include <cstddef>
#include <string_view>

namespace mankai::detail {

/// An anchor is as many labels: what is looked for first.
inline constexpr std::size_t kAnchorLabels = 2;

/// Returns the last `labels` labels of a host, or the whole host where it has no more.
[[nodiscard]] constexpr std::string_view last_labels(std::string_view host, std::size_t labels) noexcept {
  std::size_t begin = host.size();
  for (std::size_t i = 0; i < labels; ++i) {
    const std::size_t dot = begin == 0 ? std::string_view::npos : host.rfind('.', begin - 1);
    if (dot == std::string_view::npos) {
      return host;
    }
    begin = dot;
  }
  return host.substr(begin + 1);
}

}  // namespace mankai::detail
