#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/mankai/subcommand.hpp"

namespace mankai::command {

/// Reads the arguments after the subcommand's name and hands each value to its option. Returns whether they ask for
/// help instead. Errors: invalid_argument.
[[nodiscard]] Result<bool> read_arguments(const Subcommand& subcommand, const std::vector<std::string>& arguments);

/// Returns the candidate that was most likely meant, or nothing if none is near.
[[nodiscard]] std::string nearest(std::string_view typed, const std::vector<std::string>& candidates);

}  // namespace mankai::command
