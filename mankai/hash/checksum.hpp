#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mankai {

/// Returns the checksum of bytes that are stored: XXH3_64 with a seed. Finds damage, not forgery.
/// Cost: about the speed of memory beyond the cache. Threads: safe.
[[nodiscard]] std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed = 0) noexcept;

}  // namespace mankai
