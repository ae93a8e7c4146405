#pragma once

/// The texts that are made from the commands: help, man pages, completions.

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

/// A page of section 1, in man(7) macros.
struct ManPage {
  std::string name;  ///< "mankai-dedup"
  std::string text;
};

/// The page of the program, and one per command that it links to, from the texts of the help.
[[nodiscard]] std::vector<ManPage> man_pages(const Program& program, const std::string& version);

/// Scripts that complete subcommands, options, the words that an option knows, and files.
[[nodiscard]] std::string bash_completion(const std::vector<Subcommand>& subcommands);
[[nodiscard]] std::string zsh_completion(const std::vector<Subcommand>& subcommands);
[[nodiscard]] std::string fish_completion(const std::vector<Subcommand>& subcommands);

}  // namespace mankai::command
