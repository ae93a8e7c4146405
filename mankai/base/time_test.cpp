#include "mankai/base/time.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace mankai {
namespace {

using namespace std::chrono_literals;

TEST(Time, a_tick_is_the_epoch_that_a_moment_lies_in) {
  EXPECT_EQ(tick_of(Time(0us), 1s), Tick{0});
  EXPECT_EQ(tick_of(Time(999999us), 1s), Tick{0});
  EXPECT_EQ(tick_of(Time(1s), 1s), Tick{1});
  EXPECT_EQ(tick_of(Time(7201s), 1h), Tick{2});
  EXPECT_EQ(tick_of(Time(-1s), 1s), Tick{0});
  EXPECT_EQ(tick_of(Time(Duration::max()), 1us).value, static_cast<std::uint64_t>(Duration::max().count()));
  EXPECT_LT(tick_of(Time(Duration::max()), 1us).value, kMaxTick);
}

TEST(Time, an_epoch_starts_at_its_first_moment) {
  for (const Duration epoch : {Duration(1us), Duration(7us), Duration(1s), Duration(10min)}) {
    for (const std::uint64_t tick : {0U, 1U, 12345U}) {
      EXPECT_EQ(tick_of(start_of(Tick{tick}, epoch), epoch), Tick{tick});
      EXPECT_EQ(tick_of(start_of(Tick{tick + 1}, epoch) - 1us, epoch), Tick{tick});
    }
  }
  EXPECT_EQ(start_of(Tick{kMaxTick}, 1s), Time(Duration::max()));
}

TEST(Decay, keeps_a_lambda_or_the_next_one_up) {
  for (const double lambda : {0.0, 1e-9, 0.01, 0.5, 0.9, 0.99, 0.999999, 1.0}) {
    const auto decay = Decay::of(lambda, 1s);
    ASSERT_TRUE(decay);
    EXPECT_GE(decay->lambda() * (1 + 1e-15), lambda);
    EXPECT_LE(decay->lambda() - lambda, std::exp2(-32));
  }
  EXPECT_EQ(Decay::of(0.5, 1s)->lambda_q32, kLambdaOne / 2);
  EXPECT_EQ(Decay::of(1, 1s)->lambda_q32, kLambdaOne);
  EXPECT_EQ(Decay::of(0, 1s)->lambda_q32, 0U);
}

TEST(Decay, refuses_what_is_no_decay) {
  EXPECT_FALSE(Decay::of(-0.1, 1s));
  EXPECT_FALSE(Decay::of(1.1, 1s));
  EXPECT_FALSE(Decay::of(std::nan(""), 1s));
  EXPECT_FALSE(Decay::of(0.9, 0s));
  EXPECT_FALSE(Decay::of(1 - 1e-12, 1s)) << "it would be 1, and never fade";
  EXPECT_FALSE(Decay::of_half_life(24h * 365, 1ms));
  EXPECT_FALSE(Decay::of_half_life(10us));
  EXPECT_FALSE(Decay::of_half_life(1h, 2h));
  EXPECT_FALSE(Decay::of_half_life(1h, -1s));
  EXPECT_FALSE(Decay::of_half_life(std::chrono::hours(24 * 366 * 1000)));
}

TEST(Decay, a_half_life_becomes_lambda_and_back) {
  for (const Duration half_life : {Duration(64us), Duration(1s), Duration(1h), Duration(7 * 24h)}) {
    const auto decay = Decay::of_half_life(half_life);
    ASSERT_TRUE(decay);
    EXPECT_EQ(decay->epoch, half_life / 64);
    EXPECT_NEAR(decay->half_life_seconds(), static_cast<double>(half_life.count()) / 1e6,
                static_cast<double>(half_life.count()) / 1e6 * 1e-6);
    EXPECT_NEAR(std::pow(decay->lambda(), 64), 0.5, 1e-6);
  }
  for (const std::int64_t epochs : {1'000'000, 10'000'000, 28'999'999}) {
    const auto decay = Decay::of_half_life(epochs * 1ms, 1ms);
    ASSERT_TRUE(decay);
    EXPECT_NEAR(decay->half_life_seconds() * 1e3 / static_cast<double>(epochs), 1, 0.01);
  }
  EXPECT_EQ(Decay::of_half_life(1h, 1h)->lambda(), 0.5);
  EXPECT_EQ(Decay::of(0, 1s)->half_life_seconds(), 0);
  EXPECT_TRUE(std::isinf(Decay::of(1, 1s)->half_life_seconds()));
}

}  // namespace
}  // namespace mankai
