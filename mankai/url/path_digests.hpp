#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "mankai/base/bits.hpp"
#include "mankai/hash/digest.hpp"
#include "mankai/hash/hasher.hpp"

namespace mankai::url {

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

/// Hashes each segment by itself, without its place: what filters with a level of their own take.
///
/// Shape:   digests becomes as long as segments; its memory is kept from call to call.
/// Cost:    one batch of the hasher.
/// Errors:  none; total.
/// Threads: const on the hasher; digests is the caller's.
void segment_digests(const Hasher& hasher, std::span<const std::string_view> segments, std::vector<Digest>& digests);

/// Hashes each prefix of a path: digests[i] stands for segments[0..i], in their order and at their level.
///
/// Shape:   digests becomes as long as segments; the last is the digest of the whole URL.
/// Cost:    one batch of the hasher and `chain` per segment.
/// Errors:  none; total.
/// Threads: const on the hasher; digests is the caller's.
void prefix_digests(const Hasher& hasher, std::span<const std::string_view> segments, std::vector<Digest>& digests);

}  // namespace mankai::url
