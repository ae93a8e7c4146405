#pragma once

#include <cstddef>
#include <functional>

#include "mankai/base/error.hpp"

namespace mankai::lab::profiling {

/// Calls work(0) to work(count - 1), in any order, from a thread per processor. Errors: one of the works'.
[[nodiscard]] Result<void> in_threads(std::size_t count, const std::function<Result<void>(std::size_t)>& work);

}  // namespace mankai::lab::profiling
