#pragma once

#include <string_view>

namespace mankai::command {

// The help of `mankai` lists these commands without containing them.
inline constexpr std::string_view kGenSummary =
    "generate realistic URLs, an access log, or a day of traffic and its block list";
inline constexpr std::string_view kLabSummary = "hold published claims about filters beside measurements";
inline constexpr std::string_view kDemoSummary =
    "a tour: a day of traffic through the four questions, beside the exact truth";

}  // namespace mankai::command
