#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mankai/kernel/block_ops.hpp"
#include "mankai/kernel/block_ops_inline.hpp"
#include "mankai/kernel/block_ops_reference.hpp"
#include "mankai/kernel/kernel_test_support.hpp"
#include "mankai/kernel/tuning.hpp"

namespace mankai::kernel {
namespace {

using test::Bools;
using test::Cells;
using test::kMaxCount;
using test::kSeed;
using BlockBatch = test::Batch<std::uint64_t>;

constexpr std::uint64_t kFarBlocks = kNearBytes / 64 + 1;

// The answers of the reference for the first `count` keys, one after another.
struct Expected {
  Cells cells;
  std::vector<bool> seen;
  std::uint64_t fresh = 0;

  explicit Expected(std::uint64_t block_count) : cells(block_count * 8) {}
  void insert(std::uint64_t block_count, Digest digest) {
    seen.push_back(reference::observe(cells.words(), block_count, digest));
    fresh += static_cast<std::uint64_t>(!seen.back());
  }
  void expect_same(Cells& actual) {
    EXPECT_TRUE(std::equal(actual.words(), actual.words() + actual.size(), cells.words())) << "cells differ";
  }
};

void expect_insertions_agree(const BlockOps& ops, const BlockBatch& batch, Cells& cells, Expected& expected) {
  cells.clear();
  EXPECT_EQ(ops.insert(cells.words(), batch.shape, batch.digests.data(), batch.count), expected.fresh);
  expected.expect_same(cells);
  cells.clear();
  EXPECT_EQ(ops.insert_integers(cells.words(), batch.shape, batch.keys.data(), kSeed, batch.count), expected.fresh);
  expected.expect_same(cells);
  cells.clear();
  Bools seen(batch.count);
  EXPECT_EQ(ops.observe(cells.words(), batch.shape, batch.digests.data(), batch.count, seen.data()), expected.fresh);
  EXPECT_EQ(seen.first(batch.count), expected.seen);
  expected.expect_same(cells);
}

// Half of the keys in the cells are queried, and others.
void expect_questions_agree(const BlockOps& ops, const BlockBatch& batch, Cells& cells) {
  std::vector<bool> expected;
  for (std::size_t i = 0; i < batch.count; ++i) {
    expected.push_back(reference::may_contain(cells.words(), batch.shape, batch.digests[i]));
  }
  Bools outcomes(batch.count);
  ops.may_contain(cells.words(), batch.shape, batch.digests.data(), batch.count, outcomes.data());
  EXPECT_EQ(outcomes.first(batch.count), expected);
  Bools of_integers(batch.count);
  ops.may_contain_integers(cells.words(), batch.shape, batch.keys.data(), kSeed, batch.count, of_integers.data());
  EXPECT_EQ(of_integers.first(batch.count), expected);
}

// Goal: the batches of every instruction set equal the reference, bit for bit.
// Method: all counts up to several windows, hence all remainders of vectors, in filters from one block to one
// beyond the level-2 cache; the reference runs one key ahead per step.
// NOLINTNEXTLINE(readability-function-size): the macros of the assertions count as branches.
TEST(BlockOps, batches_equal_the_reference) {
  const auto keys = test::keys_with_twins(kMaxCount);
  const auto digests = test::digests_of(keys);
  for (const BlockOps* ops : all_block_ops()) {
    for (const std::uint64_t block_count :
         {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{1000}, kFarBlocks}) {
      SCOPED_TRACE(std::string(ops->target) + ", blocks " + std::to_string(block_count));
      Expected expected(block_count);
      Cells cells(block_count * 8);
      Cells half(block_count * 8);
      ops->insert(half.words(), block_count, digests.data(), kMaxCount / 2);
      for (std::size_t count = 0; count <= kMaxCount; count += block_count == kFarBlocks ? 7 : 1) {
        while (expected.seen.size() < count) {
          expected.insert(block_count, digests[expected.seen.size()]);
        }
        const BlockBatch batch{block_count, keys, digests, count};
        expect_insertions_agree(*ops, batch, cells, expected);
        expect_questions_agree(*ops, batch, half);
        ASSERT_FALSE(HasFailure()) << "count " << count;
      }
    }
  }
}

// The kernels of every instruction set, with each assembly that the machine runs.
std::vector<BlockOps> all_single_calls() {
  std::vector<BlockOps> all;
  for (const BlockOps* ops : all_block_ops()) {
    all.push_back(*ops);
    if (ops->inline_code != InlineCode::none) {
      all.push_back(*ops);
      all.back().inline_code =
          ops->inline_code == InlineCode::by_shifts ? InlineCode::by_factors : InlineCode::by_shifts;
    }
  }
  return all;
}

TEST(BlockOps, single_calls_equal_the_reference) {
  const auto digests = test::digests_of(test::keys_with_twins(20'000));
  for (const BlockOps& ops : all_single_calls()) {
    for (const std::uint64_t block_count : {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{1000}}) {
      Cells expected(block_count * 8);
      Cells by_pointer(block_count * 8);
      Cells by_caller(block_count * 8);
      for (const Digest digest : digests) {
        const bool present = reference::may_contain(expected.words(), block_count, digest);
        ASSERT_EQ(ops.may_contain_one(by_pointer.words(), block_count, digest), present) << ops.target;
        ASSERT_EQ(may_contain_single(ops, by_caller.words(), block_count, digest), present) << ops.target;
        const bool seen = reference::observe(expected.words(), block_count, digest);
        ASSERT_EQ(ops.observe_one(by_pointer.words(), block_count, digest), seen) << ops.target;
        ASSERT_EQ(observe_single(ops, by_caller.words(), block_count, digest), seen) << ops.target;
      }
      EXPECT_EQ(by_pointer.copy(), expected.copy()) << ops.target;
      EXPECT_EQ(by_caller.copy(), expected.copy()) << ops.target;
    }
  }
}

// Goal: block numbers beyond 32 bits. Method: 256 GB of untouched pages, of which only the keys' become real.
TEST(BlockOps, filters_beyond_256_gigabytes_work) {
  constexpr std::uint64_t kBlocks = (std::uint64_t{1} << 32) + 12345;
  constexpr std::size_t kBytes = kBlocks * 64;
  const auto keys = test::keys_with_twins(kMaxCount);
  const auto digests = test::digests_of(keys);
  for (const BlockOps* ops : all_block_ops()) {
    void* data = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) {
      GTEST_SKIP() << "SKIPPED LOUDLY: no 256 GB of address space";
    }
    static_cast<void>(::madvise(data, kBytes, MADV_NOHUGEPAGE));
    auto* words = static_cast<std::uint64_t*>(data);
    EXPECT_GT(ops->insert(words, kBlocks, digests.data(), kMaxCount / 2), 0U);
    Bools outcomes(kMaxCount);
    ops->may_contain(words, kBlocks, digests.data(), kMaxCount, outcomes.data());
    const auto found = outcomes.first(kMaxCount);
    for (std::size_t i = 0; i < kMaxCount; ++i) {
      EXPECT_EQ(found[i], reference::may_contain(words, kBlocks, digests[i])) << ops->target;
      EXPECT_TRUE(i >= kMaxCount / 2 || found[i]) << ops->target;
    }
    ::munmap(data, kBytes);
  }
}

TEST(BlockOps, the_best_kernels_come_first) {
  EXPECT_EQ(&block_ops(), all_block_ops().front());
  EXPECT_TRUE(all_block_ops().back()->inline_code == InlineCode::none || all_block_ops().size() == 1);
}

}  // namespace
}  // namespace mankai::kernel
