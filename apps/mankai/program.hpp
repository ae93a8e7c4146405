#pragma once

#include <string>
#include <vector>

#include "apps/mankai/subcommand.hpp"
#include "mankai/base/error.hpp"

namespace mankai::command {

/// Replaces this process by another program of the same installation: the one in this executable's folder, or else the
/// first on PATH. Returns only if it cannot.
///
/// Errors:  not_found when there is no such program, naming the command that needs it; io when it cannot be started.
[[nodiscard]] Error run_installed(const std::string& program, const std::string& command,
                                  const std::vector<std::string>& arguments);

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
