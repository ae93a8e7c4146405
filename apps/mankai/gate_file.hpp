#pragma once

#include <string>

#include "mankai/base/error.hpp"
#include "mankai/store/store.hpp"

namespace mankai::command {

/// Whether a file may be changed by others than `mankai gate sync`, as far as is told by what stands beside it. Errors:
/// invalid_argument, with what to do instead, for one that is a gate of a database: its changes would go unnoticed, and
/// keys that have rows be "empty".
[[nodiscard]] Result<void> check_is_no_gate(const std::string& file);

/// As far as is told by its position, which goes wherever the file goes.
[[nodiscard]] Result<void> check_is_no_gate(const std::string& file, const Store& store);

/// By both, before a file is replaced, if it is there. Cost: reads it.
[[nodiscard]] Result<void> check_replaces_no_gate(const std::string& file);

}  // namespace mankai::command
