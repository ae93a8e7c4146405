#pragma once

/// Single look-ups of the classic layout, compiled into their caller: scalar code that is the same for all machines, so
/// that the processor works on several keys at once.
///
/// Measured in ns per look-up of present, absent and mixed keys, beside Boost.Bloom's classic filter (k = 7) in the
/// same run. Sapphire Rapids: 1e7 keys at 1% 27, 22 and 36 against 35, 33 and 37; at 0.1% 41, 22 and 46 against 47, 26
/// and 45; 1e5 keys at 1% 8.4, 8.4 and 8.5 against 10.0, 18.5 and 15.3. Zen 4: 1e7 keys at 1% 15, 12 and 20 against 22,
/// 18 and 22; at 0.1%, where both are beyond what other guests leave of the level-3 cache, 44, 21 and 41 against 42, 17
/// and 35. At 0.1% k is 10, which takes the fewest bits; Boost's filter with k = 10 takes 1.27, 1.4 and 1.08 times as
/// long as ours (Sapphire Rapids).
///
/// Inline functions that call these must be always-inline too, as in block_ops_inline.hpp.

#include <cstdint>

#include "mankai/hash/digest.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/atomic_words.hpp"
#include "mankai/kernel/bloom_ops.hpp"
#include "mankai/kernel/bloom_ops_reference.hpp"
#include "mankai/kernel/tuning.hpp"

namespace mankai::kernel {

/// Whether all of the key's cells are set.
[[nodiscard, gnu::always_inline]] inline bool may_contain_single(const std::uint64_t* words, const BloomShape& shape,
                                                                 Digest digest) noexcept {
  constexpr std::uint32_t kTogether = 3;
  if (shape.field_bits != 0 || shape.cell_count / 8 <= kNearBytes || shape.k <= kTogether) {
    // All k: a branch that is mispredicted takes longer than the other bits.
    return reference::may_contain(words, shape, digest);
  }
  probes::CellSequence cells(digest);
  const auto next_bit = [&]() __attribute__((always_inline)) {
    const std::uint64_t cell = cells.next(shape.cell_count);
    return load_word(words + cell / 64) >> (cell % 64) & 1U;
  };
  // Absent keys end after a few lines: after three with one branch, which is mispredicted for one in eight of them, and
  // after one for half of them. At present keys branches let the next keys' lines be fetched by prediction. The fewer
  // instructions per cell, the more lines: the first three cells have no loop, and each step of the loop tests two.
  std::uint64_t all = next_bit();
  all &= next_bit();
  all &= next_bit();
  if (all == 0) {
    return false;
  }
  std::uint32_t left = shape.k - kTogether;
  if (left % 2 != 0 && next_bit() == 0) {
    return false;
  }
  for (left /= 2; left != 0; --left) {
    if (next_bit() == 0) {
      return false;
    }
    if (next_bit() == 0) {
      return false;
    }
  }
  return true;
}

}  // namespace mankai::kernel
