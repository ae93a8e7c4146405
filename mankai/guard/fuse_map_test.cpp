#include "mankai/guard/fuse_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/support/random.hpp"

namespace mankai::test {
namespace {

constexpr std::uint64_t kSeed = 2022;

std::uint64_t limit(unsigned bits) { return std::uint64_t{1} << bits; }

// A map, what it was made of, and a view of its cells.
struct Made {
  std::vector<Digest> keys;
  std::vector<std::uint32_t> values;
  FuseMap::Cells cells;
  FuseMap map;
};

Made make(std::size_t count, unsigned bits, std::uint64_t seed = kSeed) {
  Random random(seed ^ count << 8U ^ bits);
  std::vector<Digest> keys = random.digests(count);
  std::vector<std::uint32_t> values(count);
  std::ranges::generate(values, [&] { return static_cast<std::uint32_t>(random.below(limit(bits))); });
  auto cells = FuseMap::build(keys, values, bits, seed).value();
  const auto map = FuseMap::from_cells(cells.params, cells.words).value();
  return {std::move(keys), std::move(values), std::move(cells), map};
}

void expect_all(const Made& made) {
  for (std::size_t i = 0; i < made.keys.size(); ++i) {
    ASSERT_EQ(made.map.lookup(made.keys[i]), made.values[i]);
  }
}

TEST(FuseMap, gives_each_key_its_value_at_every_small_size) {
  for (std::size_t count = 0; count <= 300; ++count) {
    const auto made = make(count, 2 + static_cast<unsigned>(count % 31));
    expect_all(made);
    EXPECT_EQ(made.cells.params.keys, count);
  }
}

TEST(FuseMap, gives_each_key_its_value_at_every_width) {
  for (unsigned bits = FuseMap::kMinValueBits; bits <= FuseMap::kMaxValueBits; ++bits) {
    expect_all(make(3000, bits));
  }
}

TEST(FuseMap, a_million_keys_take_7_to_9_percent_more_than_their_values) {
  const auto made = make(1'000'000, 12);
  expect_all(made);
  const double bits = 64.0 * static_cast<double>(made.cells.words.size()) / 1e6;
  EXPECT_GT(bits, 12 * 1.07);
  EXPECT_LT(bits, 12 * 1.075 * 1.016);  // and at most one step of growing
}

TEST(FuseMap, counters_are_as_good_as_random_digests) {
  std::vector<Digest> keys(50'000);
  std::vector<std::uint32_t> values(keys.size());
  for (std::uint32_t i = 0; i < keys.size(); ++i) {
    keys[i].value = i;
    values[i] = i % 7;
  }
  const auto cells = FuseMap::build(keys, values, 8, kSeed).value();
  EXPECT_LT(cells.words.size() * 64, keys.size() * 8 * 13 / 10);
  expect_all({keys, values, cells, FuseMap::from_cells(cells.params, cells.words).value()});
}

TEST(FuseMap, the_same_arguments_give_the_same_cells) {
  const auto made = make(5000, 9);
  const auto again = FuseMap::build(made.keys, made.values, 9, kSeed).value();
  EXPECT_EQ(again.params, made.cells.params);
  EXPECT_EQ(again.words, made.cells.words);
  const auto other = FuseMap::build(made.keys, made.values, 9, kSeed + 1).value();
  EXPECT_NE(other.words, made.cells.words);
}

// The cells are stored, so whoever changes how they are read makes files wrong: these are of 2026.
TEST(FuseMap, reads_cells_that_were_stored_long_ago) {
  const std::vector<Digest> keys = {{1}, {2}, {0xfedcba9876543210U}};
  const std::vector<std::uint32_t> values = {7, 0, 0x3ff};
  const auto cells = FuseMap::build(keys, values, 10, 5).value();
  const FuseMap::Params params{
      .keys = 3, .seed = 0xb6926fb1574cdd9fU, .segments = 7, .segment_bits = 0, .value_bits = 10};
  EXPECT_EQ(cells.params, params);
  EXPECT_EQ(cells.words, (std::vector<std::uint64_t>{9267269974425000539U, 66960206608U, 0}));
}

// Pearson's statistic over `cells` equally likely outcomes has mean cells - 1 and variance 2 (cells - 1).
void expect_uniform(std::span<const std::uint64_t> counts, std::uint64_t draws) {
  const double expected = static_cast<double>(draws) / static_cast<double>(counts.size());
  double statistic = 0;
  for (const std::uint64_t count : counts) {
    statistic += std::pow(static_cast<double>(count) - expected, 2) / expected;
  }
  const auto freedom = static_cast<double>(counts.size() - 1);
  EXPECT_LT(std::abs(statistic - freedom), 5 * std::sqrt(2 * freedom));
}

// All values 0, as of a set: the numbers of absent keys are uniform all the same, in maps of any size.
TEST(FuseMap, absent_keys_get_every_number_equally_often) {
  for (const std::size_t count : {0U, 1U, 2U, 3U, 10U, 100U, 1000U, 30'000U}) {
    for (const unsigned bits : {2U, 8U, 11U}) {
      const auto keys = Random(count).digests(count);
      const auto cells = FuseMap::build(keys, std::vector<std::uint32_t>(count), bits, kSeed).value();
      const auto map = FuseMap::from_cells(cells.params, cells.words).value();
      std::vector<std::uint64_t> counts(limit(bits));
      constexpr std::uint64_t kDraws = 200'000;
      Random random(bits + 1000);
      for (std::uint64_t i = 0; i < kDraws; ++i) {
        ++counts[map.lookup(random.digest())];
      }
      SCOPED_TRACE(testing::Message() << count << " keys, " << bits << " bits");
      expect_uniform(counts, kDraws);
    }
  }
}

// Digests that differ in one bit from a key are absent keys as any.
TEST(FuseMap, neighbors_of_keys_are_absent_keys) {
  const auto made = make(20'000, 8);
  std::vector<std::uint64_t> counts(limit(8));
  for (std::size_t i = 0; i < made.keys.size(); ++i) {
    for (unsigned bit = 0; bit < 64; bit += 7) {
      ++counts[made.map.lookup({made.keys[i].value ^ std::uint64_t{1} << bit}) ^ made.values[i]];
    }
  }
  expect_uniform(counts, made.keys.size() * 10);
}

TEST(FuseMap, refuses_a_key_that_comes_twice) {
  for (const std::size_t count : {2U, 10U, 1000U}) {
    auto keys = Random(9).digests(count);
    keys.back() = keys.front();
    const auto built = FuseMap::build(keys, std::vector<std::uint32_t>(count), 8, kSeed);
    ASSERT_FALSE(built.has_value());
    EXPECT_EQ(built.error().code, ErrorCode::invalid_argument);
  }
}

TEST(FuseMap, refuses_widths_and_values_that_do_not_fit) {
  const std::vector<Digest> keys = {{1}, {2}};
  const std::vector<std::uint32_t> values = {3, 4};
  EXPECT_TRUE(FuseMap::build(keys, values, 3, kSeed).has_value());
  for (const unsigned bits : {0U, 1U, 2U, 33U, 64U, ~0U}) {
    const auto built = FuseMap::build(keys, values, bits, kSeed);
    ASSERT_FALSE(built.has_value()) << bits;
    EXPECT_EQ(built.error().code, ErrorCode::invalid_argument);
  }
}

TEST(FuseMap, refuses_params_that_no_map_has) {
  const auto made = make(100, 8);
  for (const auto& change : std::vector<void (*)(FuseMap::Params&)>{
           [](auto& params) { params.segments = 0; },
           [](auto& params) { params.segments += 1; },
           [](auto& params) { params.segments = ~std::uint64_t{0}; },
           [](auto& params) { params.segments = std::uint64_t{1} << 62; },
           [](auto& params) { params.segment_bits = 19; },
           [](auto& params) { params.segment_bits = ~0U; },
           [](auto& params) { params.value_bits = 1; },
           [](auto& params) { params.value_bits = 33; },
           [](auto& params) { params.value_bits = 16; },
       }) {
    auto params = made.cells.params;
    change(params);
    const auto opened = FuseMap::from_cells(params, made.cells.words);
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().code, ErrorCode::corrupt);
  }
  EXPECT_FALSE(FuseMap::from_cells(made.cells.params, {}).has_value());
  const auto words = std::span(made.cells.words);
  EXPECT_FALSE(FuseMap::from_cells(made.cells.params, words.first(words.size() - 1)).has_value());
}

// Whatever the cells are, a lookup stays within them; a sanitizer watches the vector's end.
TEST(FuseMap, any_cells_are_some_map) {
  Random random(77);
  for (unsigned bits = FuseMap::kMinValueBits; bits <= FuseMap::kMaxValueBits; ++bits) {
    for (std::uint32_t segment_bits = 0; segment_bits < 6; ++segment_bits) {
      const FuseMap::Params params{
          .seed = random.number(), .segments = 1 + random.below(5), .segment_bits = segment_bits, .value_bits = bits};
      const auto words = random.numbers(FuseMap::words_for(params));
      const auto map = FuseMap::from_cells(params, words).value();
      for (int i = 0; i < 200; ++i) {
        ASSERT_LT(map.lookup(random.digest()), limit(bits));
      }
    }
  }
}

}  // namespace
}  // namespace mankai::test
