#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mankai {

/// XXH3_64 of stored bytes. Detects corruption, not forgery. Cost: about memory speed beyond the cache. Threads: pure.
[[nodiscard]] std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed = 0) noexcept;

}  // namespace mankai
