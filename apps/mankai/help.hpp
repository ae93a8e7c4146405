#pragma once

/// Help texts, man pages and shell completions, generated from the subcommands.

#include <string>
#include <vector>

#include "apps/mankai/program.hpp"

namespace mankai::command {

/// Codes and meanings, as in docs/cli.md.
[[nodiscard]] const std::vector<std::pair<std::string, std::string>>& exit_codes();

/// "mankai dedup [OPTION...] [INPUT...]"
[[nodiscard]] std::string usage_line(const Subcommand& subcommand);
/// "-i, --input PATH"
[[nodiscard]] std::string option_heading(const Option& option);

[[nodiscard]] std::string help_for(const Subcommand& subcommand);
[[nodiscard]] std::string overview(const Program& program);

/// A page of section 1, in man(7) macros.
struct ManPage {
  std::string name;  ///< "mankai-dedup"
  std::string text;
};

/// Returns the program's page and one per command.
[[nodiscard]] std::vector<ManPage> man_pages(const Program& program, const std::string& version);

[[nodiscard]] std::string bash_completion(const std::vector<Subcommand>& subcommands);
[[nodiscard]] std::string zsh_completion(const std::vector<Subcommand>& subcommands);
[[nodiscard]] std::string fish_completion(const std::vector<Subcommand>& subcommands);

}  // namespace mankai::command
