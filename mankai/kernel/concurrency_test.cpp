#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "mankai/kernel/block_ops.hpp"
#include "mankai/kernel/block_ops_inline.hpp"
#include "mankai/kernel/block_ops_reference.hpp"
#include "mankai/kernel/bloom_ops.hpp"
#include "mankai/kernel/bloom_ops_reference.hpp"
#include "mankai/kernel/count_ops_reference.hpp"
#include "mankai/kernel/kernel_test_support.hpp"
#include "mankai/kernel/scan_ops.hpp"
#include "tests/support/random.hpp"
#include "tests/support/run_threads.hpp"

// Run under ThreadSanitizer too, where the tables hold the same loops without vectors.
namespace mankai::kernel {
namespace {

using mankai::test::run_threads;
using test::Bools;
using test::Cells;

constexpr std::size_t kThreads = 4;
constexpr std::size_t kKeys = 20'000;
constexpr std::uint64_t kFewBlocks = 100;  // few, so that threads meet in one word all the time
constexpr BloomShape kSmallShape{.cell_count = kFewBlocks * 512, .k = 7, .field_bits = 0};

// Inserts every key from two threads and compares with one writer's cells.
template <class InsertConcurrent, class Observe>
void expect_no_bit_lost(const InsertConcurrent& insert_concurrent, const Observe& observe) {
  const auto digests = test::digests_of(test::keys_with_twins(kKeys));
  Cells shared(kFewBlocks * 8);
  std::atomic<std::uint64_t> set{0};
  run_threads(kThreads, [&](std::size_t thread) {
    for (std::size_t i = thread / 2; i < kKeys; i += kThreads / 2) {
      set += static_cast<std::uint64_t>(insert_concurrent(shared.words(), digests[i]));
    }
  });
  Cells alone(kFewBlocks * 8);
  for (const Digest digest : digests) {
    observe(alone.words(), digest);
  }
  EXPECT_EQ(shared.copy(), alone.copy());
  EXPECT_GT(set.load(), 0U);
}

// Every thread inserts every key: exactly one of them is told that it was absent.
template <class InsertConcurrent, class Observe>
void expect_one_winner(const InsertConcurrent& insert_concurrent, const Observe& observe) {
  const auto digests = test::digests_of(test::keys_with_twins(kKeys));
  Cells shared(kFewBlocks * 8);
  std::vector<std::atomic<int>> told(kKeys);
  run_threads(kThreads, [&](std::size_t) {
    for (std::size_t i = 0; i < kKeys; ++i) {
      told[i] += insert_concurrent(shared.words(), digests[i]) ? 1 : 0;
    }
  });
  Cells alone(kFewBlocks * 8);
  std::size_t absent = 0;
  std::size_t sum = 0;
  for (std::size_t i = 0; i < kKeys; ++i) {
    ASSERT_LE(told[i].load(), 1) << i;
    sum += static_cast<std::size_t>(told[i].load());
    absent += observe(alone.words(), digests[i]) ? 0U : 1U;
  }
  // In so small a filter a key is a false positive or not by the order of the others.
  EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(absent), 0.05 * static_cast<double>(absent));
}

TEST(Concurrency, of_block_writers_of_one_key_one_is_told) {
  expect_one_winner([](auto* words, Digest digest) { return reference::insert_concurrent(words, kFewBlocks, digest); },
                    [](auto* words, Digest digest) { return reference::observe(words, kFewBlocks, digest); });
}

TEST(Concurrency, of_bloom_writers_of_one_key_one_is_told) {
  expect_one_winner([](auto* words, Digest digest) { return reference::insert_concurrent(words, kSmallShape, digest); },
                    [](auto* words, Digest digest) { return reference::observe(words, kSmallShape, digest); });
}

TEST(Concurrency, block_writers_lose_no_bit) {
  expect_no_bit_lost([](auto* words, Digest digest) { return reference::insert_concurrent(words, kFewBlocks, digest); },
                     [](auto* words, Digest digest) { return reference::observe(words, kFewBlocks, digest); });
}

TEST(Concurrency, bloom_writers_lose_no_bit) {
  expect_no_bit_lost(
      [](auto* words, Digest digest) { return reference::insert_concurrent(words, kSmallShape, digest); },
      [](auto* words, Digest digest) { return reference::observe(words, kSmallShape, digest); });
}

/// Counters that several threads change.
template <class Counters>
class SharedCounters {
 public:
  /// Each thread inserts a key at most `most` times.
  SharedCounters(const CountShape& shape, int most)
      : shape_(shape), most_(most), cells_(kCounters / probes::kLaneCounters) {}

  // Inserts and removes keys of a few in turn, as often as each thread likes, and removes all of them in the end if
  // `is_emptied`. No key is absent while this thread has inserted it more often than removed.
  void change(std::uint64_t seed, bool is_emptied) {
    mankai::test::Random random(seed);
    std::vector<int> own(kCountedKeys);
    for (int round = 0; round < 20'000; ++round) {
      const std::uint64_t key = random.below(kCountedKeys);
      if (own[key] == 0 || (own[key] < most_ && random.below(2) == 0)) {
        reference::count_key_concurrent<Counters>(cells_.words(), shape_, digest_of(key));
        ++own[key];
      } else {
        ASSERT_NE(reference::smallest_counter<Counters>(cells_.words(), shape_, digest_of(key)), 0U);
        ASSERT_NE(reference::uncount_key_concurrent<Counters>(cells_.words(), shape_, digest_of(key)), 0U);
        --own[key];
      }
    }
    for (std::uint64_t key = 0; key < kCountedKeys; ++key) {
      for (; is_emptied && own[key] > 0; --own[key]) {
        reference::uncount_key_concurrent<Counters>(cells_.words(), shape_, digest_of(key));
      }
      counts_[key] += own[key];
    }
  }
  // Each counter is that of one writer who inserted what is left, or stuck. Returns how many are stuck.
  std::size_t check() {
    Cells alone(cells_.size());
    for (std::uint64_t key = 0; key < kCountedKeys; ++key) {
      for (int i = 0; i < counts_[key]; ++i) {
        reference::count_key<Counters>(alone.words(), shape_, digest_of(key));
      }
    }
    std::size_t stuck = 0;
    for (std::uint64_t cell = 0; cell < kCounters; ++cell) {
      const std::uint64_t counter = reference::load_counter(cells_.words(), cell);
      const std::uint64_t exact = reference::load_counter(alone.words(), cell);
      EXPECT_TRUE(counter == exact || counter == kStuckCounter) << cell << ": " << counter << ", not " << exact;
      stuck += counter == kStuckCounter ? 1 : 0;
    }
    return stuck;
  }

  static constexpr std::uint64_t kCounters = std::uint64_t{8192} * 128;

 private:
  static constexpr std::uint64_t kCountedKeys = 60;
  static Digest digest_of(std::uint64_t key) { return mix_integer(key, test::kSeed); }

  CountShape shape_;
  int most_;
  Cells cells_;
  std::vector<std::atomic<int>> counts_ = std::vector<std::atomic<int>>(kCountedKeys);
};

// Large, where no counter gets stuck, and small, where many do.
template <class Counters>
void expect_counts_add_up(const CountShape& large, const CountShape& small) {
  for (const bool is_emptied : {false, true}) {
    SharedCounters<Counters> many(large, 1);
    SharedCounters<Counters> few(small, 3);
    run_threads(kThreads, [&](std::size_t thread) {
      many.change(thread, is_emptied);
      few.change(thread, is_emptied);
    });
    EXPECT_EQ(many.check(), 0U);
    EXPECT_GT(few.check(), 0U);
  }
}

TEST(Concurrency, changes_of_counters_add_up_in_blocks) {
  expect_counts_add_up<reference::BlockedCounters>({.size = 8192, .k = 8}, {.size = 1, .k = 8});
}

TEST(Concurrency, changes_of_counters_add_up_in_partitions) {
  expect_counts_add_up<reference::PartitionedCounters>({.size = 1 << 17, .k = 8}, {.size = 16, .k = 8});
}

TEST(Concurrency, changes_of_counters_add_up_in_the_layout_of_dablooms) {
  expect_counts_add_up<reference::SteppedCounters>({.size = 1 << 17, .k = 8}, {.size = 16, .k = 8});
}

// One writer inserts batch by batch and publishes its progress; readers must find all published keys.
template <class Insert, class MayContain>
void expect_readers_find_what_is_written(const Insert& insert, const MayContain& may_contain) {
  const auto digests = test::digests_of(test::keys_with_twins(kKeys));
  constexpr std::size_t kBatch = 100;
  Cells cells(kFewBlocks * 8);
  std::atomic<std::size_t> written{0};
  run_threads(kThreads, [&](std::size_t thread) {
    if (thread == 0) {
      for (std::size_t i = 0; i < kKeys; i += kBatch) {
        insert(cells.words(), digests.data() + i, kBatch);
        written.store(i + kBatch, std::memory_order_release);
      }
      return;
    }
    std::size_t until = 0;
    while (until < kKeys) {
      until = written.load(std::memory_order_acquire);
      const std::size_t from = until < kBatch ? 0 : until - kBatch;
      Bools outcomes(until - from);
      may_contain(cells.words(), digests.data() + from, until - from, outcomes.data());
      const auto found = outcomes.first(until - from);
      EXPECT_EQ(std::count(found.begin(), found.end(), false), 0);
      EXPECT_LE(count_ones(cells.words(), kFewBlocks * 8), kFewBlocks * 512);
    }
  });
}

TEST(Concurrency, block_readers_find_what_is_written) {
  const BlockOps& ops = block_ops();
  expect_readers_find_what_is_written(
      [&](auto* words, const Digest* digests, std::size_t count) { ops.insert(words, kFewBlocks, digests, count); },
      [&](auto* words, const Digest* digests, std::size_t count, bool* outcomes) {
        ops.may_contain(words, kFewBlocks, digests, count, outcomes);
      });
}

TEST(Concurrency, single_block_readers_find_what_is_written) {
  const BlockOps& ops = block_ops();
  expect_readers_find_what_is_written(
      [&](auto* words, const Digest* digests, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
          observe_single(ops, words, kFewBlocks, digests[i]);
        }
      },
      [&](auto* words, const Digest* digests, std::size_t count, bool* outcomes) {
        for (std::size_t i = 0; i < count; ++i) {
          outcomes[i] = may_contain_single(ops, words, kFewBlocks, digests[i]);
        }
      });
}

TEST(Concurrency, bloom_readers_find_what_is_written) {
  const BloomOps& ops = bloom_ops();
  expect_readers_find_what_is_written(
      [&](auto* words, const Digest* digests, std::size_t count) { ops.insert(words, kSmallShape, digests, count); },
      [&](auto* words, const Digest* digests, std::size_t count, bool* outcomes) {
        ops.may_contain(words, kSmallShape, digests, count, outcomes);
      });
}

}  // namespace
}  // namespace mankai::kernel
