#pragma once

/// The definition of every layout of counters, one counter at a time: every kernel is tested against it, and
/// ThreadSanitizer builds run it.

#include <algorithm>
#include <atomic>
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

// ---- beside other writers, threads or processes, that use only these functions
//
// A counter changes by compare-and-swap of its word, so no change is lost, and one that is stuck stays so. A writer
// that dies between the counters of a key leaves some too high, never too low.

/// Adds `difference`, 1 or -1 as unsigned, unless the counter is stuck, or 0 and would decrease. Returns what it was.
inline std::uint64_t add_to_counter_concurrent(std::uint64_t* words, std::uint64_t cell,
                                               std::uint64_t difference) noexcept {
  const std::atomic_ref<std::uint64_t> word(words[cell / probes::kLaneCounters]);
  const unsigned shift = counter_shift(cell);
  std::uint64_t before = word.load(std::memory_order_acquire);
  for (;;) {
    const std::uint64_t counter = before >> shift & kStuckCounter;
    if (counter == kStuckCounter || (counter == 0 && difference != 1) ||
        word.compare_exchange_weak(before, before + (difference << shift), std::memory_order_acq_rel,
                                   std::memory_order_acquire)) {
      return counter;
    }
  }
}

/// Increments the key's counters, except those that are stuck; returns whether this call made the key present. A
/// counter that was 0 is incremented last: if it is then 1, the other ones are above 0 by this very call. So at most
/// one call returns true until the key is removed. Of several calls with one absent key exactly one does, unless a
/// change of another key or a removal of this one comes between: each takes the last counter that it found 0 in the
/// order of cells, and whoever incremented the highest of these first had incremented all others before.
template <class Layout>
bool count_key_concurrent(std::uint64_t* words, const CountShape& shape, Digest digest) noexcept {
  constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::uint64_t last = kNone;
  Layout::for_each_cell(shape, digest,
                        [&](std::uint64_t cell) { last = load_counter(words, cell) == 0 ? cell : last; });
  Layout::for_each_cell(shape, digest, [&](std::uint64_t cell) {
    if (cell != last) {
      add_to_counter_concurrent(words, cell, 1);
    }
  });
  return last != kNone && add_to_counter_concurrent(words, last, 1) == 0;
}

/// Decrements the key's counters, except those that are stuck, or none if one is 0. Returns the smallest counter that
/// the key had.
template <class Layout>
std::uint32_t uncount_key_concurrent(std::uint64_t* words, const CountShape& shape, Digest digest) noexcept {
  const std::uint32_t smallest = smallest_counter<Layout>(words, shape, digest);
  if (smallest != 0) {
    Layout::for_each_cell(shape, digest,
                          [&](std::uint64_t cell) { add_to_counter_concurrent(words, cell, ~std::uint64_t{0}); });
  }
  return smallest;
}

}  // namespace mankai::kernel::reference
