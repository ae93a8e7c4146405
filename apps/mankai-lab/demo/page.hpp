#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apps/mankai-lab/demo/exhibit.hpp"

namespace mankai::command::demo {

struct Tour {
  std::uint64_t asked_events = 0;  ///< requested, approximately
  std::uint64_t events = 0;
  std::uint64_t seed = 0;
  std::vector<Exhibit> exhibits{};
};

/// Identifies pages of the tour, which may be overwritten.
inline constexpr std::string_view kPageMark = "<meta name=\"generator\" content=\"mankai demo\">";

/// Returns a self-contained HTML page.
[[nodiscard]] std::string page(const Tour& tour);
[[nodiscard]] std::string table(const Tour& tour);

}  // namespace mankai::command::demo
