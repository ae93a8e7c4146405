#pragma once

/// The blocked layout's definition, one word at a time: every vector kernel is tested against it, and ThreadSanitizer
/// builds run it.

#include <cstdint>

#include "mankai/hash/digest.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/atomic_words.hpp"

namespace mankai::kernel::reference {

[[nodiscard]] inline std::uint64_t lane_bit(std::uint64_t remixed, unsigned lane) noexcept {
  return std::uint64_t{1} << probes::lane_position(remixed, lane);
}

[[nodiscard]] inline const std::uint64_t* block_of(const std::uint64_t* words, std::uint64_t block_count,
                                                   Digest digest) noexcept {
  return words + probes::block_index(digest, block_count) * probes::kBlockLanes;
}

/// Whether every lane has the key's bit.
[[nodiscard]] inline bool may_contain(const std::uint64_t* words, std::uint64_t block_count, Digest digest) noexcept {
  const std::uint64_t* block = block_of(words, block_count, digest);
  const std::uint64_t remixed = probes::remix(digest);
  std::uint64_t missing = 0;
  for (unsigned lane = 0; lane < probes::kBlockLanes; ++lane) {
    missing |= ~load_word(block + lane) & lane_bit(remixed, lane);
  }
  return missing == 0;
}

/// Inserts as the only writer; returns whether the key was present, with the filter's false positives.
inline bool observe(std::uint64_t* words, std::uint64_t block_count, Digest digest) noexcept {
  auto* block = const_cast<std::uint64_t*>(block_of(words, block_count, digest));
  const std::uint64_t remixed = probes::remix(digest);
  std::uint64_t missing = 0;
  for (unsigned lane = 0; lane < probes::kBlockLanes; ++lane) {
    const std::uint64_t before = load_word(block + lane);
    const std::uint64_t bit = lane_bit(remixed, lane);
    missing |= ~before & bit;
    store_word(block + lane, before | bit);
  }
  return missing == 0;
}

/// Inserts beside other writers that use this function, too; returns whether this call set a bit.
inline bool insert_concurrent(std::uint64_t* words, std::uint64_t block_count, Digest digest) noexcept {
  auto* block = const_cast<std::uint64_t*>(block_of(words, block_count, digest));
  const std::uint64_t remixed = probes::remix(digest);
  std::uint64_t missing = 0;
  for (unsigned lane = 0; lane < probes::kBlockLanes; ++lane) {
    const std::uint64_t bit = lane_bit(remixed, lane);
    missing |= ~or_word(block + lane, bit) & bit;
  }
  return missing != 0;
}

}  // namespace mankai::kernel::reference
