// Bytes of time-decaying-counts pinned forever, draws of stochastic rounding included: see golden_test.cpp for when
// they may change.
//
// To write the files: golden_test --gtest_also_run_disabled_tests --gtest_filter='TimeDecayingGolden.*write*'

#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <string>

#include "mankai/filter/time_decaying_counts/time_decaying_counts.hpp"
#include "tests/golden/golden_test_support.hpp"
#include "tests/support/filter_request.hpp"

namespace mankai::test::golden::time_decaying {
namespace {

struct Golden {
  const char* name;  // of the file, without .mk
  TimeDecayingCounts::Options options;
  double hot;  // what the hottest key's estimate is
};

const Decay kDecay{.lambda_q32 = 3865470567, .epoch = Duration(1'000'000)};  // 0.9

const std::array<Golden, 3> kGolden = {{
    {"time_decaying_fixed_point_xxh3", {.keys = 100, .decay = kDecay, .hash = kXxh3}, 264.529296875},
    {"time_decaying_stochastic_siphash",
     {.keys = 100, .decay = kDecay, .policy = DecayPolicy::stochastic, .hash = kSiphash},
     264},
    {"time_decaying_floor8_minimum_xxh3",
     {.keys = 100,
      .decay = kDecay,
      .width_bits = 8,
      .policy = DecayPolicy::floor,
      .rule = IncrementRule::minimum,
      .hash = kXxh3},
     185},
}};

std::string key(int number) { return "https://example.org/golden/" + std::to_string(number); }

// Keys over some epochs, one so often that narrow cells saturate, and one late.
TimeDecayingCounts filled(const Golden& golden) {
  auto filter = TimeDecayingCounts::create(golden.options).value();
  const Hasher hash = filter.hasher();
  for (int i = 0; i < 400; ++i) {
    filter.advance(Tick{1'000'000 + static_cast<std::uint64_t>(i) / 40});
    filter.insert(hash(key(i % 100)));
    filter.insert(hash(key(0)));
  }
  filter.insert(hash(key(0)), 100);
  filter.insert_late(hash(key(5)), Tick{1'000'003});
  filter.advance(Tick{1'000'012});
  return filter;
}

TEST(TimeDecayingGolden, todays_code_makes_the_files) {
  for (const Golden& golden : kGolden) {
    EXPECT_EQ(filled(golden).to_bytes(), read(path_of(golden.name))) << golden.name;
  }
}

TEST(TimeDecayingGolden, todays_code_reads_the_files) {
  for (const Golden& golden : kGolden) {
    const auto filter = TimeDecayingCounts::from_bytes(read(path_of(golden.name)));
    ASSERT_TRUE(filter.has_value()) << golden.name << ": " << filter.error().detail;
    EXPECT_EQ(filter->tick(), Tick{1'000'012});
    EXPECT_EQ(filter->estimate(filter->hasher()(key(0))).raw, golden.hot) << golden.name;
    EXPECT_EQ(filter->policy(), golden.options.policy);
    EXPECT_EQ(filter->rule(), golden.options.rule);
  }
}

TEST(TimeDecayingGolden, DISABLED_write) {
  for (const Golden& golden : kGolden) {
    const TimeDecayingCounts filter = filled(golden);
    write(path_of(golden.name), filter.to_bytes());
    std::cout.precision(17);
    std::cout << golden.name << ' ' << filter.estimate(filter.hasher()(key(0))).raw << '\n';
  }
}

}  // namespace
}  // namespace mankai::test::golden::time_decaying
