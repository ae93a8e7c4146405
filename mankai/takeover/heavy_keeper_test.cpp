#include "mankai/takeover/heavy_keeper.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "mankai/takeover/fields_test_support.hpp"
#include "tests/support/counting_memory.hpp"
#include "tests/support/moving_memory.hpp"
#include "tests/support/random.hpp"

namespace mankai::takeover::test {
namespace {

using mankai::test::CountingMemory;
using mankai::test::Random;

HeavyKeeper top_of(const HeavyKeeperShape& shape, std::uint64_t seed = 0) {
  return *HeavyKeeper::create(shape, system_memory(), seed);
}

/// Items 0 to 99, the first ones more often.
void add_items(HeavyKeeper& top, std::uint64_t seed, int count) {
  Random random(seed);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t below = 1 + random.below(100);
    top.add(std::to_string(random.below(below)), 1 + static_cast<std::uint32_t>(random.below(3)));
  }
}

TEST(HeavyKeeper, lists_the_items_with_the_highest_counts) {
  HeavyKeeper top = top_of({.most = 5, .width = 500, .depth = 5});
  Random random(1);
  std::map<std::string, std::uint32_t> exact;
  for (int i = 0; i < 20'000; ++i) {
    const std::string item = std::to_string(random.below(1 + random.below(1 + random.below(1000))));
    top.add(item);
    ++exact[item];
  }
  std::vector<std::uint32_t> counts;
  for (const auto& [item, count] : exact) {
    counts.push_back(count);
    EXPECT_LE(top.count(item), count);
  }
  std::ranges::sort(counts, std::ranges::greater());
  const auto list = top.list();
  ASSERT_EQ(list.size(), 5U);
  for (std::size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(list[i].count, counts[i]);
    EXPECT_EQ(list[i].count, exact[std::string(list[i].text)]);
    EXPECT_TRUE(top.is_listed(list[i].text));
    EXPECT_EQ(top.count(list[i].text), list[i].count);
  }
}

TEST(HeavyKeeper, returns_the_item_that_it_expels) {
  HeavyKeeper top = top_of({.most = 2, .width = 50, .depth = 4, .decay = 1});
  EXPECT_EQ(top.add("a", 5), std::nullopt);
  EXPECT_EQ(top.add("b", 3), std::nullopt);
  EXPECT_EQ(top.add("c", 2), std::nullopt);
  EXPECT_FALSE(top.is_listed("c"));
  EXPECT_EQ(top.add("c", 1), "b");
  EXPECT_TRUE(top.is_listed("c"));
  EXPECT_EQ(top.add("a", 0), std::nullopt);
  EXPECT_EQ(top.list().front().text, "a");
  EXPECT_EQ(top.list().back().count, 3U);
}

TEST(HeavyKeeper, an_item_with_count_0_is_listed_nowhere) {
  HeavyKeeper top = top_of({.most = 2});
  EXPECT_EQ(top.add("hidden", 0), std::nullopt);
  EXPECT_TRUE(top.is_listed("hidden"));
  EXPECT_TRUE(top.list().empty());
  const auto loaded = value_of<HeavyKeeper>(fields_of(top), 0);
  ASSERT_TRUE(loaded);
  EXPECT_TRUE(loaded->is_listed("hidden"));
  EXPECT_TRUE(loaded->list().empty());
  EXPECT_EQ(top.add("b"), std::nullopt);
  EXPECT_EQ(top.add("c"), "hidden");
}

TEST(HeavyKeeper, items_of_any_bytes_survive_saving) {
  HeavyKeeper top = top_of({.most = 9, .width = 100, .decay = 1});
  const std::vector<std::string> items = {"",  std::string(1, '\0'),   std::string("a\0b", 3),
                                          "a", std::string(1000, 'x'), "\xff\xfe"};
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    top.add(items[i], 10 - i);
  }
  const auto loaded = value_of<HeavyKeeper>(fields_of(top), 0);
  ASSERT_TRUE(loaded);
  for (const HeavyKeeper* const each : {static_cast<const HeavyKeeper*>(&top), &*loaded}) {
    const auto list = each->list();
    ASSERT_EQ(list.size(), items.size());
    for (std::uint32_t i = 0; i < items.size(); ++i) {
      EXPECT_EQ(list[i].text, items[i]);
      EXPECT_EQ(list[i].count, 10 - i);
      EXPECT_TRUE(each->is_listed(items[i]));
    }
  }
  EXPECT_GT(top.memory_bytes(), top.shape().cell_bytes() + top.shape().heap_bytes() + 1000);
}

TEST(HeavyKeeper, memory_is_that_of_the_listed_items) {
  HeavyKeeper top = top_of({.most = 1, .width = 100, .decay = 1});
  top.add("a");
  const std::uint64_t before = top.memory_bytes();
  top.add(std::string(1000, 'x'), 2);
  EXPECT_EQ(top.memory_bytes(), before + 1001);
  EXPECT_EQ(top.clone()->memory_bytes(), value_of<HeavyKeeper>(fields_of(top), 0)->memory_bytes());
  top.add("b", 3);
  EXPECT_EQ(top.memory_bytes(), before);
}

TEST(HeavyKeeper, an_empty_place_is_not_the_empty_item) {
  HeavyKeeper top = top_of({.most = 3});
  EXPECT_FALSE(top.is_listed(""));
  EXPECT_FALSE(value_of<HeavyKeeper>(fields_of(top), 0)->is_listed(""));
  top.add("", 0);
  EXPECT_TRUE(top.is_listed(""));
  EXPECT_TRUE(value_of<HeavyKeeper>(fields_of(top), 0)->is_listed(""));
}

TEST(HeavyKeeper, chance_is_the_same_in_copies_and_loaded_values) {
  HeavyKeeper top = top_of({.most = 7, .width = 10, .depth = 3});
  add_items(top, 1, 2000);
  HeavyKeeper again = top_of({.most = 7, .width = 10, .depth = 3});
  add_items(again, 1, 2000);
  EXPECT_EQ(fields_of(again), fields_of(top));
  auto loaded = value_of<HeavyKeeper>(fields_of(top), 0);
  auto copy = top.clone();
  ASSERT_TRUE(loaded && copy);
  int moves = 0;
  for (std::size_t piece = 0; piece < HeavyKeeper::memory_pieces(); ++piece) {
    copy->relocate(piece, {.move = mankai::test::move_away, .context = &moves});
  }
  EXPECT_EQ(moves, 2);
  for (HeavyKeeper* const each : {&top, &*loaded, &*copy}) {
    add_items(*each, 2, 2000);
    EXPECT_EQ(fields_of(*each), fields_of(top));
  }
  HeavyKeeper other = top_of({.most = 7, .width = 10, .depth = 3}, 1);
  add_items(other, 1, 2000);
  add_items(other, 2, 2000);
  EXPECT_NE(std::get<Bytes>(fields_of(other)[4]), std::get<Bytes>(fields_of(top)[4]));
}

TEST(HeavyKeeper, takes_a_count_away_with_the_probability_of_its_decay) {
  // One cell of 10 of another item; by 1 each time, until it is lower.
  double tries = 0;
  const int rounds = 2000;
  for (int seed = 0; seed < rounds; ++seed) {
    HeavyKeeper top =
        top_of({.most = 2, .width = 1, .depth = 1, .decay = 0.9}, static_cast<std::uint64_t>(seed) << 32U);
    top.add("a", 10);
    while (top.count("a") == 10) {
      top.add("b");
      ++tries;
    }
  }
  // Geometric: mean 1 / p, variance (1 - p) / p².
  const double probability = std::pow(0.9, 10);
  const double mean = 1 / probability;
  const double deviation = std::sqrt((1 - probability) / rounds) / probability;
  EXPECT_NEAR(tries / rounds, mean, 4 * deviation);
}

TEST(HeavyKeeper, large_increments_replace_what_is_small) {
  HeavyKeeper top = top_of({.most = 2, .width = 1, .depth = 2, .decay = 1});
  top.add("a", 1000);
  top.add("b", 1500);
  EXPECT_EQ(top.count("a"), 0U);
  EXPECT_EQ(top.count("b"), 501U);
  // Beyond 255 the probability is as good as 0.
  HeavyKeeper decaying = top_of({.most = 2, .width = 1, .depth = 2, .decay = 0.5});
  decaying.add("a", 1000);
  decaying.add("b", 100'000);
  EXPECT_EQ(decaying.count("a"), 1000U);
}

TEST(HeavyKeeper, counts_stay_at_their_maximum) {
  HeavyKeeper top = top_of({.most = 2, .width = 1, .depth = 1});
  top.add("a");
  FieldList fields = fields_of(top);
  const std::uint32_t nearly = std::numeric_limits<std::uint32_t>::max() - 5;
  std::memcpy(std::get<Bytes>(fields[4]).data() + 4, &nearly, sizeof nearly);
  auto loaded = value_of<HeavyKeeper>(fields, 0);
  ASSERT_TRUE(loaded);
  loaded->add("a", 100);
  EXPECT_EQ(loaded->count("a"), std::numeric_limits<std::uint32_t>::max());
}

TEST(HeavyKeeper, a_listed_item_counts_only_cells_of_at_least_the_lowest_count) {
  // A cell that is lower than the list's lowest count: RedisBloom takes it for another item's.
  HeavyKeeper top = top_of({.most = 1, .width = 50, .depth = 1, .decay = 1});
  top.add("a", 10);
  FieldList fields = fields_of(top);
  const std::uint32_t more = 11;
  std::memcpy(std::get<Bytes>(fields[5]).data() + 16, &more, sizeof more);
  const auto loaded = value_of<HeavyKeeper>(fields, 0);
  ASSERT_TRUE(loaded);
  EXPECT_TRUE(loaded->is_listed("a"));
  EXPECT_EQ(loaded->count("a"), 0U);
}

TEST(HeavyKeeper, refuses_values_that_do_not_fit_together) {
  HeavyKeeper top = top_of({.most = 2, .width = 3, .depth = 4});
  top.add("a");
  const FieldList good = fields_of(top);
  for (std::size_t count = 0; count < good.size(); ++count) {
    EXPECT_EQ(value_of<HeavyKeeper>(FieldList(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(count)), 0)
                  .error()
                  .code,
              ErrorCode::corrupt);
  }
  const std::uint64_t beyond = std::uint64_t{1} << 32;
  const std::vector<std::pair<std::size_t, Field>> forgeries = {
      {0, std::uint64_t{0}},
      {0, std::uint64_t{3}},
      {0, beyond + 2},
      {1, beyond + 3},
      {1, std::uint64_t{0}},
      {2, std::uint64_t{0}},
      {2, beyond - 1},
      {3, 0.0},
      {3, 1.0001},
      {3, -0.5},
      {3, std::numeric_limits<double>::quiet_NaN()},
      {3, std::numeric_limits<double>::infinity()},
      {4, Bytes(95)},
      {5, Bytes(47)},
      {6, Bytes()},
      {6, Bytes{std::byte{'a'}}},
  };
  for (const auto& [at, field] : forgeries) {
    FieldList forged = good;
    forged[at] = field;
    const auto value = value_of<HeavyKeeper>(forged, 0);
    ASSERT_FALSE(value) << at;
    EXPECT_EQ(value.error().code, ErrorCode::corrupt);
  }
  EXPECT_EQ(value_of<HeavyKeeper>(good, 1).error().code, ErrorCode::unsupported_version);
}

TEST(HeavyKeeper, refuses_impossible_requests_and_failed_allocations) {
  const std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
  for (const HeavyKeeperShape& shape :
       {HeavyKeeperShape{.most = 0}, HeavyKeeperShape{.most = 1, .width = 0}, HeavyKeeperShape{.most = 1, .depth = 0},
        HeavyKeeperShape{.most = 1, .decay = 0}, HeavyKeeperShape{.most = 1, .decay = 1.1},
        HeavyKeeperShape{.most = 1, .width = most, .depth = most}}) {
    ASSERT_FALSE(HeavyKeeper::create(shape));
    EXPECT_EQ(HeavyKeeper::create(shape).error().code, ErrorCode::invalid_argument);
  }
  const HeavyKeeper top = top_of({.most = 3});
  for (const std::size_t grants : std::to_array<std::size_t>({0, 1})) {
    CountingMemory counting(grants);
    EXPECT_EQ(HeavyKeeper::create(top.shape(), counting.memory()).error().code, ErrorCode::out_of_space);
    EXPECT_EQ(top.clone(counting.memory()).error().code, ErrorCode::out_of_space);
    EXPECT_EQ(value_of<HeavyKeeper>(fields_of(top), 0, counting.memory()).error().code, ErrorCode::out_of_space);
    EXPECT_EQ(counting.bytes_in_use, 0U);
  }
}

}  // namespace
}  // namespace mankai::takeover::test
