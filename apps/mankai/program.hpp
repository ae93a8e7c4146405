#pragma once

#include <string>
#include <vector>

#include "apps/mankai/subcommand.hpp"

namespace mankai::command {

struct Program {
  std::string name;         ///< "mankai"
  std::string tagline;      ///< purpose: a line without a full stop
  std::string description;  ///< for the man page
  std::vector<Subcommand> subcommands;
};

/// Runs the subcommand named by the arguments and returns the exit code. Prints errors to standard error, one line
/// each.
[[nodiscard]] int run_program(const Program& program, int argc, char** argv);

}  // namespace mankai::command
