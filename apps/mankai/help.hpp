#pragma once

#include <string>
#include <vector>

#include "apps/mankai/program.hpp"

namespace mankai::command {

/// What the exit codes mean, for help, man page and docs.
[[nodiscard]] const std::vector<std::pair<std::string, std::string>>& exit_codes();

/// "mankai dedup [OPTION...] [INPUT...]"
[[nodiscard]] std::string usage_line(const Subcommand& subcommand);
/// "-i, --input PATH", as the help and the man page show an option.
[[nodiscard]] std::string option_heading(const Option& option);

[[nodiscard]] std::string help_for(const Subcommand& subcommand);
[[nodiscard]] std::string overview(const Program& program);

}  // namespace mankai::command
