#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apps/mankai-lab/demo/exhibit.hpp"

namespace mankai::command::demo {

/// What the tour was asked for and found, in the order of the tour.
struct Tour {
  std::uint64_t asked_events = 0;  ///< about so many were wanted
  std::uint64_t events = 0;
  std::uint64_t seed = 0;
  std::vector<Exhibit> exhibits{};
};

/// Every page of the tour has this in its head, by which it is known again.
inline constexpr std::string_view kPageMark = "<meta name=\"generator\" content=\"mankai demo\">";

/// Returns the page: one file that loads nothing.
[[nodiscard]] std::string page(const Tour& tour);
/// Returns the table for a terminal.
[[nodiscard]] std::string table(const Tour& tour);

}  // namespace mankai::command::demo
