#pragma once

#include <string>
#include <vector>

#include "apps/mankai/hot_run.hpp"

namespace mankai::command {

/// Counts the records of logs in a server, and prints its table at the end. `creation`: options of HOT.RESERVE for a
/// missing key. Returns the exit code. Errors: as run_hot and RemoteFilter; invalid_argument for options of files.
[[nodiscard]] Result<int> run_hot_remote(const HotRunRequest& request, const std::string& state,
                                         const std::vector<std::string>& creation);

}  // namespace mankai::command
