#include <algorithm>
#include <utility>

#include "mankai/base/bits.hpp"
#include "mankai/hash/hasher.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/atomic_words.hpp"
#include "mankai/kernel/bloom_ops.hpp"
#include "mankai/kernel/count_ops.hpp"
#include "mankai/kernel/tuning.hpp"

// This file is compiled once per instruction set by Highway's foreach_target.
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mankai/kernel/count_partitioned.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "mankai/kernel/bloom_window-inl.hpp"
#include "mankai/kernel/detail/reference_counts.hpp"
#include "mankai/kernel/detail/target_tables.hpp"
#include "mankai/kernel/digest_vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mankai::kernel {
namespace HWY_NAMESPACE {
namespace {

HWY_INLINE bool is_near(const CountShape& shape) {
  return shape.size * shape.k * probes::kCounterBits / 8 <= kNearBytes;
}

// Positions within a partition are those of a classic filter of its size.
HWY_INLINE BloomShape partition_shape(const CountShape& shape) {
  return {.cell_count = shape.size, .k = shape.k, .field_bits = 0};
}

struct Place {
  std::uint64_t word;
  unsigned shift;

  explicit HWY_INLINE Place(std::uint64_t cell)
      : word(cell / probes::kLaneCounters),
        shift(static_cast<unsigned>(cell % probes::kLaneCounters) * probes::kCounterBits) {}
  HWY_INLINE std::uint64_t load(const std::uint64_t* words) const {
    return (MANKAI_SHARED(words[word]) >> shift) & kStuckCounter;
  }
};

// The key's counter in each partition, one partition after the other.
template <class Positions, class Visit>
HWY_INLINE void for_each_place(const Positions& window, const CountShape& shape, std::size_t key, const Visit& visit) {
  std::uint64_t first_cell = 0;
  for (std::size_t probe = 0; probe < shape.k; ++probe) {
    visit(Place(first_cell + window.cell(probe, key)));
    first_cell += shape.size;
  }
}

HWY_INLINE void prefetch_places(const std::uint64_t* words, const Near& window, const CountShape& shape,
                                std::size_t key) {
  for_each_place(window, shape, key, [&](const Place& place) HWY_ATTR { prefetch_line(words + place.word); });
}

struct SmallestOfKey {
  HWY_INLINE std::uint8_t operator()(const std::uint64_t* words, const Near& window, const CountShape& shape,
                                     std::size_t key) const {
    std::uint64_t smallest = kStuckCounter;
    for_each_place(window, shape, key,
                   [&](const Place& place) HWY_ATTR { smallest = std::min(smallest, place.load(words)); });
    return static_cast<std::uint8_t>(smallest);
  }
};

// Returns whether the key was present.
struct IncrementKey {
  std::uint64_t* stuck;

  HWY_INLINE std::uint8_t operator()(std::uint64_t* words, const Near& window, const CountShape& shape,
                                     std::size_t key) const {
    std::uint64_t smallest = kStuckCounter;
    for_each_place(window, shape, key, [&](const Place& place) HWY_ATTR {
      const std::uint64_t before = place.load(words);
      smallest = std::min(smallest, before);
      MANKAI_SHARED(words[place.word]) += static_cast<std::uint64_t>(before != kStuckCounter) << place.shift;
      // Rare; updating a sum in memory for each counter would cost more.
      if (before == kStuckCounter - 1) [[unlikely]] {
        ++*stuck;
      }
    });
    return static_cast<std::uint8_t>(smallest != 0);
  }
};

// Returns whether it was refused.
struct DecrementKey {
  HWY_INLINE std::uint8_t operator()(std::uint64_t* words, const Near& window, const CountShape& shape,
                                     std::size_t key) const {
    if (SmallestOfKey{}(words, window, shape, key) == 0) {
      return 1;
    }
    for_each_place(window, shape, key, [&](const Place& place) HWY_ATTR {
      MANKAI_SHARED(words[place.word]) -= static_cast<std::uint64_t>(place.load(words) != kStuckCounter) << place.shift;
    });
    return 0;
  }
};

// Visits the keys in order, so that a repeated key in the window finds the first. Prefetches the next window's lines
// beyond the cache. Calls `answer(first key, outcomes, count)`.
template <bool kPrefetch, class Words, class Source, class Touch, class Answer>
HWY_INLINE void visit_windows_of(Words* words, const CountShape& shape, const Source& source, std::size_t count,
                                 const Touch& touch, const Answer& answer) {
  const BloomShape partition = partition_shape(shape);
  Near windows[2];
  std::uint8_t outcomes[kNearBloomWindow];
  Near* current = &windows[0];
  Near* next = &windows[1];
  current->open(partition, source, 0, count);
  while (current->count != 0) {
    next->open(partition, source, current->start + current->count, count);
    for (std::size_t key = 0; key < current->count; ++key) {
      if (kPrefetch && key < next->count) {
        prefetch_places(words, *next, shape, key);
      }
      outcomes[key] = touch(words, *current, shape, key);
    }
    answer(current->start, outcomes, current->count);
    std::swap(current, next);
  }
}

template <class Words, class Source, class Touch, class Answer>
HWY_INLINE void visit_windows(Words* words, const CountShape& shape, const Source& source, std::size_t count,
                              const Touch& touch, const Answer& answer) {
  if (is_near(shape)) {
    visit_windows_of<false>(words, shape, source, count, touch, answer);
  } else {
    visit_windows_of<true>(words, shape, source, count, touch, answer);
  }
}

// Tests a window partition by partition: each round tests one counter of every key whose counters so far are nonzero,
// and prefetches the next line of those that remain. An absent key costs two lines on average instead of k. The first
// counters' lines are prefetched already.
HWY_INLINE void test_window_in_rounds(const std::uint64_t* words, const Far& window, const CountShape& shape,
                                      bool* outcomes) {
  std::uint16_t remaining[kFarBloomWindow];
  std::size_t count = window.count;
  for (std::size_t key = 0; key < count; ++key) {
    remaining[key] = static_cast<std::uint16_t>(key);
    outcomes[key] = false;
  }
  std::uint64_t first_cell = 0;
  for (std::size_t probe = 0; probe < shape.k && count != 0; ++probe, first_cell += shape.size) {
    for (std::size_t i = 0; probe != 0 && i < count; ++i) {
      prefetch_line(words + Place(first_cell + window.cell(probe, remaining[i])).word);
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint16_t key = remaining[i];
      remaining[kept] = key;
      kept += static_cast<std::size_t>(Place(first_cell + window.cell(probe, key)).load(words) != 0);
    }
    count = kept;
  }
  for (std::size_t i = 0; i < count; ++i) {
    outcomes[remaining[i]] = true;
  }
}

// Tests a window in rounds while the next window's first lines are prefetched.
template <class Source>
HWY_INLINE void test_in_rounds(const std::uint64_t* words, const CountShape& shape, const Source& source,
                               std::size_t count, bool* outcomes) {
  const BloomShape partition = partition_shape(shape);
  Far windows[2];
  Far* current = &windows[0];
  Far* next = &windows[1];
  const auto open = [&](Far& window, std::size_t start) HWY_ATTR {
    window.open(partition, source, start, count);
    for (std::size_t key = 0; key < window.count; ++key) {
      prefetch_line(words + Place(window.cell(0, key)).word);
    }
  };
  open(*current, 0);
  while (current->count != 0) {
    open(*next, current->start + current->count);
    test_window_in_rounds(words, *current, shape, outcomes + current->start);
    std::swap(current, next);
  }
}

template <class Source>
HWY_INLINE void test_all(const std::uint64_t* words, const CountShape& shape, const Source& source, std::size_t count,
                         bool* outcomes) {
  if (is_near(shape)) {
    visit_windows(words, shape, source, count, SmallestOfKey{},
                  [&](std::size_t first, const std::uint8_t* smallest, std::size_t keys) HWY_ATTR {
                    for (std::size_t i = 0; i < keys; ++i) {
                      outcomes[first + i] = smallest[i] != 0;
                    }
                  });
  } else {
    test_in_rounds(words, shape, source, count, outcomes);
  }
}

template <class Source>
HWY_INLINE std::uint64_t insert_all(std::uint64_t* words, const CountShape& shape, const Source& source,
                                    std::size_t count) {
  std::uint64_t stuck = 0;
  visit_windows(words, shape, source, count, IncrementKey{&stuck},
                [](std::size_t /*first*/, const std::uint8_t* /*seen*/, std::size_t /*keys*/) HWY_ATTR {});
  return stuck;
}

void may_contain(const std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count,
                 bool* outcomes) noexcept {
  test_all(words, shape, DigestSource{digests}, count, outcomes);
}

void may_contain_integers(const std::uint64_t* words, const CountShape& shape, const std::uint64_t* keys,
                          std::uint64_t seed, std::size_t count, bool* outcomes) noexcept {
  test_all(words, shape, IntegerSource{keys, seed}, count, outcomes);
}

void estimate(const std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count,
              std::uint8_t* smallest) noexcept {
  visit_windows(words, shape, DigestSource{digests}, count, SmallestOfKey{},
                [&](std::size_t first, const std::uint8_t* found, std::size_t keys)
                    HWY_ATTR { std::copy_n(found, keys, smallest + first); });
}

std::uint64_t insert(std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count) noexcept {
  return insert_all(words, shape, DigestSource{digests}, count);
}

std::uint64_t insert_integers(std::uint64_t* words, const CountShape& shape, const std::uint64_t* keys,
                              std::uint64_t seed, std::size_t count) noexcept {
  return insert_all(words, shape, IntegerSource{keys, seed}, count);
}

std::uint64_t observe(std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count,
                      bool* seen) noexcept {
  std::uint64_t stuck = 0;
  visit_windows(words, shape, DigestSource{digests}, count, IncrementKey{&stuck},
                [&](std::size_t first, const std::uint8_t* was_seen, std::size_t keys) HWY_ATTR {
                  for (std::size_t i = 0; i < keys; ++i) {
                    seen[first + i] = was_seen[i] != 0;
                  }
                });
  return stuck;
}

std::uint64_t erase(std::uint64_t* words, const CountShape& shape, const Digest* digests, std::size_t count,
                    std::uint8_t* refused) noexcept {
  std::uint64_t erased = count;
  visit_windows(words, shape, DigestSource{digests}, count, DecrementKey{},
                [&](std::size_t first, const std::uint8_t* was_refused, std::size_t keys) HWY_ATTR {
                  for (std::size_t i = 0; i < keys; ++i) {
                    refused[first + i] = was_refused[i];
                    erased -= was_refused[i];
                  }
                });
  return erased;
}

bool may_contain_one(const std::uint64_t* words, const CountShape& shape, Digest digest) noexcept {
  return reference::smallest_counter<reference::PartitionedCounters>(words, shape, digest) != 0;
}

}  // namespace

const CountOps* target_partitioned_count_ops() {
  static const CountOps kOps{
      .target = hwy::TargetName(HWY_TARGET),
      .may_contain_one = may_contain_one,
      .estimate_one = reference::smallest_counter<reference::PartitionedCounters>,
      .insert_one = reference::count_key<reference::PartitionedCounters>,
      .erase_one = reference::uncount_key<reference::PartitionedCounters>,
      .may_contain = may_contain,
      .may_contain_integers = may_contain_integers,
      .estimate = estimate,
      .insert = insert,
      .insert_integers = insert_integers,
      .observe = observe,
      .erase = erase,
  };
  return &kOps;
}

}  // namespace HWY_NAMESPACE
}  // namespace mankai::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mankai::kernel {

MANKAI_EXPORT_TABLES(CountOps, partitioned_count_ops)

const CountOps& stepped_count_ops() noexcept { return ReferenceCounts<reference::SteppedCounters>::kOps; }

}  // namespace mankai::kernel
#endif  // HWY_ONCE
