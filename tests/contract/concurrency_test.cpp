// Every kind under threads: writers that use insert_concurrent, where there is one, lose no key, and a reader beside a
// writer never misses a key whose insert ended before the reader asked. Also run under ThreadSanitizer, where a race
// fails the test.

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <vector>

#include "mankai/base/parallel.hpp"
#include "mankai/filter/rotating_bloom/rotating_bloom.hpp"
#include "mankai/filter/time_decaying_counts/time_decaying_counts.hpp"
#include "tests/contract/contract_test_support.hpp"
#include "tests/support/every_kind.hpp"
#include "tests/support/outcomes.hpp"
#include "tests/support/random.hpp"
#include "tests/support/run_threads.hpp"

namespace mankai::test {
namespace {

constexpr std::size_t kThreads = 4;
constexpr std::size_t kManyKeys = 40000;

// Beside the kinds whose readers may run beside every change, those where only advance needs the filter alone.
bool has_readers(const KindDescription& kind) {
  return has_no_false_negatives(kind) && (kind.has_lock_free_readers || kind.kind == Kind{TimeDecayingCounts::kKind} ||
                                          kind.kind == Kind{RotatingBloom::kKind});
}
bool has_writers(const KindDescription& kind) {
  return calls_of(kind).insert_concurrent != nullptr && has_no_false_negatives(kind);
}

class ConcurrencyContract : public testing::TestWithParam<Example> {};
class ConcurrentWriters : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(every_kind, ConcurrentWriters, testing::ValuesIn(shapes(has_writers)), test_name);
INSTANTIATE_TEST_SUITE_P(every_kind, ConcurrencyContract, testing::ValuesIn(shapes(has_readers)), test_name);

TEST_P(ConcurrentWriters, writers_lose_no_key) {
  // Small, so that writers meet in the same words all the time.
  auto filter = make(GetParam(), {.keys = 2000, .fpr = 0.1});
  auto alone = make(GetParam(), {.keys = 2000, .fpr = 0.1});
  const auto digests = Random(1).digests(4000);
  std::atomic<std::uint64_t> fresh = 0;
  run_threads(kThreads, [&](std::size_t thread) {
    // Each key is given by two threads.
    for (std::size_t i = 0; i < digests.size(); ++i) {
      if (i % kThreads == thread || (i + 1) % kThreads == thread) {
        fresh += filter.insert_concurrent(digests[i]) ? 1U : 0U;
      }
    }
  });
  alone.insert(std::span(digests));
  EXPECT_EQ(filter.fill_ratio(), alone.fill_ratio());
  EXPECT_EQ(filter.fpr_estimate(), alone.fpr_estimate());
  EXPECT_EQ(batch_answers(filter, digests), std::vector<bool>(digests.size(), true));
  EXPECT_EQ(filter.keys_inserted(), fresh.load());
  EXPECT_LE(filter.keys_inserted(), digests.size()) << "a key was new to both";
}

TEST_P(ConcurrentWriters, writers_of_different_keys_build_the_filter_of_one_writer) {
  auto filter = make(GetParam(), {.keys = kManyKeys});
  const auto digests = Random(2).digests(kManyKeys);
  run_threads(kThreads, [&](std::size_t thread) {
    for (std::size_t i = thread; i < digests.size(); i += kThreads) {
      filter.insert_concurrent(digests[i]);
    }
  });
  auto alone = make(GetParam(), {.keys = kManyKeys});
  alone.insert(std::span(digests));
  EXPECT_EQ(filter.fill_ratio(), alone.fill_ratio());
  EXPECT_EQ(filter.fpr_estimate(), alone.fpr_estimate());
}

TEST_P(ConcurrencyContract, a_batch_divided_among_threads_answers_like_a_whole_one) {
  auto filter = make(GetParam(), {.keys = kManyKeys});
  const auto digests = Random(3).digests(2 * kManyKeys);
  filter.insert(std::span(digests).first(kManyKeys));
  Outcomes whole(digests.size());
  Outcomes divided(digests.size());
  filter.may_contain(digests, whole.span());
  for_ranges_in_parallel(digests.size(), kManyKeys / 10, [&](std::size_t first, std::size_t last) {
    filter.may_contain(std::span(digests).subspan(first, last - first), divided.span().subspan(first, last - first));
  });
  EXPECT_EQ(divided.vector(), whole.vector());
}

// Goal: no reader misses a key that was in before it asked.
// Method: the writer publishes how many keys it has inserted; readers take that number and ask for random keys below
// it, singly and in batches, and read the counts along the way.
template <class Write>
void read_beside_writers(Subject& filter, std::span<const Digest> digests, std::size_t writers, const Write& write) {
  std::vector<std::atomic<std::size_t>> published(writers);
  std::atomic<std::size_t> missed = 0;
  std::atomic<std::size_t> writing = writers;
  const std::size_t share = digests.size() / writers;
  const auto read = [&](std::size_t reader) {
    Random random(reader);
    bool is_last_round = false;
    while (!is_last_round) {
      is_last_round = writing.load() == 0;
      for (std::size_t writer = 0; writer < writers; ++writer) {
        const std::size_t ready = published[writer].load(std::memory_order_acquire);
        missed += count_missed(filter, digests.subspan(writer * share, ready), random, 50);
      }
      missed += filter.keys_inserted() > 2 * digests.size() ? 1U : 0U;
    }
  };
  run_threads(writers + 2, [&](std::size_t thread) {
    if (thread >= writers) {
      read(thread);
      return;
    }
    for (std::size_t done = 0; done < share;) {
      done += write(filter, digests.subspan(thread * share + done, share - done));
      published[thread].store(done, std::memory_order_release);
    }
    --writing;
  });
  EXPECT_EQ(missed.load(), 0U);
}

TEST_P(ConcurrencyContract, readers_beside_a_writer_of_single_keys_miss_nothing) {
  auto filter = make(GetParam(), {.keys = kManyKeys / 4});
  const auto digests = Random(3).digests(kManyKeys);
  read_beside_writers(filter, digests, 1, [](auto& target, std::span<const Digest> rest) {
    target.insert(rest[0]);
    return std::size_t{1};
  });
}

TEST_P(ConcurrencyContract, readers_beside_a_writer_of_batches_miss_nothing) {
  for (const std::uint64_t capacity : {std::uint64_t{kManyKeys / 4}, std::uint64_t{1500000}}) {
    auto filter = make(GetParam(), {.keys = capacity});
    const auto digests = Random(4).digests(4 * kManyKeys);
    read_beside_writers(filter, digests, 1, [](auto& target, std::span<const Digest> rest) {
      const auto batch = rest.first(std::min<std::size_t>(rest.size(), 333));
      target.insert(batch);
      return batch.size();
    });
  }
}

TEST_P(ConcurrentWriters, readers_beside_several_writers_miss_nothing) {
  auto filter = make(GetParam(), {.keys = kManyKeys / 4});
  const auto digests = Random(5).digests(kManyKeys);
  read_beside_writers(filter, digests, 2, [](auto& target, std::span<const Digest> rest) {
    target.insert_concurrent(rest[0]);
    return std::size_t{1};
  });
}

}  // namespace
}  // namespace mankai::test
