#pragma once

/// The blocked layout's definition, one word at a time: every vector kernel is tested against it, and ThreadSanitizer
/// builds run it.

#include <bit>
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

/// Inserts beside other writers that use this function, too; returns whether this call made the key present. Calls set
/// a key's missing bits in the same order, so whoever sets the last one found the others set: of several calls with one
/// absent key, exactly that one returns true. All return false only if another key's insert set this bit: then the key
/// was a false positive.
inline bool insert_concurrent(std::uint64_t* words, std::uint64_t block_count, Digest digest) noexcept {
  auto* block = const_cast<std::uint64_t*>(block_of(words, block_count, digest));
  const std::uint64_t remixed = probes::remix(digest);
  unsigned missing = 0;
  for (unsigned lane = 0; lane < probes::kBlockLanes; ++lane) {
    const bool is_set = (acquire_word(block + lane) & lane_bit(remixed, lane)) != 0;
    missing |= (is_set ? 0U : 1U) << lane;
  }
  bool sets_last = false;
  for (; missing != 0; missing &= missing - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(missing));
    const std::uint64_t bit = lane_bit(remixed, lane);
    sets_last = (or_word(block + lane, bit) & bit) == 0;
  }
  return sets_last;
}

}  // namespace mankai::kernel::reference
