#pragma once

#include <string>
#include <vector>

#include "apps/mankai/program.hpp"

namespace mankai::command {

/// A page of section 1, in man(7) macros.
struct ManPage {
  std::string name;  ///< "mankai-dedup"
  std::string text;
};

/// The page of the program, and one per command that it links to, from the texts of the help.
[[nodiscard]] std::vector<ManPage> man_pages(const Program& program, const std::string& version);

}  // namespace mankai::command
