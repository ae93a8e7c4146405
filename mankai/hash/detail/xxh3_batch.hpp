#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "mankai/hash/digest.hpp"

/// XXH3_64bits_withSeed for batches of keys, digest for digest, without branches on their lengths: where these vary, as
/// those of URLs do, XXH3 spends half of its time in mispredicted branches.
///
/// Source: [Collet2019]. For 17 to 128 bytes XXH3 sums folded products of blocks of 16 bytes, as many from the start of
/// the key as from its end. Here the keys of a window are sorted by the number of their blocks, and vectors hash 4 or 8
/// of a sort at once. Every load is inside a key or the array of keys.
namespace mankai::xxh3_batch {

/// Keys that are sorted at once; their numbers are bytes. A multiple of the number of lanes.
inline constexpr std::size_t kWindow = 128;
static_assert(kWindow % 8 == 0 && kWindow <= 256);

/// XXH3's secret for a seed: two words for each block.
using Secret = std::array<std::uint64_t, 24>;

/// Hashes the keys of a window that `numbers` lists by XXH3 itself.
using Plain = void (*)(std::span<const std::string_view> keys, std::span<const std::uint8_t> numbers,
                       std::uint64_t seed, Digest* digests) noexcept;

/// Whether `hash` is faster than XXH3 itself: with wide vectors, for batches that are not small, if half of the first
/// keys have 33 to 128 bytes, and with AVX2 if their lengths differ. For shorter ones it would take twice as long.
/// Cost: 10 ns.
[[nodiscard]] bool pays(std::span<const std::string_view> keys) noexcept;

/// Asks for the bytes of a key a window before it is hashed. Requires: pays(keys). Shape: keys[c], digests[c];
/// must not overlap; `digests` also has intermediate sums.
void hash(const Secret& secret, std::uint64_t seed, std::span<const std::string_view> keys, Plain plain,
          Digest* digests) noexcept;

}  // namespace mankai::xxh3_batch
