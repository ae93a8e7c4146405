#pragma once

#include <string_view>

namespace mankai::command {

// The help of `mankai` lists these commands without containing them.
inline constexpr std::string_view kGenSummary =
    "generate realistic URLs, an access log, or a day of traffic and its block list";
inline constexpr std::string_view kLabSummary = "compare published claims about filters with measurements";
inline constexpr std::string_view kDemoSummary =
    "a tour: the four questions about a day of traffic, compared with exact answers";

}  // namespace mankai::command
