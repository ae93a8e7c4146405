#pragma once

/// How the arrays of a change's payload stand (catalog/changes.hpp).

#include <cstddef>
#include <cstdint>

#include "mankai/filter/decayed_top.hpp"

namespace mankai::detail {

/// Each array begins at a multiple of so many bytes.
inline constexpr std::size_t kPayloadAlignment = sizeof(std::uint64_t);

/// What is written of a key that is kept: one byte more than a filter keeps says that it is longer.
inline constexpr std::size_t kMostNameBytes = DecayedTop::kMostKeyBytes + 1;

/// False for what is no number.
[[nodiscard]] constexpr bool is_strength(double strength) noexcept { return strength > 0 && strength <= 1; }

}  // namespace mankai::detail
