#pragma once

/// The layout of a change's payload (filter/change.hpp).

#include <cstddef>
#include <cstdint>

namespace mankai::detail {

inline constexpr std::size_t kPayloadAlignment = sizeof(std::uint64_t);

/// Bytes of a name in a payload: one more than a filter stores, so that a longer name is recognized.
inline constexpr std::size_t kMostNameBytes = 1025;

/// False for NaN.
[[nodiscard]] constexpr bool is_strength(double strength) noexcept { return strength > 0 && strength <= 1; }

}  // namespace mankai::detail
