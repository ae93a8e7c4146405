// All small worlds: every filter of 1 to 3 blocks and classic arrays of up to 64 cells, every sequence of up to six
// operations over a handful of digests, beside a model of single bits. The model computes positions on its own, from
// the drawings at the top of the filters' headers, so it also says whether the code does what they show.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"
#include "mankai/filter/bloom/bloom.hpp"
#include "tests/exhaustive/small_worlds_test_support.hpp"
#include "tests/support/filter_request.hpp"
#include "tests/support/image_edit.hpp"

namespace mankai::test::bits {
namespace {

constexpr std::size_t kCellsMax = 1536;  // three blocks
using Cells = std::bitset<kCellsMax>;

Positions blocked_positions(std::uint64_t digest, std::uint64_t blocks) {
  const std::uint64_t remixed = digest * 0x9e3779b97f4a7c15U;
  Positions positions;
  for (std::uint64_t lane = 0; lane < 8; ++lane) {
    positions.push_back(scaled(digest, blocks) * 512 + lane * 64 + (remixed >> (16 + 6 * lane)) % 64);
  }
  return positions;
}

Positions range_positions(std::uint64_t digest, std::uint64_t cells, unsigned k) {
  Positions positions;
  std::uint64_t state = digest | 1U;
  for (unsigned probe = 0; probe < k; ++probe) {
    positions.push_back(scaled(state, cells));
    state *= 0xf1357aea2e62a9c5U;
  }
  return positions;
}

// Consecutive fields of the bits of SplitMix64's outputs, lowest first, one bit at a time.
Positions field_positions(std::uint64_t digest, unsigned field_bits, unsigned k) {
  std::vector<bool> bits;
  std::uint64_t state = digest;
  while (bits.size() < std::size_t{field_bits} * k) {
    state += 0x9e3779b97f4a7c15U;
    std::uint64_t word = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9U;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
    word ^= word >> 31;
    for (unsigned bit = 0; bit < 64; ++bit) {
      bits.push_back((word >> bit) % 2 == 1);
    }
  }
  Positions positions;
  for (unsigned probe = 0; probe < k; ++probe) {
    std::size_t field = 0;
    for (unsigned bit = 0; bit < field_bits; ++bit) {
      field |= std::size_t{bits[probe * field_bits + bit]} << bit;
    }
    positions.push_back(field);
  }
  return positions;
}

// The bits, and what every operation means for them.
struct Model {
  Cells cells;
  std::uint64_t keys = 0;

  [[nodiscard]] bool may_contain(const Positions& positions) const {
    return std::all_of(positions.begin(), positions.end(), [&](std::size_t cell) { return cells[cell]; });
  }
  bool observe(const Positions& positions) {
    const bool seen = may_contain(positions);
    for (const std::size_t cell : positions) {
      cells[cell] = true;
    }
    keys += seen ? 0U : 1U;
    return seen;
  }
};

template <class F>
Cells cells_of(F& filter) {
  const auto bytes = filter.seal().subspan(sizeof(ImageHeader), filter.cells_bytes());
  Cells cells;
  for (std::size_t cell = 0; cell < bytes.size() * 8; ++cell) {
    cells[cell] = (std::to_integer<unsigned>(bytes[cell / 8]) >> (cell % 8)) % 2 == 1;
  }
  return cells;
}

constexpr unsigned kVerbs = 5;  // insert, observe, insert_concurrent, a batch of two, and clear (without a key)

// One operation on both; returns false where they differ. The batch is the key and its neighbor.
template <class F>
bool apply(F& filter, Model& model, const std::vector<Key>& keys, unsigned verb, std::size_t key) {
  const Key& first = keys[key];
  const Key& second = keys[(key + 1) % keys.size()];
  switch (verb) {
    case 0:
      filter.insert(first.digest);
      model.observe(first.positions);
      return true;
    case 1: return filter.observe(first.digest) == model.observe(first.positions);
    case 2: return filter.insert_concurrent(first.digest) != model.observe(first.positions);
    case 3: {
      const std::array<Digest, 2> batch = {first.digest, second.digest};
      std::array<bool, 2> seen{};
      filter.observe(batch, seen);
      const bool expected = model.observe(first.positions);
      return seen[0] == expected && seen[1] == model.observe(second.positions);
    }
    default:
      filter.clear();
      model = {};
      return true;
  }
}

template <class F>
void expect_same(F& filter, const Model& model, const std::vector<Key>& keys, const std::string& sequence) {
  ASSERT_EQ(cells_of(filter), model.cells) << sequence;
  ASSERT_EQ(filter.keys_inserted(), model.keys) << sequence;
  ASSERT_EQ(filter.fill_ratio(), static_cast<double>(model.cells.count()) / static_cast<double>(filter.cell_count()));
  for (const Key& key : keys) {
    ASSERT_EQ(filter.may_contain(key.digest), model.may_contain(key.positions)) << sequence;
  }
}

template <class F>
void expect_model(F& filter, const std::vector<Key>& keys, unsigned length_max) {
  expect_model(filter, Model{}, kVerbs, keys, length_max);
}

BlockedBloom with_blocks(std::uint64_t blocks) {
  for (std::uint64_t keys = 1;; ++keys) {
    auto filter = BlockedBloom::create({.keys = keys, .fpr = 0.01, .hash = kXxh3}).value();
    if (filter.params().block_count == blocks) {
      return filter;
    }
  }
}

std::vector<Key> blocked_keys(std::span<const std::uint64_t> digests, std::uint64_t blocks) {
  std::vector<Key> keys;
  for (const std::uint64_t digest : digests) {
    keys.push_back({.digest = {digest}, .positions = blocked_positions(digest, blocks)});
  }
  return keys;
}

TEST(SmallWorlds, blocked_filters_of_1_to_3_blocks_follow_the_model) {
  for (std::uint64_t blocks = 1; blocks <= 3; ++blocks) {
    auto filter = with_blocks(blocks);
    expect_model(filter, blocked_keys(kDigests, blocks), 3);
    // One digest's worth of operations is few enough for sequences of six.
    expect_model(filter, blocked_keys(std::span(kDigests).first(1), blocks), 6);
    expect_model(filter, blocked_keys(std::span(kDigests).last(2), blocks), 4);
  }
}

// An image of a classic filter with any number of cells, any k: the creator only makes whole lines, the format allows
// more.
Bloom tiny_bloom(std::uint64_t cells, std::uint32_t k, std::uint32_t field_bits) {
  std::vector<std::byte> bytes = Bloom::create({.keys = 1, .fpr = 0.5, .hash = kXxh3}).value().to_bytes();
  ImageHeader header = header_of(bytes);
  header.kind_params = {cells, k | std::uint64_t{field_bits} << 32};
  set_header(bytes, header);
  fix_header_checksum(bytes);
  fix_trailer(bytes);
  return Bloom::from_bytes(bytes).value();
}

TEST(SmallWorlds, classic_filters_of_up_to_64_cells_follow_the_model) {
  constexpr std::array<std::uint64_t, 3> kFew = {0, ~std::uint64_t{0}, 0x8000000000000001U};
  for (std::uint64_t cells = 1; cells <= 64; ++cells) {
    for (unsigned k = 1; k <= 3; ++k) {
      auto filter = tiny_bloom(cells, k, 0);
      std::vector<Key> keys;
      for (const std::uint64_t digest : kFew) {
        keys.push_back({.digest = {digest}, .positions = range_positions(digest, cells, k)});
      }
      expect_model(filter, keys, cells <= 8 ? 3 : 2);
      keys.resize(1);
      expect_model(filter, keys, cells <= 3 ? 6 : 3);
    }
  }
}

TEST(SmallWorlds, field_addressed_filters_of_up_to_64_cells_follow_the_model) {
  constexpr std::array<std::uint64_t, 3> kFew = {0, ~std::uint64_t{0}, 77};
  for (unsigned field_bits = 1; field_bits <= 6; ++field_bits) {
    for (unsigned k = 1; k <= 3; ++k) {
      auto filter = tiny_bloom(std::uint64_t{1} << field_bits, k, field_bits);
      std::vector<Key> keys;
      for (const std::uint64_t digest : kFew) {
        keys.push_back({.digest = {digest}, .positions = field_positions(digest, field_bits, k)});
      }
      expect_model(filter, keys, 3);
      keys.resize(1);
      expect_model(filter, keys, 5);
    }
  }
}

// Positions only, for digests everywhere and larger shapes than the model has room for.
template <class Sequence>
Positions drawn(Sequence sequence, std::uint64_t range, unsigned k) {
  Positions positions;
  for (unsigned probe = 0; probe < k; ++probe) {
    positions.push_back(sequence.next(static_cast<unsigned>(range)));
  }
  return positions;
}

TEST(SmallWorlds, positions_are_those_of_the_drawings) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t digest = random.number();
    const auto cells = 1 + random.below(1U << 31);
    EXPECT_EQ(drawn(probes::CellSequence(Digest{digest}), cells, 64), range_positions(digest, cells, 64));
    const auto bits = static_cast<unsigned>(1 + random.below(48));
    EXPECT_EQ(drawn(probes::FieldSequence(Digest{digest}), bits, 64), field_positions(digest, bits, 64));
    EXPECT_EQ(probes::block_index(Digest{digest}, cells), scaled(digest, cells));
  }
}

}  // namespace
}  // namespace mankai::test::bits
