#include "mankai/filter/parts/forward_decay.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/random.hpp"

namespace mankai {
namespace {

/// long double has 64 bits; log2 and exp2 of it are right to a few units.
constexpr long double kUnsure = 0x1p-58L;

long double octaves_of(std::uint64_t lambda_q32) { return 32 - std::log2(static_cast<long double>(lambda_q32)); }

long double log2_of(std::int64_t octave, std::uint64_t factor) {
  return static_cast<long double>(octave) + std::log2(static_cast<long double>(factor)) - 32;
}

std::vector<std::uint64_t> lambdas() {
  std::vector<std::uint64_t> lambdas;
  for (std::uint64_t i = 0; i < 300; ++i) {
    lambdas.push_back(1 + i);
    lambdas.push_back(kLambdaOne - i);
  }
  test::Random random(1);
  for (int i = 0; i < 300; ++i) {
    lambdas.push_back(1 + random.below(kLambdaOne));
  }
  return lambdas;
}

TEST(ForwardDecay, weights_lie_on_both_sides_of_the_power_of_lambda) {
  for (const std::uint64_t lambda : lambdas()) {
    const ForwardDecay decay(lambda);
    for (const std::uint64_t tick : {0U, 1U, 2U, 3U, 63U, 64U, 1000U, 4321U}) {
      const ForwardWeight weight = decay.weight({tick});
      ASSERT_GE(weight.down, kLambdaOne);
      ASSERT_LE(weight.down, weight.up);
      ASSERT_LE(weight.up, 2 * kLambdaOne + 1);
      const auto epochs = static_cast<long double>(tick);
      const long double exact = epochs * octaves_of(lambda);
      ASSERT_LE(log2_of(weight.octave, weight.down), exact + epochs * kUnsure + kUnsure) << lambda << " " << tick;
      ASSERT_GE(log2_of(weight.octave, weight.up), exact - epochs * 0x1p-60L - kUnsure * (1 + exact)) << lambda;
    }
  }
}

// What never undercounts rests on: an event's weight, rounded up, over a query's, rounded down, is at least λ^age.
TEST(ForwardDecay, no_count_decays_faster_than_lambda) {
  test::Random random(2);
  for (const std::uint64_t lambda : lambdas()) {
    const ForwardDecay decay(lambda);
    const std::uint64_t first = random.below(1U << 30);
    for (const std::uint64_t age : {0U, 1U, 2U, 100U}) {
      const ForwardWeight event = decay.weight({first});
      const ForwardWeight query = decay.weight({first + age});
      const long double left =
          static_cast<long double>(event.octave - query.octave) + log2_of(0, event.up) - log2_of(0, query.down);
      ASSERT_GE(left, -static_cast<long double>(age) * octaves_of(lambda) - kUnsure) << lambda << " " << age;
      ASSERT_LE(left, -static_cast<long double>(age) * (octaves_of(lambda) - 0x1p-60L) + 0x1p-29L + kUnsure);
    }
  }
}

TEST(ForwardDecay, powers_of_two_are_exact) {
  const ForwardWeight never = ForwardDecay(kLambdaOne).weight({~std::uint64_t{0}});
  EXPECT_EQ(never.octave, 0);
  EXPECT_EQ(never.down, kLambdaOne);
  EXPECT_EQ(never.up, kLambdaOne);
  const ForwardWeight half = ForwardDecay(kLambdaOne / 2).weight({1234567});
  EXPECT_EQ(half.octave, 1234567);
  EXPECT_EQ(half.up, kLambdaOne);
  EXPECT_EQ(ForwardDecay(1).weight({3}).octave, 96);
  EXPECT_EQ(ForwardDecay(0).weight({3}).octave, 192);
}

TEST(ForwardDecay, octaves_end_where_time_does) {
  for (const std::uint64_t lambda : {std::uint64_t{0}, std::uint64_t{1}, kLambdaOne / 2, kLambdaOne - 1}) {
    const ForwardWeight last = ForwardDecay(lambda).weight({kMaxTick});
    EXPECT_LE(last.octave, ForwardDecay::kMostOctave);
    EXPECT_GE(last.octave, ForwardDecay(lambda).weight({kMaxTick - 1}).octave);
  }
}

}  // namespace
}  // namespace mankai
