#pragma once

#include <string_view>

namespace mankai::command::serve {

/// Returns how much an Accept header wants a media type that it names, from 0 (not at all, or not named) to 1.
///
/// Shape:   "text/html, application/json;q=0.9"; types in any case. Ranges such as */* name no type.
/// Threads: pure.
[[nodiscard]] double wanted(std::string_view accept, std::string_view type) noexcept;

}  // namespace mankai::command::serve
