#pragma once

#include <string>
#include <vector>

#include "mankai/base/error.hpp"

namespace mankai::command {

/// Replaces this process by another program of the same installation: the one in this executable's folder, or else the
/// first on PATH. Returns only if it cannot.
///
/// Errors:  not_found when there is no such program, naming the command that needs it; io when it cannot be started.
[[nodiscard]] Error run_installed(const std::string& program, const std::string& command,
                                  const std::vector<std::string>& arguments);

}  // namespace mankai::command
