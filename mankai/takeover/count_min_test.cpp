#include "mankai/takeover/count_min.hpp"

#include <gtest/gtest.h>

#include <cstdint>
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
using Count = CountMin::Count;
using Fault = CountMin::Fault;
using Rule = CountMin::Rule;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

CountMin sketch_of(std::uint32_t cell_bytes) {
  return *CountMin::create({.width = 101, .depth = 3, .cell_bytes = cell_bytes});
}

TEST(CountMinShape, dimensions_of_an_error_are_redisblooms) {
  const std::map<double, std::uint64_t> depths = {{0.5, 1}, {0.25, 2}, {0.03125, 5}, {0.01, 7}, {0.003, 9}};
  for (const auto& [probability, depth] : depths) {
    EXPECT_EQ(CountMinShape::of_error(0.01, probability), (CountMinShape{.width = 200, .depth = depth})) << probability;
  }
  EXPECT_EQ(CountMinShape::of_error(0.3, 0.5).width, 7U);
}

TEST(CountMinShape, extreme_errors_have_no_sketch) {
  for (const auto& shape : {CountMinShape::of_error(1e-300, 0.5), CountMinShape::of_error(0.5, 1e-300),
                            CountMinShape::of_error(0.5, 1 - 1e-15), CountMinShape{.width = 0, .depth = 1},
                            CountMinShape{.width = std::uint64_t{1} << 62, .depth = 4},
                            CountMinShape{.width = std::uint64_t{1} << 62, .depth = 1},
                            CountMinShape{.width = std::uint64_t{1} << 38, .depth = 2},
                            CountMinShape{.width = 1, .depth = 1, .cell_bytes = 3},
                            CountMinShape{.width = 1, .depth = 1, .cell_bytes = 0}}) {
    ASSERT_FALSE(shape.bytes());
    EXPECT_EQ(shape.bytes().error().code, ErrorCode::invalid_argument);
    EXPECT_FALSE(CountMin::create(shape));
  }
  EXPECT_EQ(*CountMinShape({.width = 5, .depth = 3, .cell_bytes = 8}).bytes(), 120U);
}

TEST(CountMin, counts_at_least_what_was_added) {
  for (const std::uint32_t cell_bytes : {1U, 2U, 4U, 8U}) {
    CountMin sketch = sketch_of(cell_bytes);
    Random random(cell_bytes);
    std::map<std::string, std::uint64_t> added;
    std::uint64_t total = 0;
    for (int i = 0; i < 1000; ++i) {
      const std::string key = std::to_string(random.below(300));
      const auto by = static_cast<std::int64_t>(random.below(4));
      if (const Count count = sketch.increment(key, by); count) {
        added[key] += static_cast<std::uint64_t>(by);
        total += static_cast<std::uint64_t>(by);
        EXPECT_EQ(*count, sketch.estimate(key));
      }
    }
    EXPECT_EQ(sketch.total(), total);
    for (const auto& [key, count] : added) {
      EXPECT_GE(sketch.estimate(key), count);
    }
    EXPECT_EQ(sketch.memory_bytes(), 303U * cell_bytes);
  }
}

TEST(CountMin, saturating_cells_stay_at_their_maximum) {
  CountMin sketch = sketch_of(4);
  ASSERT_EQ(sketch.default_rule(), Rule::saturating);
  EXPECT_EQ(sketch.increment("a", UINT32_MAX - 1), Count(UINT32_MAX - 1));
  EXPECT_EQ(sketch.increment("a", 1), Count(std::unexpect, Fault::overflow));
  EXPECT_EQ(sketch.increment("a", 0), Count(std::unexpect, Fault::overflow));
  EXPECT_EQ(sketch.estimate("a"), UINT32_MAX);
  EXPECT_EQ(sketch.increment("b", std::int64_t{1} << 32), Count(std::unexpect, Fault::overflow));
  EXPECT_EQ(sketch.total(), (std::uint64_t{1} << 33) - 1);
  // The total counts on, modulo 2^64.
  EXPECT_FALSE(sketch.increment("c", kMost));
  EXPECT_FALSE(sketch.increment("c", kMost));
  EXPECT_EQ(sketch.total(), (std::uint64_t{1} << 33) - 3);
}

TEST(CountMin, exact_cells_refuse_to_leave_their_range) {
  for (const std::uint32_t cell_bytes : {1U, 2U, 4U, 8U}) {
    const std::int64_t most = cell_bytes == 8 ? kMost : (std::int64_t{1} << 8 * cell_bytes) - 1;
    CountMin sketch = sketch_of(cell_bytes);
    EXPECT_EQ(sketch.increment("a", 2, Rule::exact), Count(2U));
    EXPECT_EQ(sketch.increment("a", most - 1, Rule::exact), Count(std::unexpect, Fault::overflow));
    EXPECT_EQ(sketch.increment("a", -3, Rule::exact), Count(std::unexpect, Fault::underflow));
    EXPECT_EQ(sketch.increment("a", std::numeric_limits<std::int64_t>::min(), Rule::exact),
              Count(std::unexpect, Fault::underflow));
    EXPECT_EQ(sketch.estimate("a"), 2U);
    EXPECT_EQ(sketch.total(), 2U);
    EXPECT_EQ(sketch.increment("a", most - 2, Rule::exact), Count(static_cast<std::uint64_t>(most)));
    EXPECT_EQ(sketch.increment("a", 0, Rule::exact), Count(static_cast<std::uint64_t>(most)));
    EXPECT_EQ(sketch.increment("a", -most, Rule::exact), Count(0U));
    EXPECT_EQ(sketch.total(), 0U);
  }
}

TEST(CountMin, an_exact_total_stays_below_2_to_the_63) {
  CountMin sketch = sketch_of(8);
  EXPECT_TRUE(sketch.increment("a", kMost));
  EXPECT_EQ(sketch.increment("b", 1), Count(std::unexpect, Fault::overflow));
  EXPECT_EQ(sketch.estimate("b"), 0U);
}

TEST(CountMin, merges_weighted_sums) {
  CountMin first = sketch_of(4);
  CountMin second = sketch_of(4);
  CountMin sum = sketch_of(4);
  ASSERT_TRUE(first.increment("a", 10));
  ASSERT_TRUE(second.increment("a", 3));
  ASSERT_TRUE(second.increment("b", 5));
  ASSERT_TRUE(sum.increment("old", 7));
  EXPECT_TRUE(sum.merge(std::vector<const CountMin*>{&first, &second}, std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(sum.estimate("a"), 29U);
  EXPECT_EQ(sum.estimate("b"), 15U);
  EXPECT_EQ(sum.estimate("old"), 0U);
  EXPECT_EQ(sum.total(), 44U);
  // As its own source, with differences that stay above 0.
  EXPECT_TRUE(sum.merge(std::vector<const CountMin*>{&sum, &first}, std::vector<std::int64_t>{1, -2}));
  EXPECT_EQ(sum.estimate("a"), 9U);
  EXPECT_EQ(sum.total(), 24U);
  EXPECT_TRUE(sum.merge({}, {}));
  EXPECT_EQ(sum.total(), 0U);
}

TEST(CountMin, a_merge_that_overflows_changes_nothing) {
  CountMin first = sketch_of(4);
  ASSERT_TRUE(first.increment("a", 10));
  CountMin sum = sketch_of(4);
  ASSERT_TRUE(sum.increment("b", 2));
  const FieldList before = fields_of(sum);
  for (const std::int64_t weight : {std::int64_t{-1}, std::int64_t{UINT32_MAX}, kMost, -kMost}) {
    EXPECT_FALSE(sum.merge(std::vector<const CountMin*>{&first}, std::vector<std::int64_t>{weight})) << weight;
    EXPECT_FALSE(
        sum.merge(std::vector<const CountMin*>{&sum, &first, &first}, std::vector<std::int64_t>{1, weight, weight}));
    EXPECT_EQ(fields_of(sum), before);
  }
  EXPECT_TRUE(sum.merge(std::vector<const CountMin*>{&first}, std::vector<std::int64_t>{429'496'729}));
  EXPECT_EQ(sum.estimate("a"), 4'294'967'290U);
}

TEST(CountMin, a_merge_refuses_a_total_that_wrapped) {
  CountMin first = sketch_of(4);
  for (int i = 0; i < 2; ++i) {
    static_cast<void>(first.increment("a", kMost));
  }
  CountMin sum = sketch_of(4);
  EXPECT_FALSE(sum.merge(std::vector<const CountMin*>{&first}, std::vector<std::int64_t>{1}));
  EXPECT_TRUE(sum.merge(std::vector<const CountMin*>{&first}, std::vector<std::int64_t>{0}));
  // Above 2^63 - 1, where it would be a small negative number: seen in RedisBloom 2.8.20.
  CountMin second = sketch_of(4);
  ASSERT_FALSE(second.increment("a", std::int64_t{1} << 33));
  EXPECT_FALSE(sum.merge(std::vector<const CountMin*>{&first, &second}, std::vector<std::int64_t>{-1, 1}));
}

TEST(CountMin, is_the_same_after_saving_copying_and_moving) {
  for (const std::uint32_t cell_bytes : {1U, 2U, 4U, 8U}) {
    CountMin sketch = sketch_of(cell_bytes);
    ASSERT_TRUE(sketch.increment("a", 100));
    EXPECT_EQ(sketch.encver(), cell_bytes == 4 ? 0U : 1U);
    const FieldList saved = fields_of(sketch);
    const auto loaded = value_of<CountMin>(saved, sketch.encver());
    ASSERT_TRUE(loaded);
    EXPECT_EQ(fields_of(*loaded), saved);
    auto copy = sketch.clone();
    ASSERT_TRUE(copy);
    ASSERT_TRUE(sketch.increment("a", 1));
    int moves = 0;
    copy->relocate({.move = mankai::test::move_away, .context = &moves});
    EXPECT_EQ(moves, 1);
    EXPECT_EQ(fields_of(*copy), saved);
  }
  // Cells of 4 bytes in the later encoding.
  FieldList fields = fields_of(sketch_of(4));
  const FieldList earlier = fields;
  fields.insert(fields.begin() + 3, std::uint64_t{4});
  const auto loaded = value_of<CountMin>(fields, 1);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(fields_of(*loaded), earlier);
}

TEST(CountMin, refuses_values_that_do_not_fit_together) {
  const FieldList good = fields_of(sketch_of(8));
  for (std::size_t count = 0; count < good.size(); ++count) {
    EXPECT_EQ(
        value_of<CountMin>(FieldList(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(count)), 1).error().code,
        ErrorCode::corrupt);
  }
  Bytes above(std::size_t{8} * 303);
  above[8 * 302 + 7] = std::byte{0x80};
  const std::vector<std::pair<std::size_t, Field>> forgeries = {{0, std::uint64_t{0}},
                                                                {0, std::uint64_t{102}},
                                                                {0, std::uint64_t{1} << 62},
                                                                {1, std::uint64_t{1} << 63},
                                                                {3, std::uint64_t{1} << 32 | 8U},
                                                                {3, std::uint64_t{4}},
                                                                {3, std::uint64_t{0}},
                                                                {4, Bytes(std::size_t{8} * 303 - 1)},
                                                                {4, above}};
  for (const auto& [at, field] : forgeries) {
    FieldList forged = good;
    forged[at] = field;
    const auto value = value_of<CountMin>(forged, 1);
    ASSERT_FALSE(value) << at;
    EXPECT_EQ(value.error().code, ErrorCode::corrupt);
  }
  EXPECT_EQ(value_of<CountMin>(good, 2).error().code, ErrorCode::unsupported_version);
  CountingMemory none(0);
  EXPECT_EQ(value_of<CountMin>(good, 1, none.memory()).error().code, ErrorCode::out_of_space);
  EXPECT_EQ(CountMin::create({.width = 9, .depth = 9}, none.memory()).error().code, ErrorCode::out_of_space);
  EXPECT_EQ(sketch_of(1).clone(none.memory()).error().code, ErrorCode::out_of_space);
}

}  // namespace
}  // namespace mankai::takeover::test
