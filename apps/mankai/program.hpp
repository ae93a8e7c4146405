#pragma once

#include <string>
#include <vector>

#include "apps/mankai/subcommand.hpp"

namespace mankai::command {

/// A program of subcommands, as its help, its man page and main() need it.
struct Program {
  std::string name;         ///< "mankai"
  std::string tagline;      ///< what it is for, a line without a full stop
  std::string description;  ///< for the man page
  std::vector<Subcommand> subcommands;
};

/// Runs the subcommand that the arguments name; returns the exit code. Errors go to standard error, one line each.
[[nodiscard]] int run_program(const Program& program, int argc, char** argv);

}  // namespace mankai::command
