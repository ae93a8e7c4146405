#pragma once

#include <string>
#include <vector>

#include "apps/mankai/subcommand.hpp"

namespace mankai::command {

/// mankai(1), in man(7) macros, from the texts of the help.
[[nodiscard]] std::string man_page(const std::vector<Subcommand>& subcommands, const std::string& version);

}  // namespace mankai::command
