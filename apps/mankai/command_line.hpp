#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/mankai/subcommand.hpp"

namespace mankai::command {

/// Parses the arguments after the subcommand's name and passes each value to its option's `take`. Returns whether help
/// was requested. Errors: invalid_argument.
[[nodiscard]] Result<bool> read_arguments(const Subcommand& subcommand, const std::vector<std::string>& arguments);

/// Returns the candidate with the smallest edit distance, or an empty string if none is close.
[[nodiscard]] std::string nearest(std::string_view typed, const std::vector<std::string>& candidates);

}  // namespace mankai::command
