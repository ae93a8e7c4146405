#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "mankai/hash/digest.hpp"

/// The keyed hash for keys that an adversary may choose: NH, a universal hash, compresses the key, then SipHash-1-3, a
/// pseudorandom function, hashes the sum. docs/adr/0014 has the proof, docs/formats/image.md the definition.
///
/// Source: [Black1999] NH; [Aumasson2012] SipHash. Differs: words of 64 bits, the length is a separate pair, and the
/// last pair overlaps the one before instead of being padded, so that no length between 16 and 128 needs a branch.
namespace mankai::nh_siphash {

/// NH sums chunks of this many bytes, whose sums SipHash absorbs.
inline constexpr std::size_t kChunkBytes = 256;
inline constexpr std::size_t kPairBytes = 16;
inline constexpr std::size_t kPairs = kChunkBytes / kPairBytes;

/// The expansion of a 128-bit seed.
struct alignas(64) ExpandedKey {
  std::array<std::uint64_t, 2 * kPairs> words;  ///< added to a chunk's words
  std::array<std::uint64_t, 4> state;           ///< SipHash's initial state
  std::uint64_t length_addend;
  std::uint64_t length_factor;
  std::array<std::uint64_t, 2> seed;  ///< the seed that was expanded
  std::size_t end_bytes;              ///< keys of fewer bytes have all words that they use
  bool is_made;
};

/// The seed's expanded key, cached per thread. The reference is valid until the thread's next call. Cost: 2 ns, or 0.15
/// us for a seed that is not cached. `digest` of a seed expands only what its key uses: a third for less than 16 bytes,
/// two thirds for up to 128. Threads: safe.
[[nodiscard]] const ExpandedKey& expanded_key(const std::array<std::uint64_t, 2>& seed) noexcept;

/// Cost: 15 to 20 ns for any key of up to 128 bytes, of which 10 is latency that batches hide. Threads: safe.
[[nodiscard]] Digest digest(const std::array<std::uint64_t, 2>& seed, std::string_view text) noexcept;
[[nodiscard]] Digest digest(const ExpandedKey& key, std::string_view text) noexcept;

/// Shape: texts[c] or numbers[c], digests[c]; same length; must not overlap.
void digests(const ExpandedKey& key, std::span<const std::string_view> texts, std::span<Digest> digests) noexcept;
void digests(const ExpandedKey& key, std::span<const std::uint64_t> numbers, std::span<Digest> digests) noexcept;

}  // namespace mankai::nh_siphash
