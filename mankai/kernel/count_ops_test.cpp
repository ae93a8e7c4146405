#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "mankai/kernel/bloom_ops.hpp"
#include "mankai/kernel/count_ops.hpp"
#include "mankai/kernel/count_ops_reference.hpp"
#include "mankai/kernel/detail/reference_counts.hpp"
#include "mankai/kernel/kernel_test_support.hpp"
#include "mankai/kernel/scan_ops.hpp"
#include "mankai/kernel/tuning.hpp"

namespace mankai::kernel {
namespace {

using test::Bools;
using test::Cells;
using test::kMaxCount;
using test::kSeed;
using CountBatch = test::Batch<CountShape>;

struct BlockedLayout {
  using Reference = ReferenceCounts<reference::BlockedCounters>;
  static std::vector<const CountOps*> all() { return all_blocked_count_ops(); }
  static const CountOps& best() { return blocked_count_ops(); }
  static std::size_t words(const CountShape& shape) { return shape.size * 8; }
  static std::vector<CountShape> shapes() {
    return {{.size = 1, .k = 8}, {.size = 2, .k = 8}, {.size = 3, .k = 8}, {.size = 1000, .k = 8}};
  }
  static CountShape far() { return {.size = kNearBytes / 64 + 1, .k = 8}; }
};

struct PartitionedLayout {
  using Reference = ReferenceCounts<reference::PartitionedCounters>;
  static std::vector<const CountOps*> all() { return all_partitioned_count_ops(); }
  static const CountOps& best() { return partitioned_count_ops(); }
  static std::size_t words(const CountShape& shape) { return (shape.size * shape.k + 15) / 16; }
  static std::vector<CountShape> shapes() {
    return {{.size = 1, .k = 1}, {.size = 5, .k = 3}, {.size = 1000, .k = 7}, {.size = 333, .k = kMaxProbes}};
  }
  static CountShape far() { return {.size = kNearBytes * 2 / 7 + 1000, .k = 7}; }
};

template <class Layout>
class CountOpsOf : public testing::Test {};
using Layouts = testing::Types<BlockedLayout, PartitionedLayout>;
TYPED_TEST_SUITE(CountOpsOf, Layouts);

// Keys with repeats in every window, and one that is so frequent that its counters get stuck.
std::vector<std::uint64_t> keys_that_repeat() {
  auto keys = test::keys_with_twins(kMaxCount);
  for (std::size_t i = 0; i < keys.size(); i += 7) {
    keys[i] = 1;
  }
  return keys;
}

// Runs the batches of both tables on the same cells, and compares outcomes, returned counts and cells.
struct Pair {
  const CountOps& actual;
  const CountOps& expected;
  Cells cells;
  Cells expected_cells;

  Pair(const CountOps& ops, const CountOps& reference, std::size_t words)
      : actual(ops), expected(reference), cells(words), expected_cells(words) {}

  void expect_same_cells() { EXPECT_EQ(cells.copy(), expected_cells.copy()); }

  void insert(const CountBatch& batch) {
    EXPECT_EQ(actual.insert(cells.words(), batch.shape, batch.digests.data(), batch.count),
              expected.insert(expected_cells.words(), batch.shape, batch.digests.data(), batch.count));
    expect_same_cells();
  }
  void insert_integers(const CountBatch& batch) {
    EXPECT_EQ(actual.insert_integers(cells.words(), batch.shape, batch.keys.data(), kSeed, batch.count),
              expected.insert_integers(expected_cells.words(), batch.shape, batch.keys.data(), kSeed, batch.count));
    expect_same_cells();
  }
  void observe(const CountBatch& batch) {
    Bools seen(batch.count);
    Bools expected_seen(batch.count);
    EXPECT_EQ(
        actual.observe(cells.words(), batch.shape, batch.digests.data(), batch.count, seen.data()),
        expected.observe(expected_cells.words(), batch.shape, batch.digests.data(), batch.count, expected_seen.data()));
    EXPECT_EQ(seen.first(batch.count), expected_seen.first(batch.count));
    expect_same_cells();
  }
  void ask(const CountBatch& batch) {
    Bools outcomes(batch.count);
    Bools of_integers(batch.count);
    Bools expected_outcomes(batch.count);
    const Digest* digests = batch.digests.data();
    actual.may_contain(cells.words(), batch.shape, digests, batch.count, outcomes.data());
    actual.may_contain_integers(cells.words(), batch.shape, batch.keys.data(), kSeed, batch.count, of_integers.data());
    expected.may_contain(cells.words(), batch.shape, digests, batch.count, expected_outcomes.data());
    EXPECT_EQ(outcomes.first(batch.count), expected_outcomes.first(batch.count));
    EXPECT_EQ(of_integers.first(batch.count), expected_outcomes.first(batch.count));
    // One more, to detect a write after the last one.
    std::vector<std::uint8_t> smallest(batch.count + 1, 0x77);
    std::vector<std::uint8_t> expected_smallest(batch.count + 1, 0x77);
    actual.estimate(cells.words(), batch.shape, digests, batch.count, smallest.data());
    expected.estimate(cells.words(), batch.shape, digests, batch.count, expected_smallest.data());
    EXPECT_EQ(smallest, expected_smallest);
    expect_same_cells();
  }
  void erase(const CountBatch& batch) {
    std::vector<std::uint8_t> refused(batch.count + 1, 0x77);
    std::vector<std::uint8_t> expected_refused(batch.count + 1, 0x77);
    EXPECT_EQ(actual.erase(cells.words(), batch.shape, batch.digests.data(), batch.count, refused.data()),
              expected.erase(expected_cells.words(), batch.shape, batch.digests.data(), batch.count,
                             expected_refused.data()));
    EXPECT_EQ(refused, expected_refused);
    expect_same_cells();
  }
};

// Goal: the batches of every instruction set equal the reference, counter for counter.
// Method: for each count, a sequence on the same cells: insert, observe, insert integers, query, erase more often than
// inserted, query again. The middle of a batch is also queried and erased before it is inserted.
template <class Layout>
void expect_life_agrees(const CountOps& ops, const CountShape& shape, std::size_t step) {
  const auto keys = keys_that_repeat();
  const auto digests = test::digests_of(keys);
  Pair pair(ops, Layout::Reference::kOps, Layout::words(shape));
  // Every small count, then steps that share no divisor with a window or a vector.
  for (std::size_t count = 0; count <= kMaxCount; count += count < 130 ? step : 7 * step) {
    const CountBatch batch{shape, keys, digests, count};
    pair.cells.clear();
    pair.expected_cells.clear();
    pair.insert({shape, keys, digests, count / 2});
    pair.ask(batch);
    pair.erase(batch);
    pair.observe(batch);
    pair.insert_integers(batch);
    pair.ask(batch);
    for (int times = 0; times < 3; ++times) {
      pair.erase(batch);
    }
    pair.ask(batch);
    ASSERT_FALSE(testing::Test::HasFailure()) << "count " << count;
  }
}

TYPED_TEST(CountOpsOf, batches_equal_the_reference) {
  for (const CountOps* ops : TypeParam::all()) {
    for (const CountShape& shape : TypeParam::shapes()) {
      SCOPED_TRACE(std::string(ops->target) + ", size " + std::to_string(shape.size));
      expect_life_agrees<TypeParam>(*ops, shape, shape.k == kMaxProbes ? 13 : 1);
      ASSERT_FALSE(this->HasFailure());
    }
  }
}

TYPED_TEST(CountOpsOf, batches_beyond_the_cache_equal_the_reference) {
  for (const CountOps* ops : TypeParam::all()) {
    SCOPED_TRACE(ops->target);
    expect_life_agrees<TypeParam>(*ops, TypeParam::far(), 97);
    ASSERT_FALSE(this->HasFailure());
  }
}

template <class Layout>
void expect_singles_agree(const CountOps& ops, const CountShape& shape) {
  const CountOps& reference = Layout::Reference::kOps;
  const auto digests = test::digests_of(test::keys_with_twins(5'000));
  Cells cells(Layout::words(shape));
  Cells expected(Layout::words(shape));
  for (std::size_t i = 0; i < digests.size(); ++i) {
    const Digest digest = digests[i];
    ASSERT_EQ(ops.may_contain_one(cells.words(), shape, digest),
              reference.may_contain_one(expected.words(), shape, digest));
    ASSERT_EQ(ops.estimate_one(cells.words(), shape, digest), reference.estimate_one(expected.words(), shape, digest));
    if (i % 3 == 0) {
      ASSERT_EQ(ops.erase_one(cells.words(), shape, digest), reference.erase_one(expected.words(), shape, digest));
    }
    const Counted counted = ops.insert_one(cells.words(), shape, digest);
    const Counted as_expected = reference.insert_one(expected.words(), shape, digest);
    ASSERT_EQ(counted.seen, as_expected.seen);
    ASSERT_EQ(counted.stuck, as_expected.stuck);
  }
  EXPECT_EQ(cells.copy(), expected.copy());
}

TYPED_TEST(CountOpsOf, single_calls_equal_the_reference) {
  for (const CountOps* ops : TypeParam::all()) {
    for (const CountShape& shape : TypeParam::shapes()) {
      SCOPED_TRACE(std::string(ops->target) + ", size " + std::to_string(shape.size));
      expect_singles_agree<TypeParam>(*ops, shape);
    }
  }
}

// One key from nothing to stuck and beyond: written without the reference, as the drawings in the headers show.
TYPED_TEST(CountOpsOf, a_counter_that_reaches_15_is_never_changed_again) {
  const CountShape shape = TypeParam::shapes()[1];
  for (const CountOps* ops : TypeParam::all()) {
    Cells cells(TypeParam::words(shape));
    const Digest digest{0x123456789abcdef0U};
    for (std::uint32_t times = 1; times <= 20; ++times) {
      const Counted counted = ops->insert_one(cells.words(), shape, digest);
      EXPECT_EQ(counted.seen, times > 1);
      EXPECT_EQ(counted.stuck, times == 15 ? shape.k : 0U);
      EXPECT_EQ(ops->estimate_one(cells.words(), shape, digest), std::min(times, 15U));
    }
    const auto stuck = cells.copy();
    for (int times = 0; times < 40; ++times) {
      EXPECT_TRUE(ops->erase_one(cells.words(), shape, digest));
    }
    EXPECT_EQ(cells.copy(), stuck) << ops->target;
  }
}

TYPED_TEST(CountOpsOf, the_best_kernels_come_first) { EXPECT_EQ(&TypeParam::best(), TypeParam::all().front()); }

// Goal: block numbers beyond 32 bits. Method: 256 GB of untouched pages, of which only the keys' become real.
TEST(BlockedCountOps, filters_beyond_256_gigabytes_work) {
  constexpr CountShape kShape{.size = (std::uint64_t{1} << 32) + 12345, .k = 8};
  constexpr std::size_t kBytes = kShape.size * 64;
  const auto digests = test::digests_of(test::keys_with_twins(kMaxCount));
  for (const CountOps* ops : all_blocked_count_ops()) {
    void* data = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) {
      GTEST_SKIP() << "SKIPPED LOUDLY: no 256 GB of address space";
    }
    static_cast<void>(::madvise(data, kBytes, MADV_NOHUGEPAGE));
    auto* words = static_cast<std::uint64_t*>(data);
    EXPECT_EQ(ops->insert(words, kShape, digests.data(), kMaxCount / 2), 0U);
    Bools outcomes(kMaxCount);
    ops->may_contain(words, kShape, digests.data(), kMaxCount, outcomes.data());
    const auto found = outcomes.first(kMaxCount);
    for (std::size_t i = 0; i < kMaxCount; ++i) {
      EXPECT_EQ(found[i], ops->may_contain_one(words, kShape, digests[i])) << ops->target;
      EXPECT_TRUE(i >= kMaxCount / 2 || found[i]) << ops->target;
    }
    ::munmap(data, kBytes);
  }
}

// Words of every kind of counter: multiplication spreads the number over all sixteen.
std::vector<std::uint64_t> any_words(std::size_t count, std::uint64_t factor) {
  std::vector<std::uint64_t> words(count);
  for (std::size_t i = 0; i < count; ++i) {
    words[i] = (i * factor) ^ (i % 5 == 0 ? ~std::uint64_t{0} : 0) ^ (i % 3 == 0 ? 0x0f0f000000000000U : 0);
    words[i] = i % 4 == 0 ? 0 : words[i];
  }
  return words;
}

std::uint64_t counter(const std::vector<std::uint64_t>& words, std::size_t cell) {
  return (words[cell / 16] >> (cell % 16 * 4)) % 16;
}

TEST(CountScan, count_nonzero_counts_any_range) {
  const auto words = any_words(60, 0x9e3779b97f4a7c15U);
  for (std::size_t first = 0; first <= 40; ++first) {
    std::uint64_t expected = 0;
    for (std::size_t end = first; end < words.size() * 16; ++end) {
      ASSERT_EQ(count_nonzero(words.data(), first, end - first), expected) << first << " to " << end;
      expected += static_cast<std::uint64_t>(counter(words, end) != 0);
    }
    ASSERT_EQ(count_nonzero(words.data(), first, words.size() * 16 - first), expected);
  }
}

TEST(CountScan, merge_adds_each_counter_and_sticks_at_15) {
  for (std::size_t count = 0; count <= 40; ++count) {
    const auto from = any_words(count, 0x9e3779b97f4a7c15U);
    const auto before = any_words(count, 0xd1342543de82ef95U);
    auto into = before;
    std::uint64_t stuck = 0;
    const std::uint64_t answer = merge_counters(into.data(), from.data(), count);
    for (std::size_t cell = 0; cell < count * 16; ++cell) {
      const std::uint64_t sum = std::min<std::uint64_t>(counter(before, cell) + counter(from, cell), 15);
      ASSERT_EQ(counter(into, cell), sum) << cell;
      stuck += static_cast<std::uint64_t>(sum == 15);
    }
    EXPECT_EQ(answer, stuck);
  }
}

// All 256 pairs of counters in all 16 places.
TEST(CountScan, merge_adds_every_pair_of_counters) {
  for (std::uint64_t a = 0; a < 16; ++a) {
    for (std::uint64_t b = 0; b < 16; ++b) {
      std::vector<std::uint64_t> into(24, a * 0x1111111111111111U);
      const std::vector<std::uint64_t> from(24, b * 0x1111111111111111U);
      const std::uint64_t sum = std::min<std::uint64_t>(a + b, 15);
      EXPECT_EQ(merge_counters(into.data(), from.data(), into.size()), sum == 15 ? 24 * 16 : 0);
      EXPECT_EQ(into, std::vector<std::uint64_t>(24, sum * 0x1111111111111111U)) << a << " + " << b;
    }
  }
}

TEST(CountScan, mean_counting_block_fpr_is_the_mean_of_the_products) {
  for (const std::uint64_t blocks : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{7}, std::uint64_t{1000}}) {
    auto words = any_words(blocks * 8, 0x9e3779b97f4a7c15U);
    std::replace(words.begin(), words.end(), std::uint64_t{0}, std::uint64_t{0x50});
    double sum = 0;
    for (std::uint64_t block = 0; block < blocks; ++block) {
      double product = 1;
      for (std::uint64_t lane = 0; lane < 8; ++lane) {
        product *= static_cast<double>(count_nonzero(words.data(), (block * 8 + lane) * 16, 16)) / 16;
      }
      sum += product;
    }
    EXPECT_NEAR(mean_counting_block_fpr(words.data(), blocks), sum / static_cast<double>(blocks), 1e-14);
  }
  const std::vector<std::uint64_t> full(80, ~std::uint64_t{0});
  EXPECT_EQ(mean_counting_block_fpr(full.data(), 10), 1);
}

}  // namespace
}  // namespace mankai::kernel
