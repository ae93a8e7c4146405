// Readers beside one writer that grows the filter: no reader misses a key that was in before it asked, and none sees a
// slice that is half made. Also run under ThreadSanitizer, where a race fails the test.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"
#include "mankai/kernel/atomic_words.hpp"
#include "tests/contract/contract_test_support.hpp"
#include "tests/support/growing_subject.hpp"
#include "tests/support/outcomes.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {
namespace {

constexpr std::size_t kKeys = 20000;
constexpr std::size_t kReaders = 3;

class GrowingConcurrency : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(every_kind, GrowingConcurrency, testing::ValuesIn(shapes(only_adds_slices)), test_name);

// What a reader may look at besides: counts stay in their bounds, and what there is of slices is whole.
std::size_t count_oddities(const Subject& filter) {
  std::size_t odd = filter.keys_inserted() > 2 * kKeys ? 1 : 0;
  for (std::size_t i = 0; i < filter.slice_count(); ++i) {
    odd += filter.slice(i).capacity_keys == 0 ? 1U : 0U;
  }
  if (filter.is_numbered()) {
    odd += filter.max_id() > 2 * kKeys ? 1U : 0U;
    odd += filter.estimate(Digest{1}).value > 15 * kMaxSlices ? 1U : 0U;
  }
  return odd;
}

// How many keys are in, for readers to ask for, and what they found wrong.
struct Shared {
  std::atomic<std::size_t> published = 0;
  std::atomic<std::size_t> missed = 0;
  std::atomic<std::size_t> odd = 0;
};

void read_until_all_is_in(const Subject& filter, std::span<const Digest> digests, std::size_t reader, Shared& shared) {
  Random random(reader);
  for (std::size_t ready = 0; ready < digests.size();) {
    ready = shared.published.load(std::memory_order_acquire);
    shared.missed += count_missed(filter, digests.first(ready), random, 20);
    shared.odd += count_oddities(filter);
  }
}

// Goal: no reader misses a key that was in before it asked.
// Method: the writer publishes how many keys it has inserted; readers ask for keys below that number.
template <class Write, class Read>
void read_beside_a_writer(Subject& filter, std::span<const Digest> digests, const Write& write, const Read& read) {
  Shared shared;
  {
    std::vector<std::jthread> threads;
    for (std::size_t reader = 0; reader < kReaders; ++reader) {
      threads.emplace_back([&, reader] { read(reader, shared); });
    }
    for (std::size_t done = 0; done < digests.size();) {
      done += write(filter, digests.subspan(done));
      shared.published.store(done, std::memory_order_release);
    }
  }
  EXPECT_EQ(shared.missed.load(), 0U);
  EXPECT_EQ(shared.odd.load(), 0U);
  EXPECT_GT(filter.slice_count(), 4U);
}

template <class Write>
void read_beside_a_writer(Subject& filter, std::span<const Digest> digests, const Write& write) {
  read_beside_a_writer(filter, digests, write, [&](std::size_t reader, Shared& shared) {
    read_until_all_is_in(filter, digests, reader, shared);
  });
}

TEST_P(GrowingConcurrency, readers_beside_a_writer_of_single_keys_miss_nothing) {
  auto filter = make_growing(GetParam(), {.keys = 500});
  read_beside_a_writer(filter, Random(1).digests(kKeys), [](auto& target, std::span<const Digest> rest) {
    target.insert(rest[0]);
    return std::size_t{1};
  });
}

TEST_P(GrowingConcurrency, readers_beside_a_writer_of_batches_miss_nothing) {
  auto filter = make_growing(GetParam(), {.keys = 500});
  read_beside_a_writer(filter, Random(2).digests(kKeys), [](auto& target, std::span<const Digest> rest) {
    const auto batch = rest.first(std::min<std::size_t>(rest.size(), 333));
    target.insert(batch);
    return batch.size();
  });
}

#ifndef MANKAI_THREAD_SANITIZER  // which sees a race where whole words are copied plainly (docs/adr/0004)

// Copies the filter again and again: each copy is an image, of a fill that can be, with the keys that were in before.
void copy_until_all_is_in(const Subject& filter, std::span<const Digest> digests, Shared& shared) {
  for (std::size_t ready = 0; ready < digests.size();) {
    ready = shared.published.load(std::memory_order_acquire);
    const auto copy = filter.from_bytes(filter.to_bytes());
    if (!copy || !(copy->fill_ratio() <= 1) || !(filter.fill_ratio() <= 1)) {
      ++shared.odd;
      continue;
    }
    const auto answers = batch_answers(*copy, digests.first(ready));
    shared.missed += static_cast<std::size_t>(std::ranges::count(answers, false));
  }
}

// The writer gives slices and cells while they are measured and copied: sizes, header and cells must be of one count.
TEST_P(GrowingConcurrency, copies_beside_a_writer_that_grows_are_whole_images) {
  auto filter = make_growing(GetParam(), {.keys = 100});
  const auto digests = Random(5).digests(kKeys);
  read_beside_a_writer(
      filter, digests,
      [](auto& target, std::span<const Digest> rest) {
        target.insert(rest[0]);
        return std::size_t{1};
      },
      [&](std::size_t /*reader*/, Shared& shared) { copy_until_all_is_in(filter, digests, shared); });
}

#endif

// Erasing other keys beside readers: the ones that stay are found all along.
TEST(GrowingConcurrencyIds, readers_beside_a_writer_that_erases_miss_no_key_that_stays) {
  auto filter = Subject(ScalableCountingBloom::create({.keys = 500, .fpr = 1e-4, .hash = kXxh3}).value());
  const auto passing = Random(3).digests(kKeys);
  const auto staying = Random(4).digests(kKeys);
  std::size_t step = 0;
  read_beside_a_writer(filter, staying, [&](auto& target, std::span<const Digest> rest) {
    const std::uint64_t id = step;
    static_cast<void>(target.insert(rest[0], id));
    static_cast<void>(target.insert(passing[step], id));
    target.erase(passing[step], id);
    ++step;
    return std::size_t{1};
  });
}

}  // namespace
}  // namespace mankai::test
