#pragma once

#include <string>

#include "mankai/base/error.hpp"

namespace mankai::command {

/// Whether a file may be changed by others than `mankai gate sync`. Errors: invalid_argument, with what to do instead,
/// for one that is a gate of a database: its changes would go unnoticed, and keys that have rows be "empty".
[[nodiscard]] Result<void> check_is_no_gate(const std::string& file);

}  // namespace mankai::command
