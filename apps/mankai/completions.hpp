#pragma once

#include <string>
#include <vector>

#include "apps/mankai/subcommand.hpp"

namespace mankai::command {

/// Scripts that complete subcommands, options, the words that an option knows, and files.
[[nodiscard]] std::string bash_completion(const std::vector<Subcommand>& subcommands);
[[nodiscard]] std::string zsh_completion(const std::vector<Subcommand>& subcommands);
[[nodiscard]] std::string fish_completion(const std::vector<Subcommand>& subcommands);

}  // namespace mankai::command
