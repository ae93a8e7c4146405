#pragma once

#include <string>

#include "apps/mankai/program.hpp"

namespace mankai::command {

/// The program's page in section 1, in man(7) macros, from the texts of the help.
[[nodiscard]] std::string man_page(const Program& program, const std::string& version);

}  // namespace mankai::command
