#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "mankai/kernel/bloom_ops.hpp"
#include "mankai/kernel/bloom_ops_inline.hpp"
#include "mankai/kernel/bloom_ops_reference.hpp"
#include "mankai/kernel/kernel_test_support.hpp"
#include "mankai/kernel/tuning.hpp"
#include "tests/support/sampled.hpp"

namespace mankai::kernel {
namespace {

using test::Bools;
using test::Cells;
using test::kMaxCount;
using test::kSeed;
using BloomBatch = test::Batch<BloomShape>;

constexpr std::uint64_t kFarCells = kNearBytes * 8 + 77;
constexpr std::uint64_t kGatherFarCells = kGatherBytes * 8 + 64 + 77;

// All probe counts with code of their own, and some without; ends, odd and even sizes; both position sequences;
// cells beyond every threshold.
std::vector<BloomShape> shapes() {
  std::vector<BloomShape> all;
  for (std::uint32_t k = 1; k <= 18; ++k) {
    all.push_back({.cell_count = 5000, .k = k, .field_bits = 0});
  }
  for (const std::uint32_t k : {1U, 2U, 3U, 4U, 7U, 10U, kMaxProbes}) {
    all.push_back({.cell_count = 1, .k = k, .field_bits = 0});
    all.push_back({.cell_count = 63, .k = k, .field_bits = 0});
    all.push_back({.cell_count = 1 << 13, .k = k, .field_bits = 13});
    all.push_back({.cell_count = kFarCells, .k = k, .field_bits = 0});
    all.push_back({.cell_count = 1 << 24, .k = k, .field_bits = 24});
    all.push_back({.cell_count = kGatherFarCells, .k = k, .field_bits = 0});
  }
  return all;
}

std::vector<std::size_t> counts_for(const BloomShape& shape) {
  if (shape.cell_count > 10'000) {
    return mankai::test::kIsSampled ? std::vector<std::size_t>{1, 65, 520}
                                    : std::vector<std::size_t>{0, 1, 7, 8, 33, 64, 65, 257, 520, kMaxCount};
  }
  std::vector<std::size_t> counts;
  for (std::size_t count = 0; count <= kMaxCount; count += count < 140 ? 1 : 23) {
    counts.push_back(count);
  }
  return counts;
}

void expect_questions_agree(const BloomOps& ops, const BloomBatch& batch, std::uint64_t* words) {
  std::vector<bool> expected;
  for (std::size_t i = 0; i < batch.count; ++i) {
    expected.push_back(reference::may_contain(words, batch.shape, batch.digests[i]));
  }
  Bools outcomes(batch.count);
  ops.may_contain(words, batch.shape, batch.digests.data(), batch.count, outcomes.data());
  EXPECT_EQ(outcomes.first(batch.count), expected);
  Bools of_integers(batch.count);
  ops.may_contain_integers(words, batch.shape, batch.keys.data(), kSeed, batch.count, of_integers.data());
  EXPECT_EQ(of_integers.first(batch.count), expected);
}

// Inserts the batch in each way into the same cells, cleared between; `expected` holds the reference's cells.
void expect_insertions_agree(const BloomOps& ops, const BloomBatch& batch, Cells& cells, Cells& expected) {
  std::vector<bool> seen;
  std::uint64_t fresh = 0;
  expected.clear();
  for (std::size_t i = 0; i < batch.count; ++i) {
    seen.push_back(reference::observe(expected.words(), batch.shape, batch.digests[i]));
    fresh += static_cast<std::uint64_t>(!seen.back());
  }
  const auto expect_same = [&] {
    EXPECT_TRUE(std::equal(cells.words(), cells.words() + cells.size(), expected.words())) << "cells differ";
    cells.clear();
  };
  cells.clear();
  EXPECT_EQ(ops.insert(cells.words(), batch.shape, batch.digests.data(), batch.count), fresh);
  expect_same();
  EXPECT_EQ(ops.insert_integers(cells.words(), batch.shape, batch.keys.data(), kSeed, batch.count), fresh);
  expect_same();
  Bools outcomes(batch.count);
  EXPECT_EQ(ops.observe(cells.words(), batch.shape, batch.digests.data(), batch.count, outcomes.data()), fresh);
  EXPECT_EQ(outcomes.first(batch.count), seen);
  expect_same();
}

TEST(BloomOps, batches_equal_the_reference) {
  const auto keys = test::keys_with_twins(kMaxCount);
  const auto digests = test::digests_of(keys);
  for (const BloomOps* ops : all_bloom_ops()) {
    for (const BloomShape& shape : shapes()) {
      SCOPED_TRACE(std::string(ops->target) + ", cells " + std::to_string(shape.cell_count) + ", k " +
                   std::to_string(shape.k) + ", field " + std::to_string(shape.field_bits));
      const std::size_t words = (shape.cell_count + 63) / 64;
      Cells cells(words);
      Cells expected(words);
      Cells half(words);
      ops->insert(half.words(), shape, digests.data(), kMaxCount / 2);
      for (const std::size_t count : counts_for(shape)) {
        const BloomBatch batch{shape, keys, digests, count};
        expect_questions_agree(*ops, batch, half.words());
        expect_insertions_agree(*ops, batch, cells, expected);
        ASSERT_FALSE(HasFailure()) << "count " << count;
      }
    }
  }
}

TEST(BloomOps, single_look_ups_equal_the_reference) {
  const auto digests = test::digests_of(test::keys_with_twins(1000));
  for (const BloomShape& shape : shapes()) {
    Cells cells((shape.cell_count + 63) / 64);
    for (const Digest digest : digests) {
      const bool present = reference::may_contain(cells.words(), shape, digest);
      ASSERT_EQ(may_contain_single(cells.words(), shape, digest), present);
      ASSERT_EQ(reference::observe(cells.words(), shape, digest), present);
    }
  }
}

// Goal: a filter between empty and full, where every round of the sifting keeps some keys and drops some.
// Method: 1 % of absent keys pass at the design load, so both answers and all numbers of rounds occur. Single look-ups
// test an odd number of cells in another way than an even one.
class LoadedBloom : public testing::TestWithParam<std::uint32_t> {};

TEST_P(LoadedBloom, beyond_the_cache_answers_as_the_reference) {
  const BloomShape shape{.cell_count = kGatherFarCells, .k = GetParam(), .field_bits = 0};
  std::vector<std::uint64_t> keys(shape.cell_count / 10);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys[i] = i;
  }
  Cells cells((shape.cell_count + 63) / 64);
  bloom_ops().insert_integers(cells.words(), shape, keys.data(), kSeed, keys.size());
  std::vector<std::uint64_t> asked(20'001);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    asked[i] = i * (i % 2 == 0 ? 1 : 1'000'003);
  }
  const auto digests = test::digests_of(asked);
  for (const BloomOps* ops : all_bloom_ops()) {
    SCOPED_TRACE(ops->target);
    expect_questions_agree(*ops, BloomBatch{shape, asked, digests, asked.size()}, cells.words());
  }
  for (const Digest digest : digests) {
    ASSERT_EQ(may_contain_single(cells.words(), shape, digest), reference::may_contain(cells.words(), shape, digest));
  }
}

INSTANTIATE_TEST_SUITE_P(OddAndEven, LoadedBloom, testing::Values(7, 10));

}  // namespace
}  // namespace mankai::kernel
