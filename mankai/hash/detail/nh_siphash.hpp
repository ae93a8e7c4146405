#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "mankai/hash/digest.hpp"

/// The keyed hash for keys that an adversary chooses: NH, a universal hash that compresses, then SipHash-1-3, a
/// pseudorandom function of what is left. docs/adr/0014 has the proof, docs/formats/image.md the definition.
///
/// Source: [Black1999] NH; [Aumasson2012] SipHash. Differs: words of 64 bits, the length is a pair of its own, and the
/// last pair overlaps the one before instead of being padded, so that no length between 16 and 128 takes a branch.
namespace mankai::nh_siphash {

/// NH sums this many bytes before SipHash takes the sum.
inline constexpr std::size_t kChunkBytes = 256;
inline constexpr std::size_t kPairBytes = 16;
inline constexpr std::size_t kPairs = kChunkBytes / kPairBytes;

/// The words that a seed of 128 bits is expanded to.
struct alignas(64) ExpandedKey {
  std::array<std::uint64_t, 2 * kPairs> words;  ///< added to a chunk's words
  std::array<std::uint64_t, 4> state;           ///< SipHash's, before the first word
  std::uint64_t length_addend;
  std::uint64_t length_factor;
  std::array<std::uint64_t, 2> seed;  ///< that all this was made of
  bool is_made;
};

/// Returns the seed's expanded key, from the thread's latest ones if it is there. The reference holds until the thread
/// asks for another. Cost: 2 ns, or 0.4 us for a seed that was not in use. Threads: safe.
[[nodiscard]] const ExpandedKey& expanded_key(const std::array<std::uint64_t, 2>& seed) noexcept;

/// Cost: 15 to 20 ns for any key of up to 128 bytes, of which 10 is latency that batches hide. Threads: safe.
[[nodiscard]] Digest digest(const ExpandedKey& key, std::string_view text) noexcept;

/// A number's digest is that of its eight bytes.
[[nodiscard]] Digest digest(const ExpandedKey& key, std::uint64_t number) noexcept;

/// Shape: texts[c] or numbers[c], digests[c]; same length; must not overlap.
void digests(const ExpandedKey& key, std::span<const std::string_view> texts, std::span<Digest> digests) noexcept;
void digests(const ExpandedKey& key, std::span<const std::uint64_t> numbers, std::span<Digest> digests) noexcept;

}  // namespace mankai::nh_siphash
