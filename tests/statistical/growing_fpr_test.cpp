// Rates of the growing kinds beside their formula, and below the target that they promise.
//
// A filter's answer is a yes when one slice's is: 1 - Π(1 - q_i) with the rates q_i of slices, which answer
// independently, since they hold different keys. Its variance over filters is at most the sum of the slices', and the
// bounds of bounds.hpp apply.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "mankai/filter/scalable_bloom/scalable_bloom.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"
#include "tests/statistical/bounds.hpp"
#include "tests/support/filter_request.hpp"
#include "tests/support/outcomes.hpp"

namespace mankai::test::growing {
namespace {

constexpr std::size_t kBatch = 8192;
constexpr std::size_t kStrangers = kBatch * 24;
constexpr std::uint64_t kKeys = 2000;

// The share of so many absent keys that get a yes.
template <class F>
double measured_rate(const F& filter, Random& random) {
  std::vector<Digest> digests(kBatch);
  Outcomes outcomes(kBatch);
  std::size_t yes = 0;
  for (std::size_t asked = 0; asked < kStrangers; asked += kBatch) {
    random.fill(digests);
    filter.may_contain(std::span<const Digest>(digests), outcomes.span());
    yes += outcomes.yes();
  }
  return static_cast<double>(yes) / static_cast<double>(kStrangers);
}

// Variance over filters of the rate of a slice.
double slice_variance(const BlockedBloom& slice) {
  return blocked_variance(static_cast<double>(slice.keys_inserted()), static_cast<double>(slice.params().block_count));
}

// Partitioned: k independent occupancies s_i of one size; q is their product, whose relative variance is k times theirs
// to first order.
double slice_variance(const CountingBloom& slice) {
  const auto keys = static_cast<double>(slice.keys_inserted());
  const auto params = slice.params();
  if (slice.layout() == CountingLayout::blocked) {
    return blocked_variance(keys, static_cast<double>(params.size), probes::kLaneBits / 4.0);
  }
  const auto size = static_cast<double>(params.size);
  const Occupancy cells = occupancy(keys, size);
  const double rate = std::pow(cells.mean / size, params.k);
  return rate * rate * params.k * cells.variance / (cells.mean * cells.mean);
}

template <class F>
double filter_variance(const F& filter) {
  double sum = 0;
  for (std::size_t i = 0; i < filter.slice_count(); ++i) {
    sum += slice_variance(filter.slice(i));
  }
  return sum;
}

struct Case {
  Growth growth;
  std::size_t slices;  // until which it is filled
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& [factor, slices] : {std::pair{1U, 6U}, {2U, 5U}, {4U, 3U}}) {
    for (const double tightening : {0.5, 0.7, 0.9}) {
      for (const FprBound bound : kFprBounds) {
        all.push_back({.growth = {.factor = factor, .tightening = tightening, .bound = bound}, .slices = slices});
      }
    }
  }
  return all;
}

std::string text_of(const Growth& growth) {
  return "growth " + std::to_string(growth.factor) + ", tightening " + std::to_string(growth.tightening) + ", bound " +
         std::string(name(growth.bound));
}

// Goal: the rate is the formula's, at half and at full newest slices, and the whole stays below its bound.
// Method: scalable-bloom leaves out keys that it reports as present ones, so the formula is asked for those counted.
template <class F>
void expect_formula(F filter, const Case& each, std::uint64_t seed) {
  Random random(seed);
  const double target = filter.fpr_target();
  const double bound = each.growth.bound == FprBound::first ? target / (1 - each.growth.tightening) : target;
  while (filter.slice_count() <= each.slices) {
    const std::uint64_t room = filter.capacity_keys() - filter.keys_inserted();
    const std::uint64_t newest = filter.slice(filter.slice_count() - 1).capacity_keys();
    const auto digests = random.digests(room > newest / 2 ? newest / 2 : room + 1);
    filter.insert(std::span(digests));
    const double formula = filter.fpr_expected(filter.keys_inserted());
    EXPECT_LE(formula, bound) << text_of(each.growth);
    const double spread = allowed(formula, kStrangers, filter_variance(filter));
    EXPECT_NEAR(measured_rate(filter, random), formula, spread)
        << text_of(each.growth) << ", " << filter.slice_count() << " slices";
    EXPECT_NEAR(filter.fpr_estimate(), formula, spread) << text_of(each.growth);
  }
}

TEST(GrowingRate, of_scalable_bloom_is_the_formulas_and_below_the_target) {
  for (const Case& each : cases()) {
    expect_formula(ScalableBloom::create({.keys = kKeys, .fpr = 0.02, .growth = each.growth, .hash = kXxh3}).value(),
                   each, 1);
  }
}

TEST(GrowingRate, of_scalable_counting_bloom_is_the_formulas_and_below_the_target) {
  for (const Case& each : cases()) {
    expect_formula(
        ScalableCountingBloom::create({.keys = kKeys, .fpr = 0.02, .growth = each.growth, .hash = kXxh3}).value(), each,
        2);
  }
}

TEST(GrowingRate, of_partitioned_slices_is_the_formulas_and_below_the_target) {
  for (const Case& each : cases()) {
    expect_formula(
        ScalableCountingBloom::create(
            {.keys = kKeys, .fpr = 0.02, .growth = each.growth, .layout = CountingLayout::partitioned, .hash = kXxh3})
            .value(),
        each, 3);
  }
}

// The formula alone, far beyond what a test can fill: the total bound holds for any number of slices.
TEST(GrowingRate, total_bound_holds_for_every_growth) {
  for (const Case& each : cases()) {
    if (each.growth.bound == FprBound::first) {
      continue;
    }
    double all_no = 0;
    for (std::uint64_t generation = 0; generation < kMaxSlices; ++generation) {
      all_no += std::log1p(-slice_fpr(0.01, each.growth, generation));
    }
    // 4096 slices at the smallest rate add 4e-5.
    EXPECT_LE(-std::expm1(all_no), 0.01 + 4.2e-5) << text_of(each.growth);
    EXPECT_GE(-std::expm1(all_no), 0.0099) << text_of(each.growth);
  }
}

TEST(Growth, slices_are_what_the_formula_says) {
  const Growth growth{.factor = 4, .tightening = 0.5};
  EXPECT_EQ(slice_keys(1000, growth, 0), 1000U);
  EXPECT_EQ(slice_keys(1000, growth, 3), 64000U);
  EXPECT_EQ(slice_keys(1000, growth, 60), std::uint64_t{1} << 48);
  EXPECT_EQ(slice_keys(1000, growth, ~std::uint64_t{0}), std::uint64_t{1} << 48);
  EXPECT_EQ(slice_keys(1000, {.factor = 1}, ~std::uint64_t{0}), 1000U);
  // dablooms' code: F 0.5^(i+1); its article: F 0.9^i.
  EXPECT_DOUBLE_EQ(slice_fpr(0.05, growth, 0), 0.025);
  EXPECT_DOUBLE_EQ(slice_fpr(0.05, growth, 3), 0.003125);
  EXPECT_DOUBLE_EQ(slice_fpr(0.05, {.tightening = 0.9, .bound = FprBound::first}, 2), 0.05 * 0.81);
  // 1/2, 1/6, 1/12 …; for r = 3/4, where a = 3, 3/12, 3/20, 3/30.
  EXPECT_DOUBLE_EQ(slice_fpr(0.05, {.tightening = 0.5, .bound = FprBound::gradual}, 0), 0.025);
  EXPECT_DOUBLE_EQ(slice_fpr(0.05, {.tightening = 0.5, .bound = FprBound::gradual}, 2), 0.05 / 12);
  EXPECT_DOUBLE_EQ(slice_fpr(0.05, {.tightening = 0.75, .bound = FprBound::gradual}, 2), 0.005);
  EXPECT_EQ(slice_fpr(1e-6, {.tightening = 0.5, .bound = FprBound::gradual}, 4000), 1e-12);
  EXPECT_EQ(slice_fpr(0.05, growth, 1000), 1e-8);
  EXPECT_EQ(slice_fpr(1e-9, {.bound = FprBound::first}, 5), 1e-9);
}

TEST(Growth, a_slices_generation_is_found_from_what_it_was_made_for) {
  for (const Case& each : cases()) {
    for (std::uint64_t generation = 0; generation < 24; ++generation) {
      const std::uint64_t keys = slice_keys(1000, each.growth, generation);
      if (keys == std::uint64_t{1} << 48) {
        break;  // where slices grow no more
      }
      const double fpr = slice_fpr(0.01, each.growth, generation);
      const std::uint64_t found = generation_of(keys, fpr, 1000, 0.01, each.growth);
      EXPECT_EQ(slice_keys(1000, each.growth, found + 1), slice_keys(1000, each.growth, generation + 1));
      EXPECT_DOUBLE_EQ(slice_fpr(0.01, each.growth, found + 1), slice_fpr(0.01, each.growth, generation + 1));
    }
  }
}

}  // namespace
}  // namespace mankai::test::growing
