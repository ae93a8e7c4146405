#include "mankai/filter/fading_fingerprints/fading_size.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace mankai {
namespace {

TEST(FadingSize, survival_of_one_slot_is_the_exponential_of_the_text) {
  const FadingShape shape{.slots = 1000, .k = 1, .bits = 32};
  for (const double age : {0.0, 1.0, 100.0, 1000.0, 5000.0}) {
    EXPECT_NEAR(fading_survival(shape, age), std::pow(0.999, age), 1e-9) << age;
  }
}

// The blog's graphs: n = 1 … at s = 1000, where chance matches are negligible.
TEST(FadingSize, survival_of_more_slots_is_the_formula_of_the_text) {
  for (const std::uint32_t k : {2U, 4U, 8U}) {
    const FadingShape shape{.slots = 1'000'000, .k = k, .bits = 32};
    for (const double age : {1e3, 1e5, 3e5, 1e6}) {
      const double kept = std::exp(-static_cast<double>(k) * age / 1e6);
      EXPECT_NEAR(fading_survival(shape, age), 1 - std::pow(1 - kept, k), 1e-4) << k << " " << age;
    }
  }
}

// Half-lives as shares of s: .69 s, .614 s for two slots, .526 s for three; with s growing as log2 n the text finds
// that capacity is "about constant, still falling".
TEST(FadingSize, half_lives_as_shares_of_the_slots) {
  const auto share = [](std::uint32_t k) { return fading_half_life({.slots = 10'000'000, .k = k, .bits = 32}) / 1e7; };
  EXPECT_NEAR(share(1), std::log(2.0), 1e-4);
  EXPECT_NEAR(share(2), 0.614, 0.001);
  EXPECT_NEAR(share(4) * 2, 0.92, 0.005);
  EXPECT_NEAR(share(8) * 3, 0.93, 0.005);
  EXPECT_NEAR(share(16) * 4, 0.79, 0.005);
  EXPECT_NEAR(share(32) * 5, 0.60, 0.005);
}

TEST(FadingSize, plateaus_of_the_advised_shapes) {
  const auto plateau = [](std::uint32_t k, std::uint32_t bits, std::uint32_t matches = 1) {
    return fading_fpr({.slots = 100'000'000, .k = k, .bits = bits, .min_matches = matches});
  };
  EXPECT_NEAR(plateau(1, 8), 1.0 / 255, 1e-9);
  EXPECT_NEAR(plateau(2, 8), 0.0078, 1e-4);
  EXPECT_NEAR(plateau(3, 8), 0.0117, 1e-4);
  EXPECT_NEAR(plateau(8, 8), 0.031, 5e-4);
  EXPECT_NEAR(plateau(4, 16), 6.1e-5, 1e-6);
  EXPECT_NEAR(plateau(32, 16), 4.9e-4, 1e-5);
  EXPECT_NEAR(plateau(8, 8, 2), 4.2e-4, 2e-5);
  EXPECT_LT(plateau(8, 8, 3), 1e-5);
}

void expect_falling(const FadingShape& shape) {
  EXPECT_NEAR(fading_survival(shape, 0), 1, 1e-2);
  EXPECT_NEAR(fading_survival(shape, 1e9), fading_fpr(shape), 1e-12);
  double before = 1;
  for (double age = 0; age < 1e5; age += 997) {
    const double now = fading_survival(shape, age);
    EXPECT_LE(now, before + 1e-12);
    EXPECT_GE(now, 0);
    before = now;
  }
}

TEST(FadingSize, survival_falls_with_age_from_almost_certain_to_the_plateau) {
  for (const std::uint32_t bits : {4U, 8U, 16U, 32U}) {
    for (const std::uint32_t k : {1U, 2U, 5U, 32U}) {
      for (std::uint32_t matches = 1; matches <= std::min(k, 3U); ++matches) {
        expect_falling({.slots = 20'000, .k = k, .bits = bits, .min_matches = matches});
      }
    }
  }
}

TEST(FadingSize, absurdly_small_arrays_stay_probabilities) {
  for (const std::uint64_t slots : {1U, 2U, 3U}) {
    for (const std::uint32_t k : {1U, 2U, 64U}) {
      for (const double age : {0.0, 1.0, 1e18}) {
        const double survival = fading_survival({.slots = slots, .k = k, .bits = 4, .min_matches = k}, age);
        EXPECT_GE(survival, 0) << slots << " " << k;
        EXPECT_LE(survival, 1) << slots << " " << k;
      }
    }
  }
  EXPECT_EQ(fading_half_life({.slots = 1000, .k = 64, .bits = 4}), std::numeric_limits<double>::infinity());
}

// Nobody else does it in fewer bytes: all k and bits, at a cache line less.
void expect_none_in(std::uint64_t bytes, double survival, double fpr) {
  for (const std::uint32_t bits : {4U, 8U, 16U, 32U}) {
    for (std::uint32_t k = 1; k <= 64; ++k) {
      const FadingShape other{.slots = bytes * 8 / bits, .k = k, .bits = bits};
      EXPECT_FALSE(fading_survival(other, 10'000) >= survival && fading_fpr(other) <= fpr)
          << survival << " " << fpr << ": " << k << " of " << bits;
    }
  }
}

TEST(FadingSize, a_request_gets_the_fewest_bytes_that_keep_it) {
  for (const double survival : {0.5, 0.9, 0.99}) {
    for (const double fpr : {0.05, 0.01, 1e-4}) {
      const auto shape = fading_size({.events = 10'000, .survival = survival, .fpr = fpr});
      ASSERT_TRUE(shape.has_value()) << shape.error().detail;
      EXPECT_GE(fading_survival(*shape, 10'000), survival);
      EXPECT_LE(fading_fpr(*shape), fpr);
      FadingShape less = *shape;
      less.slots -= 1;
      EXPECT_LT(fading_survival(less, 10'000), survival);
      expect_none_in(fading_cells_bytes(*shape) - 64, survival, fpr);
    }
  }
}

TEST(FadingSize, a_part_that_is_given_is_kept) {
  const auto shape = fading_size({.events = 5000, .fpr = 1e-3, .k = 8, .bits = 8, .min_matches = 2});
  ASSERT_TRUE(shape.has_value()) << shape.error().detail;
  EXPECT_EQ(shape->k, 8U);
  EXPECT_EQ(shape->bits, 8U);
  EXPECT_EQ(shape->min_matches, 2U);
  EXPECT_LE(fading_fpr(*shape), 1e-3);
}

TEST(FadingSize, what_contradicts_itself_is_refused_with_a_way_out) {
  const auto refused = [](const FadingRequest& request) {
    const auto shape = fading_size(request);
    return !shape && shape.error().code == ErrorCode::invalid_argument && !shape.error().detail.empty();
  };
  EXPECT_TRUE(refused({.events = 0}));
  EXPECT_TRUE(refused({.events = 10, .survival = 0}));
  EXPECT_TRUE(refused({.events = 10, .survival = 1}));
  EXPECT_TRUE(refused({.events = 10, .survival = std::nan("")}));
  EXPECT_TRUE(refused({.events = 10, .fpr = 0}));
  EXPECT_TRUE(refused({.events = 10, .fpr = 0.5}));
  EXPECT_TRUE(refused({.events = 10, .fpr = std::nan("")}));
  EXPECT_TRUE(refused({.events = 10, .k = 65}));
  EXPECT_TRUE(refused({.events = 10, .bits = 12}));
  EXPECT_TRUE(refused({.events = 10, .k = 2, .min_matches = 3}));
  EXPECT_TRUE(refused({.events = 10, .min_matches = 0}));
  // Four bits cannot keep so low a rate with one match.
  EXPECT_TRUE(refused({.events = 10, .fpr = 1e-6, .bits = 4}));
  EXPECT_TRUE(refused({.events = ~std::uint64_t{0}, .fpr = 1e-6}));
}

}  // namespace
}  // namespace mankai
