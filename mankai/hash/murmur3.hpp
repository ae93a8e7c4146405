#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace mankai {

/// MurmurHash3_x64_128: for filters that are taken over from programs that hash so, and for nothing new. It is slower
/// than XXH3, and keys that collide under every seed are known.
///
/// Shape:   any bytes, any length, also empty; both halves of the hash, the lower one first.
/// Cost:    about 20 ns for 70 bytes.
/// Errors:  none; total.
/// Threads: pure.
/// Source:  [Appleby2011], whose key lengths are `int`: equal for every length that those have.
[[nodiscard]] std::array<std::uint64_t, 2> murmur3_x64_128(std::string_view key, std::uint32_t seed) noexcept;

}  // namespace mankai
