#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/mankai/subcommand.hpp"

namespace mankai::command {

/// What the arguments ask for besides the values that went to the options.
enum class Wish : std::uint8_t { run, help };

/// Reads the arguments after the subcommand's name and hands each value to its option.
/// Errors: invalid_argument with a line for people.
[[nodiscard]] Result<Wish> read_arguments(const Subcommand& subcommand, const std::vector<std::string>& arguments);

/// Returns the candidate that was most likely meant, or nothing if none is near.
[[nodiscard]] std::string nearest(std::string_view typed, const std::vector<std::string>& candidates);

}  // namespace mankai::command
