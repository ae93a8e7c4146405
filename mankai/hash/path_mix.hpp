#pragma once

/// Digests of segments -> digests of paths. They are keys of stored filters, so a change here makes those wrong.

#include <cstdint>

#include "mankai/base/bits.hpp"
#include "mankai/hash/digest.hpp"
#include "mankai/hash/hasher.hpp"

namespace mankai {

/// Tells one level from the next inside `chain`: 2^64 over the golden ratio, the increment of [Steele2014].
inline constexpr std::uint64_t kLevelStep = 0x9e3779b97f4a7c15U;

/// Returns the digest of a path one segment longer: K_i = mix(K_{i-1}, segment_i, i).
///
/// Shape:   level 0 is the authority, whose `previous` is Digest{}; the first segment of the path is level 1.
/// Cost:    three folded multiplications, 4 ns.
/// Errors:  none; total.
/// Threads: pure.
/// Source:  the fold of mix_integer, once over the prefix and its level and twice over the segment. Differs from the
///          XOR of the segments' hashes, which forgets their order and cancels a segment that comes twice.
[[nodiscard]] constexpr Digest chain(Digest previous, Digest segment, std::uint64_t level) noexcept {
  const std::uint64_t prefix = mix_integer(previous.value, (level + 1) * kLevelStep).value;
  return mix_integer(mix_integer(segment.value, prefix).value, kMixFirst);
}

/// Returns the digest of a segment at its level, whatever comes before it: as if it followed a prefix that no path
/// begins with, so that it is not the digest of the path of that one segment either.
///
/// Cost:    as chain, half of it the same for all segments of a level.
/// Errors:  none; total.
/// Threads: pure.
[[nodiscard]] constexpr Digest at_level(Digest segment, std::uint64_t level) noexcept {
  return chain(Digest{kMixSecond}, segment, level);
}

}  // namespace mankai
