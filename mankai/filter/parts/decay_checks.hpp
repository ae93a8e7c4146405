#pragma once

#include <cstdint>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"

namespace mankai {

/// Checks the decay that a filter is to be created with. Errors: invalid_argument where there is none.
[[nodiscard]] Result<void> check_decay(const Decay& decay);

/// Checks the epoch of an image's params, which stands at offset 72. Errors: corrupt.
[[nodiscard]] Result<void> check_epoch(std::uint64_t epoch_us);

}  // namespace mankai
