// Positions spread evenly: chi-square over blocks, lanes' bits and classic cells.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "mankai/hash/hasher.hpp"
#include "mankai/hash/probes.hpp"
#include "tests/statistical/bounds.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {
namespace {

// Pearson's statistic of `count` draws has mean cells - 1 and variance 2 (cells - 1) (1 - 1 / count), and for thousands
// of cells is normal enough for kSigmas. Structured keys may spread better than chance, so only too large is wrong.
// `slack` multiplies the mean for sources that may spread a little worse.
void expect_even(const std::vector<std::uint32_t>& counts, double draws, const std::string& what, double slack = 1) {
  const auto cells = static_cast<double>(counts.size());
  const double expected = draws / cells;
  double statistic = 0;
  for (const std::uint32_t count : counts) {
    statistic += (count - expected) * (count - expected) / expected;
  }
  EXPECT_LE(statistic, (cells - 1) * slack + kSigmas * std::sqrt(2 * (cells - 1))) << what;
}

using Source = std::function<Digest(std::uint64_t)>;

struct NamedSource {
  const char* name;
  Source digest;
  double slack = 1;
};

// The integer mix is two multiplications, not a hash of bytes: structured keys may make the variance of a block's load
// up to a quarter larger than chance. At 1 % a block's spread is 18 % of the rate, so that costs at most 5 % of it.
constexpr double kMixSlack = 1.25;

std::vector<NamedSource> sources() {
  const Hasher hash(HashSpec{.kind = HashKind::xxh3, .seed = {99, 0}});
  const Hasher keyed(HashSpec{.kind = HashKind::nh_siphash, .seed = {99, 100}});
  const Hasher siphash(HashSpec{.kind = HashKind::siphash, .seed = {99, 100}});
  return {
      {"xxh3 of strings", [=](std::uint64_t i) { return hash("/page/" + std::to_string(i)); }},
      {"nh-siphash of strings", [=](std::uint64_t i) { return keyed("/page/" + std::to_string(i)); }},
      {"nh-siphash of integers", [=](std::uint64_t i) { return keyed(i); }},
      {"siphash of integers", [=](std::uint64_t i) { return siphash(i); }},
      {"mixed counter", [=](std::uint64_t i) { return hash(i); }, kMixSlack},
      {"mixed pointers", [=](std::uint64_t i) { return hash(i * 64); }, kMixSlack},
      {"mixed high halves", [=](std::uint64_t i) { return hash(i << 32); }, kMixSlack},
      {"mixed high ends", [=](std::uint64_t i) { return hash(i << 44); }, kMixSlack},
  };
}

constexpr std::uint64_t kDraws = 1000000;

TEST(BlockIndex, is_even_over_many_blocks) {
  for (const NamedSource& source : sources()) {
    for (const std::uint64_t blocks : {std::uint64_t{4096}, std::uint64_t{49999}, std::uint64_t{100000}}) {
      std::vector<std::uint32_t> counts(blocks);
      for (std::uint64_t i = 0; i < kDraws; ++i) {
        ++counts[probes::block_index(source.digest(i), blocks)];
      }
      expect_even(counts, kDraws, std::string(source.name) + " over " + std::to_string(blocks), source.slack);
    }
  }
}

// Past 2^32 blocks there are too many to count each: the index's position within the whole, and its low end.
TEST(BlockIndex, is_even_over_more_than_2_to_the_32_blocks) {
  constexpr std::uint64_t kBins = 10007;
  for (const NamedSource& source : sources()) {
    for (const std::uint64_t blocks : {(std::uint64_t{1} << 33) + 12345, (std::uint64_t{1} << 41) - 1}) {
      std::vector<std::uint32_t> high(kBins);
      std::vector<std::uint32_t> low(kBins);
      for (std::uint64_t i = 0; i < kDraws / 2; ++i) {
        const std::uint64_t block = probes::block_index(source.digest(i), blocks);
        ASSERT_LT(block, blocks);
        ++high[static_cast<std::size_t>(static_cast<double>(block) / static_cast<double>(blocks) * kBins)];
        ++low[block % kBins];
      }
      expect_even(high, kDraws / 2.0, std::string(source.name) + ", high end", source.slack);
      expect_even(low, kDraws / 2.0, std::string(source.name) + ", low end", source.slack);
    }
  }
}

// Within one block of many, each lane's bits and each pair of neighboring lanes' bits.
TEST(LanePosition, is_even_within_a_block_and_independent_between_lanes) {
  Random random(1);
  constexpr std::uint64_t kBlocks = std::uint64_t{1} << 20;
  std::vector<std::vector<std::uint32_t>> pairs(probes::kBlockLanes, std::vector<std::uint32_t>(std::size_t{64} * 64));
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    // Digests of one block share their high bits: drawn as such.
    const Digest digest{(std::uint64_t{1} << 63) + (random.number() >> 20)};
    ASSERT_EQ(probes::block_index(digest, kBlocks), kBlocks / 2);
    const std::uint64_t remixed = probes::remix(digest);
    for (unsigned lane = 0; lane < probes::kBlockLanes; ++lane) {
      const unsigned next = (lane + 1) % probes::kBlockLanes;
      ++pairs[lane][probes::lane_position(remixed, lane) * 64 + probes::lane_position(remixed, next)];
    }
  }
  for (unsigned lane = 0; lane < probes::kBlockLanes; ++lane) {
    expect_even(pairs[lane], kDraws, "lane " + std::to_string(lane));
  }
}

TEST(CellSequence, is_even_at_every_step_and_between_steps) {
  Random random(2);
  constexpr std::uint64_t kCells = 64;
  constexpr unsigned kSteps = 10;
  std::vector<std::vector<std::uint32_t>> pairs(kSteps, std::vector<std::uint32_t>(kCells * kCells));
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    probes::CellSequence sequence(random.digest());
    std::uint64_t previous = sequence.next(kCells);
    for (unsigned step = 0; step < kSteps; ++step) {
      const std::uint64_t cell = sequence.next(kCells);
      ++pairs[step][previous * kCells + cell];
      previous = cell;
    }
  }
  for (unsigned step = 0; step < kSteps; ++step) {
    expect_even(pairs[step], kDraws, "step " + std::to_string(step));
  }
}

TEST(FieldSequence, is_even_at_every_step_for_every_width) {
  for (const unsigned bits : {1U, 5U, 11U, 13U}) {
    Random random(bits);
    std::vector<std::uint32_t> counts(std::size_t{1} << bits);
    for (std::uint64_t i = 0; i < kDraws / 10; ++i) {
      probes::FieldSequence sequence(random.digest());
      for (int step = 0; step < 20; ++step) {
        ++counts[sequence.next(bits)];
      }
    }
    expect_even(counts, kDraws * 2, "fields of " + std::to_string(bits) + " bits");
  }
}

}  // namespace
}  // namespace mankai::test
