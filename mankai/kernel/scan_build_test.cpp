#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <vector>

#include "mankai/kernel/bulk_build.hpp"
#include "mankai/kernel/kernel_test_support.hpp"
#include "mankai/kernel/scan_ops.hpp"
#include "mankai/kernel/tuning.hpp"
#include "tests/support/counting_memory.hpp"

namespace mankai::kernel {
namespace {

using mankai::test::CountingMemory;
using test::Cells;
using test::kSeed;

// Words of all densities, the empty and the full one included.
std::vector<std::uint64_t> mixed_words(std::size_t count) {
  std::vector<std::uint64_t> words(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t a = mix_integer(i, 1).value;
    const std::uint64_t b = mix_integer(i, 2).value;
    words[i] = i % 5 == 0 ? a : i % 5 == 1 ? a & b : i % 5 == 2 ? a | b : i % 5 == 3 ? ~std::uint64_t{0} : a ^ b;
  }
  return words;
}

TEST(ScanOps, ones_are_counted_at_every_length) {
  const auto words = mixed_words(300);
  std::uint64_t expected = 0;
  for (std::size_t count = 0; count < words.size(); ++count) {
    EXPECT_EQ(count_ones(words.data(), count), expected);
    expected += static_cast<std::uint64_t>(std::popcount(words[count]));
  }
}

TEST(ScanOps, merging_is_or_at_every_length) {
  const auto from = mixed_words(300);
  for (std::size_t count = 0; count < from.size(); ++count) {
    std::vector<std::uint64_t> into(from.rbegin(), from.rend());
    std::vector<std::uint64_t> expected = into;
    for (std::size_t i = 0; i < count; ++i) {
      expected[i] |= from[i];
    }
    merge_or(into.data(), from.data(), count);
    ASSERT_EQ(into, expected) << count;
  }
}

TEST(ScanOps, mean_block_fpr_is_the_mean_of_products) {
  const auto words = mixed_words(std::size_t{8} * 1000);
  long double sum = 0;
  for (std::uint64_t block = 0; block < 1000; ++block) {
    long double product = 1;
    for (std::uint64_t lane = 0; lane < 8; ++lane) {
      product *= std::popcount(words[block * 8 + lane]) / 64.0L;
    }
    sum += product;
    const double expected = static_cast<double>(sum / static_cast<long double>(block + 1));
    EXPECT_DOUBLE_EQ(mean_block_fpr(words.data(), block + 1), expected) << block;
  }
}

TEST(ScanOps, mean_block_fpr_is_exact_at_its_ends) {
  Cells cells(std::size_t{8} * 100'000);
  EXPECT_EQ(mean_block_fpr(cells.words(), 100'000), 0.0);
  std::fill_n(cells.words(), cells.size(), ~std::uint64_t{0});
  EXPECT_EQ(mean_block_fpr(cells.words(), 100'000), 1.0);
}

constexpr std::uint64_t kPartitionedBlocks = kPartitionedBytes / 64 + 321;

void expect_same_as_plain(const std::vector<Digest>& digests) {
  Cells expected(kPartitionedBlocks * 8);
  Cells actual(kPartitionedBlocks * 8);
  const std::uint64_t fresh = block_ops().insert(expected.words(), kPartitionedBlocks, digests.data(), digests.size());
  EXPECT_EQ(insert_partitioned(block_ops(), actual.words(), kPartitionedBlocks, digests.data(), digests.size()), fresh);
  EXPECT_TRUE(std::equal(actual.words(), actual.words() + actual.size(), expected.words()));
}

std::vector<Digest> digests_from(std::size_t count, std::uint64_t mask, std::uint64_t bits) {
  std::vector<Digest> digests(count);
  for (std::size_t i = 0; i < count; ++i) {
    digests[i] = {(mix_integer(i, kSeed).value & mask) | bits};
  }
  return digests;
}

constexpr std::size_t kEnough = kPartitionedKeysPerBlock * kPartitionedBlocks;

TEST(BulkBuild, spread_digests_build_the_same_filter) {
  expect_same_as_plain(digests_from(kEnough + 12'345, ~std::uint64_t{0}, 0));
}

TEST(BulkBuild, digests_of_one_partition_build_the_same_filter) {
  expect_same_as_plain(digests_from(kEnough, 0x0003ffffffffffff, 0));
  expect_same_as_plain(digests_from(kEnough + 1, 0x0003ffffffffffff, 0xfffc000000000000));
}

TEST(BulkBuild, small_batches_go_straight_in) {
  expect_same_as_plain({});
  expect_same_as_plain(digests_from(1000, ~std::uint64_t{0}, 0));
}

TEST(BulkBuild, integers_are_hashed_with_their_seed) {
  std::vector<std::uint64_t> keys(kEnough + 77);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys[i] = i;
  }
  Cells expected(kPartitionedBlocks * 8);
  Cells actual(kPartitionedBlocks * 8);
  const std::uint64_t fresh =
      block_ops().insert_integers(expected.words(), kPartitionedBlocks, keys.data(), kSeed, keys.size());
  EXPECT_EQ(insert_partitioned(block_ops(), actual.words(), kPartitionedBlocks, keys.data(), kSeed, keys.size()),
            fresh);
  EXPECT_TRUE(std::equal(actual.words(), actual.words() + actual.size(), expected.words()));
}

// Only the order of keys within a block decides which of them set a bit; the cells are the same in every order.
TEST(BulkBuild, threads_build_the_same_cells) {
  const auto digests = digests_from(2 * kEnough + 12'345, ~std::uint64_t{0}, 0);
  constexpr std::size_t kStageBytes = std::size_t{64} << 10;
  Cells expected(kPartitionedBlocks * 8);
  const auto fresh =
      static_cast<double>(block_ops().insert(expected.words(), kPartitionedBlocks, digests.data(), digests.size()));
  for (const std::size_t threads : {2U, 3U, 8U, 1000U}) {
    for (const std::size_t grants : {1000U, 2U, 1U, 0U}) {
      CountingMemory scratch(grants);
      Cells actual(kPartitionedBlocks * 8);
      const std::uint64_t counted =
          insert_partitioned(block_ops(), actual.words(), kPartitionedBlocks, digests.data(), digests.size(),
                             {.threads = threads, .scratch = scratch.memory()});
      EXPECT_NEAR(static_cast<double>(counted), fresh, 0.001 * fresh);
      EXPECT_TRUE(std::equal(actual.words(), actual.words() + actual.size(), expected.words())) << threads;
      // All threads together: as much as the filter, and a stage for each.
      EXPECT_LE(scratch.calls * scratch.last_bytes, kPartitionedBlocks * kCacheLineBytes + scratch.calls * kStageBytes);
      EXPECT_EQ(scratch.bytes_in_use, 0U);
    }
  }
}

TEST(BulkBuild, works_without_scratch) {
  CountingMemory nothing(0);
  const auto digests = digests_from(kEnough, ~std::uint64_t{0}, 0);
  Cells cells(kPartitionedBlocks * 8);
  EXPECT_GT(insert_partitioned(block_ops(), cells.words(), kPartitionedBlocks, digests.data(), digests.size(),
                               {.scratch = nothing.memory()}),
            0U);
}

}  // namespace
}  // namespace mankai::kernel
