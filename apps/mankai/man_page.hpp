#pragma once

#include <string>
#include <vector>

#include "apps/mankai/subcommand.hpp"

namespace mankai::command {

/// A page of section 1, in man(7) macros.
struct ManPage {
  std::string name;  ///< "mankai-dedup"
  std::string text;
};

/// mankai(1), and a page per command that it links to, from the texts of the help.
[[nodiscard]] std::vector<ManPage> man_pages(const std::vector<Subcommand>& subcommands, const std::string& version);

}  // namespace mankai::command
