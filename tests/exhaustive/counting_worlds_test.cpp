// All small worlds of counters: every sequence of up to six operations over a handful of digests, in blocked filters of
// 1 and 2 blocks and in partitioned and dablooms ones of up to 9 counters, beside a model of plain integers. The model
// computes positions on its own, from the drawings at the top of the filter's header.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "tests/exhaustive/small_worlds_test_support.hpp"
#include "tests/support/filter_request.hpp"
#include "tests/support/image_edit.hpp"

namespace mankai::test::counters {
namespace {

constexpr unsigned kStuck = 15;

Positions blocked_positions(std::uint64_t digest, std::uint64_t blocks) {
  const std::uint64_t remixed = digest * 0x9e3779b97f4a7c15U;
  Positions positions;
  for (std::uint64_t lane = 0; lane < 8; ++lane) {
    positions.push_back(scaled(digest, blocks) * 128 + lane * 16 + (remixed >> (16 + 6 * lane)) % 64 / 4);
  }
  return positions;
}

Positions partitioned_positions(std::uint64_t digest, std::uint64_t size, unsigned k) {
  Positions positions;
  std::uint64_t state = digest | 1U;
  for (unsigned probe = 0; probe < k; ++probe) {
    positions.push_back(probe * size + scaled(state, size));
    state *= 0xf1357aea2e62a9c5U;
  }
  return positions;
}

// The sum is exact in 64 bits; it is cut to 32 at the end.
Positions dablooms_positions(std::uint64_t digest, std::uint64_t size, unsigned k) {
  Positions positions;
  for (std::uint64_t probe = 0; probe < k; ++probe) {
    const std::uint64_t sum = digest % 0x100000000U + probe * (digest / 0x100000000U);
    positions.push_back(probe * size + sum % 0x100000000U % size);
  }
  return positions;
}

// The counters, and what every operation means for them.
struct Model {
  std::vector<unsigned> cells;
  std::uint64_t keys = 0;

  [[nodiscard]] unsigned estimate(const Positions& positions) const {
    unsigned smallest = kStuck;
    for (const std::size_t cell : positions) {
      smallest = std::min(smallest, cells[cell]);
    }
    return smallest;
  }
  bool observe(const Positions& positions) {
    const bool seen = estimate(positions) != 0;
    for (const std::size_t cell : positions) {
      cells[cell] += cells[cell] == kStuck ? 0 : 1;
    }
    ++keys;
    return seen;
  }
  EraseResult erase(const Positions& positions) {
    if (estimate(positions) == 0) {
      return EraseResult::absent;
    }
    if (estimate(positions) == kStuck) {
      return EraseResult::stuck;
    }
    for (const std::size_t cell : positions) {
      cells[cell] -= cells[cell] == kStuck ? 0 : 1;
    }
    keys -= keys == 0 ? 0 : 1;
    return EraseResult::erased;
  }
};

// insert, observe, erase, insert seven times, a batch of two and one that erases two, and clear (without a key).
constexpr unsigned kVerbs = 7;

// One operation on both; returns false where they differ. The batch is the key and its neighbor.
bool apply(CountingBloom& filter, Model& model, const std::vector<Key>& keys, unsigned verb, std::size_t key) {
  const Key& first = keys[key];
  const Key& second = keys[(key + 1) % keys.size()];
  const std::array<Digest, 2> both = {first.digest, second.digest};
  switch (verb) {
    case 0:
      filter.insert(first.digest);
      model.observe(first.positions);
      return true;
    case 1: return filter.observe(first.digest) == model.observe(first.positions);
    case 2: return filter.erase(first.digest) == model.erase(first.positions);
    case 3:
      for (int times = 0; times < 7; ++times) {
        filter.insert(first.digest);
        model.observe(first.positions);
      }
      return true;
    case 4: {
      std::array<bool, 2> seen{};
      filter.observe(both, seen);
      const bool expected = model.observe(first.positions);
      return seen[0] == expected && seen[1] == model.observe(second.positions);
    }
    case 5: {
      std::array<EraseResult, 2> results{};
      filter.erase(both, results);
      const EraseResult expected = model.erase(first.positions);
      return results[0] == expected && results[1] == model.erase(second.positions);
    }
    default:
      filter.clear();
      model = {.cells = std::vector<unsigned>(model.cells.size()), .keys = 0};
      return true;
  }
}

std::vector<unsigned> cells_of(CountingBloom& filter) {
  const auto bytes = filter.seal().subspan(sizeof(ImageHeader), filter.cells_bytes());
  std::vector<unsigned> cells;
  for (const std::byte byte : bytes) {
    cells.push_back(std::to_integer<unsigned>(byte) % 16);
    cells.push_back(std::to_integer<unsigned>(byte) / 16);
  }
  return cells;
}

void expect_same(CountingBloom& filter, const Model& model, const std::vector<Key>& keys, const std::string& sequence) {
  ASSERT_EQ(cells_of(filter), model.cells) << sequence;
  ASSERT_EQ(filter.keys_inserted(), model.keys) << sequence;
  ASSERT_EQ(filter.saturated_cells(),
            static_cast<std::uint64_t>(std::count(model.cells.begin(), model.cells.end(), kStuck)));
  const auto zeros = std::count(model.cells.begin(), model.cells.end(), 0U);
  ASSERT_EQ(filter.fill_ratio(), static_cast<double>(model.cells.size() - static_cast<std::size_t>(zeros)) /
                                     static_cast<double>(filter.cell_count()));
  for (const Key& key : keys) {
    const unsigned estimate = model.estimate(key.positions);
    ASSERT_EQ(filter.may_contain(key.digest), estimate != 0) << sequence;
    ASSERT_EQ(filter.estimate(key.digest), (KeyCount{.value = estimate, .is_saturated = estimate == kStuck}));
  }
}

void expect_model(CountingBloom& filter, const std::vector<Key>& keys, unsigned length_max) {
  expect_model(filter, Model{.cells = std::vector<unsigned>(filter.cells_bytes() * 2)}, kVerbs, keys, length_max);
}

CountingBloom with_blocks(std::uint64_t blocks) {
  for (std::uint64_t keys = 1;; ++keys) {
    auto filter = CountingBloom::create({.keys = keys, .fpr = 0.1, .hash = kXxh3}).value();
    if (filter.params().size == blocks) {
      return filter;
    }
  }
}

// An image of any shape within one line: the creator makes only those that a rate asks for.
CountingBloom with_partitions(CountingLayout layout, std::uint64_t size, std::uint32_t k) {
  std::vector<std::byte> bytes =
      CountingBloom::create({.keys = 1, .fpr = 0.9, .layout = layout, .hash = kXxh3}).value().to_bytes();
  ImageHeader header = header_of(bytes);
  header.kind_params = {size, k | static_cast<std::uint64_t>(layout) << 32};
  set_header(bytes, header);
  fix_header_checksum(bytes);
  fix_trailer(bytes);
  return CountingBloom::from_bytes(bytes).value();
}

TEST(SmallCountingWorlds, blocked_filters_of_1_and_2_blocks_follow_the_model) {
  for (std::uint64_t blocks = 1; blocks <= 2; ++blocks) {
    auto filter = with_blocks(blocks);
    std::vector<Key> keys;
    for (const std::uint64_t digest : kDigests) {
      keys.push_back({.digest = {digest}, .positions = blocked_positions(digest, blocks)});
    }
    expect_model(filter, keys, 2);
    expect_model(filter, {keys[0], keys[1]}, 3);
    // One digest's worth of operations is few enough for sequences of six.
    expect_model(filter, {keys[2]}, 6);
  }
}

void expect_model_of_partitions(CountingLayout layout, Positions (*positions)(std::uint64_t, std::uint64_t, unsigned)) {
  for (std::uint64_t size = 1; size <= 3; ++size) {
    for (unsigned k = 1; k <= 3; ++k) {
      auto filter = with_partitions(layout, size, k);
      std::vector<Key> keys;
      for (const std::uint64_t digest : kDigests) {
        keys.push_back({.digest = {digest}, .positions = positions(digest, size, k)});
      }
      expect_model(filter, keys, 2);
      expect_model(filter, {keys[1], keys[3]}, 3);
      keys.resize(1);
      expect_model(filter, keys, size == 2 && k == 2 ? 6 : 4);
    }
  }
}

TEST(SmallCountingWorlds, partitioned_filters_of_up_to_9_counters_follow_the_model) {
  expect_model_of_partitions(CountingLayout::partitioned, partitioned_positions);
}

TEST(SmallCountingWorlds, dablooms_filters_of_up_to_9_counters_follow_the_model) {
  expect_model_of_partitions(CountingLayout::dablooms, dablooms_positions);
}

}  // namespace
}  // namespace mankai::test::counters
