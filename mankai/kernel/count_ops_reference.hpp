#pragma once

/// The definition of every layout of counters, one counter at a time: every kernel is tested against it, and
/// ThreadSanitizer builds run it.

#include <algorithm>
#include <cstdint>

#include "mankai/hash/digest.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/atomic_words.hpp"
#include "mankai/kernel/count_ops.hpp"

namespace mankai::kernel::reference {

/// The blocked layout: one counter in each lane of the key's block.
struct BlockedCounters {
  /// Calls `visit(cell)` for each of the key's counters, in order.
  template <class Visit>
  static void for_each_cell(const CountShape& shape, Digest digest, const Visit& visit) {
    const std::uint64_t first_lane = probes::block_index(digest, shape.size) * probes::kBlockLanes;
    const std::uint64_t remixed = probes::remix(digest);
    for (unsigned lane = 0; lane < probes::kBlockLanes; ++lane) {
      visit((first_lane + lane) * probes::kLaneCounters + probes::counter_shift(remixed, lane) / probes::kCounterBits);
    }
  }
};

/// The partitioned layout: one counter in each partition.
struct PartitionedCounters {
  template <class Visit>
  static void for_each_cell(const CountShape& shape, Digest digest, const Visit& visit) {
    probes::CellSequence cells(digest);
    for (std::uint32_t probe = 0; probe < shape.k; ++probe) {
      visit(probe * shape.size + cells.next(shape.size));
    }
  }
};

/// The dablooms layout: one counter in each partition.
struct SteppedCounters {
  template <class Visit>
  static void for_each_cell(const CountShape& shape, Digest digest, const Visit& visit) {
    probes::SteppedSequence cells(digest);
    const auto size = static_cast<std::uint32_t>(shape.size);
    for (std::uint32_t probe = 0; probe < shape.k; ++probe) {
      visit(probe * shape.size + cells.next(size));
    }
  }
};

/// A counter's lowest bit in its word.
[[nodiscard]] inline unsigned counter_shift(std::uint64_t cell) noexcept {
  return static_cast<unsigned>(cell % probes::kLaneCounters) * probes::kCounterBits;
}

[[nodiscard]] inline std::uint64_t load_counter(const std::uint64_t* words, std::uint64_t cell) noexcept {
  return (load_word(words + cell / probes::kLaneCounters) >> counter_shift(cell)) & kStuckCounter;
}

/// Adds `difference`, 1 or -1 as unsigned. Pre: the counter has room for it.
inline void add_to_counter(std::uint64_t* words, std::uint64_t cell, std::uint64_t difference) noexcept {
  std::uint64_t* word = words + cell / probes::kLaneCounters;
  store_word(word, load_word(word) + (difference << counter_shift(cell)));
}

/// The smallest of the key's counters.
template <class Layout>
[[nodiscard]] std::uint32_t smallest_counter(const std::uint64_t* words, const CountShape& shape,
                                             Digest digest) noexcept {
  std::uint64_t smallest = kStuckCounter;
  Layout::for_each_cell(shape, digest,
                        [&](std::uint64_t cell) { smallest = std::min(smallest, load_counter(words, cell)); });
  return static_cast<std::uint32_t>(smallest);
}

/// Increments the key's counters, except those that are stuck, as the only writer.
template <class Layout>
Counted count_key(std::uint64_t* words, const CountShape& shape, Digest digest) noexcept {
  Counted counted{.seen = true, .stuck = 0};
  Layout::for_each_cell(shape, digest, [&](std::uint64_t cell) {
    const std::uint64_t before = load_counter(words, cell);
    counted.seen = counted.seen && before != 0;
    if (before != kStuckCounter) {
      add_to_counter(words, cell, 1);
      counted.stuck = static_cast<std::uint16_t>(counted.stuck + (before + 1 == kStuckCounter ? 1 : 0));
    }
  });
  return counted;
}

/// Decrements the key's counters, except those that are stuck, or none if one is 0, as the only writer. Returns whether
/// it did.
template <class Layout>
bool uncount_key(std::uint64_t* words, const CountShape& shape, Digest digest) noexcept {
  if (smallest_counter<Layout>(words, shape, digest) == 0) {
    return false;
  }
  Layout::for_each_cell(shape, digest, [&](std::uint64_t cell) {
    if (load_counter(words, cell) != kStuckCounter) {
      add_to_counter(words, cell, ~std::uint64_t{0});
    }
  });
  return true;
}

}  // namespace mankai::kernel::reference
