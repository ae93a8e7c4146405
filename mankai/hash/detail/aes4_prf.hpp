#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "mankai/hash/digest.hpp"

/// A keyed hash for processors that have AES instructions. Four AES rounds under keys of their own compress each block
/// of a key, and ten rounds, a pseudorandom function, make the digest of the blocks' sum. docs/adr/0023 has the bound
/// and what it does not cover, docs/formats/image.md the definition.
///
/// Source: [Minematsu2006] sums of four rounds before a block cipher; [Keliher2007] what four rounds are worth.
/// Differs: the block cipher has independent round keys, and blocks overlap instead of being padded.
namespace mankai::aes4_prf {

inline constexpr std::size_t kBlockBytes = 16;
inline constexpr std::size_t kBlocks = 8;
inline constexpr std::size_t kChunkBytes = kBlocks * kBlockBytes;
inline constexpr std::size_t kBlockRounds = 4;
inline constexpr std::size_t kRounds = 10;

using RoundKey = std::array<std::uint8_t, kBlockBytes>;
/// The keys of ten rounds.
using Schedule = std::array<RoundKey, kRounds + 1>;

/// The expansion of a 128-bit seed: AES-128 of 0, 1, 2 …
struct alignas(64) ExpandedKey {
  std::array<std::array<RoundKey, kBlocks>, kBlockRounds> blocks;  ///< before each round, for each block
  Schedule digest;                                                 ///< for a key's sum
  Schedule chunk;                                                  ///< for the sums of a longer key's chunks
  std::array<std::uint64_t, 2> seed;                               ///< the seed that was expanded
  bool is_made;
};

/// The seed's expanded key, cached per thread. The reference is valid until the thread's next call. Cost: 2 ns, or 0.2
/// us for a seed that is not cached. Threads: safe.
[[nodiscard]] const ExpandedKey& expanded_key(const std::array<std::uint64_t, 2>& seed) noexcept;

/// Cost: 12 to 16 ns for any key of up to 128 bytes; without AES instructions 0.3 us on x86-64, more
/// elsewhere. Threads: safe.
[[nodiscard]] Digest digest(const ExpandedKey& key, std::string_view text) noexcept;

/// Shape: texts[c], digests[c]; same length; must not overlap.
void digests(const ExpandedKey& key, std::span<const std::string_view> texts, std::span<Digest> digests) noexcept;

}  // namespace mankai::aes4_prf
