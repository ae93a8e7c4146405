#include "mankai/hot/exact_decayed_counts.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace mankai {
namespace {

TEST(ExactDecayedCounts, an_event_counts_lambda_to_the_power_of_its_age) {
  ExactDecayedCounts counts(0.5);
  counts.insert("a", Tick{10});
  counts.insert("a", Tick{12});
  counts.insert("b", Tick{12});
  EXPECT_DOUBLE_EQ(counts.estimate("a", Tick{12}), 1.25);
  EXPECT_DOUBLE_EQ(counts.estimate("a", Tick{14}), 0.3125);
  EXPECT_DOUBLE_EQ(counts.estimate("b", Tick{12}), 1);
  EXPECT_DOUBLE_EQ(counts.estimate("c", Tick{12}), 0);
  EXPECT_EQ(counts.size(), 2U);
}

TEST(ExactDecayedCounts, an_event_that_comes_late_counts_what_it_would_have_counted) {
  ExactDecayedCounts counts(0.5);
  counts.insert("a", Tick{12});
  counts.insert("a", Tick{10});
  EXPECT_DOUBLE_EQ(counts.estimate("a", Tick{12}), 1.25);
}

TEST(ExactDecayedCounts, a_lambda_of_one_only_counts_and_one_of_zero_forgets_at_once) {
  ExactDecayedCounts forever(1);
  ExactDecayedCounts never(0);
  for (const std::uint64_t tick : {1U, 1U, 900U}) {
    forever.insert("a", Tick{tick});
    never.insert("a", Tick{tick});
  }
  EXPECT_EQ(forever.estimate("a", Tick{1000}), 3);
  EXPECT_EQ(never.estimate("a", Tick{900}), 1);
  EXPECT_EQ(never.estimate("a", Tick{901}), 0);
}

TEST(ExactDecayedCounts, the_highest_come_first_and_equal_ones_by_their_bytes) {
  ExactDecayedCounts counts(0.9);
  counts.insert("z", Tick{5});
  counts.insert("y", Tick{5});
  counts.insert("x", Tick{4});
  const auto top = counts.top(2, Tick{5});
  ASSERT_EQ(top.size(), 2U);
  EXPECT_EQ(top[0].key, "y");
  EXPECT_EQ(top[1].key, "z");
  EXPECT_EQ(counts.top(9, Tick{5}).size(), 3U);
  EXPECT_TRUE(counts.top(0, Tick{5}).empty());
}

// Goal: lazy scaling loses nothing. Method: random events in random order beside the sum itself.
TEST(ExactDecayedCounts, equals_the_sum_over_all_events) {
  constexpr double kLambda = 0.97;
  std::mt19937_64 random(7);
  ExactDecayedCounts counts(kLambda);
  std::vector<std::uint64_t> ticks(500);
  for (std::uint64_t& tick : ticks) {
    tick = random() % 300;
    counts.insert("key", Tick{tick});
  }
  double sum = 0;
  for (const std::uint64_t tick : ticks) {
    sum += std::pow(kLambda, static_cast<double>(310 - tick));
  }
  EXPECT_NEAR(counts.estimate("key", Tick{310}), sum, 1e-9 * sum);
}

}  // namespace
}  // namespace mankai
