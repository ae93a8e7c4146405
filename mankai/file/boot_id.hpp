#pragma once

#include <array>
#include <cstdint>

#include "mankai/base/error.hpp"
#include "mankai/file/file_calls.hpp"

namespace mankai {

/// Identifies the time since the system started: the pages that processes have written to mapped files are all there
/// while it is the same. Never all zeros.
using BootId = std::array<std::uint64_t, 2>;

/// Errors: io if the system does not have one.
[[nodiscard]] Result<BootId> boot_id(FileCalls& calls = system_calls());

}  // namespace mankai
