/// What a restored image claims must not talk the module out of its limit of work.

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "modules/redis/image/work.hpp"

namespace mankai::redis {
namespace {

constexpr std::uint64_t kItems = std::uint64_t{1} << 20;

TEST(WorkOfAdding, a_capacity_of_which_the_product_wraps_counts_as_plenty) {
  // 2^63 times 2 is 0: no slice would ever have room, and each item would be counted 4096 times.
  for (const std::uint64_t newest : {std::uint64_t{1} << 63U, std::numeric_limits<std::uint64_t>::max()}) {
    for (const std::uint64_t expansion : {std::uint64_t{2}, std::uint64_t{std::numeric_limits<std::uint32_t>::max()}}) {
      EXPECT_EQ(work_of_adding({.slices = 1, .room = 0, .newest = newest, .expansion = expansion}, kItems), 2 * kItems);
    }
  }
}

TEST(WorkOfAdding, counts_the_slices_that_open) {
  // 10 items in one slice, 20 in two, 40 in three, and the last 30 in four.
  EXPECT_EQ(work_of_adding({.slices = 1, .room = 10, .newest = 10, .expansion = 2}, 100), 10U + 40 + 120 + 120);
  EXPECT_EQ(work_of_adding({.slices = 3, .room = 5, .newest = 10, .expansion = 0}, 100), 300U);
}

}  // namespace
}  // namespace mankai::redis
