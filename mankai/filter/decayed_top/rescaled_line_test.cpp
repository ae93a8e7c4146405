#include "mankai/filter/decayed_top/rescaled_line.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "mankai/filter/decayed_top/rescaled_line_test_support.hpp"
#include "tests/support/random.hpp"

namespace mankai {
namespace {

using test::value_of;

TEST(RescaledLine, rounding_up_is_never_below_and_less_than_a_unit_above) {
  test::Random random(1);
  for (int i = 0; i < 10000; ++i) {
    const std::uint64_t x = random.number() >> (2 + random.below(62));
    const int shift = static_cast<int>(random.below(140)) - 80;
    const double exact = std::ldexp(static_cast<double>(x), shift);
    const auto rounded = static_cast<double>(scaled_up(x, shift));
    if (exact < 0x1p61) {
      ASSERT_GE(rounded * (1 + 0x1p-50), exact) << x << " " << shift;
      ASSERT_LE(rounded, exact * (1 + 0x1p-50) + 1) << x << " " << shift;
    } else {
      ASSERT_GE(rounded, 0x1p61);
      ASSERT_LE(rounded, 0x1p62);
    }
  }
}

TEST(RescaledLine, scaled_counts_are_compared_and_added_by_value) {
  test::Random random(2);
  const auto drawn = [&random] {
    return Scaled{random.number() >> (10 + random.below(54)), static_cast<std::int32_t>(random.below(100)) - 50};
  };
  for (int i = 0; i < 10000; ++i) {
    const Scaled left = drawn();
    const Scaled right = drawn();
    ASSERT_EQ(left < right, value_of(left) < value_of(right));
    const double sum = value_of(left) + value_of(right);
    ASSERT_GE(value_of(sum_of(left, right)) * (1 + 0x1p-50), sum);
    ASSERT_LE(value_of(sum_of(left, right)), sum * (1 + 0x1p-50));
  }
}

TEST(RescaledLine, dithered_rounding_is_right_on_the_average) {
  std::uint64_t state = 0;
  const Rounding<true> rounding(&state);
  constexpr int kDraws = 100'000;
  std::uint64_t sum = 0;
  for (int i = 0; i < kDraws; ++i) {
    sum += rounding.scaled(13, -3);
  }
  // 1.625, with six deviations of a binomial distribution.
  EXPECT_NEAR(static_cast<double>(sum) / kDraws, 1.625, 6 * std::sqrt(0.625 * 0.375 / kDraws));
}

template <unsigned kBits, int kLeastPoint, bool kDithers>
struct Mode {
  using Cells = RescaledCells<kBits, kLeastPoint, kDithers>;
  using Round = Rounding<kDithers>;
};

/// A line beside the truth of each place.
template <class Mode>
struct Checked {
  using Cells = typename Mode::Cells;
  std::uint64_t state = 0;
  Cells cells{typename Mode::Round(&state)};
  RescaledLine line{};
  std::vector<double> truth = std::vector<double>(Cells::kPlaces);

  [[nodiscard]] double count(std::uint32_t place) const { return value_of({Cells::get(line, place), line.exponent()}); }
  void add(std::uint32_t place, int octave) {
    cells.fit(line, octave);
    const double sum = count(place) + std::ldexp(1, octave);
    cells.raise(line, place, {static_cast<std::uint64_t>(std::ldexp(sum, 20 - octave)), octave - 20}, octave, 0);
    truth[place] += std::ldexp(1, octave);
  }
  void expect_upper_bounds() const {
    for (std::uint32_t place = 0; place < Cells::kPlaces; ++place) {
      ASSERT_GE(count(place), truth[place] * (1 - 1e-12)) << place;
    }
  }
};

using StrictCells = Mode<8, 0, false>;
using Narrow = Mode<4, -2, false>;

// Goal: no count is too low, whatever is halved, widened and narrowed. Method: phases in which all cells are busy, so
// that lines widen, and in which time passes, so that they narrow again.
template <class Mode>
void expect_upper_bounds_always() {
  Checked<Mode> checked;
  test::Random random(3);
  std::uint32_t widest = 0;
  std::uint32_t narrowed = 0;
  int octave = 64;
  for (int i = 0; i < 240'000; ++i) {
    const bool is_busy = i / 40'000 % 2 == 0;
    octave += static_cast<int>(random.below(is_busy ? 20000 : 200) == 0);
    checked.add(static_cast<std::uint32_t>(random.below(Checked<Mode>::Cells::kPlaces)), octave);
    widest = std::max(widest, checked.line.doublings());
    narrowed += static_cast<std::uint32_t>(!is_busy && checked.line.doublings() == 0);
    if (i % 500 == 0) {
      checked.expect_upper_bounds();
      ASSERT_FALSE(testing::Test::HasFatalFailure()) << i;
    }
  }
  EXPECT_GT(widest, 0U);
  EXPECT_GT(narrowed, 0U);
}

TEST(RescaledLine, counts_rounded_up_are_upper_bounds) {
  expect_upper_bounds_always<StrictCells>();
  expect_upper_bounds_always<Narrow>();
}

// Halving it step by step took thousands of passes.
TEST(RescaledLine, a_line_that_was_last_used_long_ago_is_as_fine_as_a_new_one) {
  constexpr int kOctave = 1 << 20;
  StrictCells::Cells cells{StrictCells::Round(nullptr)};
  RescaledLine unused{};
  cells.raise(unused, 3, {1, kOctave}, kOctave, 0);
  EXPECT_EQ(unused.exponent(), kOctave - 6);
  EXPECT_EQ(value_of({StrictCells::Cells::get(unused, 3), unused.exponent() - kOctave}), 1);
  Checked<StrictCells> old;
  old.add(7, 64);
  old.cells.raise(old.line, 3, {1, kOctave}, kOctave, 0);
  EXPECT_EQ(old.line.exponent(), kOctave - 7);
  EXPECT_EQ(value_of({StrictCells::Cells::get(old.line, 3), old.line.exponent() - kOctave}), 1);
}

TEST(RescaledLine, a_count_is_never_too_high_by_more_than_a_unit_per_event) {
  Checked<StrictCells> checked;
  for (int i = 0; i < 1000; ++i) {
    checked.add(7, 64 + i / 100);
    const double unit = std::ldexp(1, checked.line.exponent());
    ASSERT_LE(checked.count(7), checked.truth[7] + 20 * unit) << i;
  }
  EXPECT_EQ(checked.count(8), 0);
  EXPECT_EQ(checked.line.doublings(), 0U);
}

// Without widening, rounding up adds more than what is counted, and counts run away.
TEST(RescaledLine, coarse_cells_do_not_run_away) {
  Checked<StrictCells> checked;
  test::Random random(5);
  for (int i = 0; i < 100'000; ++i) {
    checked.add(static_cast<std::uint32_t>(random.below(Checked<StrictCells>::Cells::kPlaces)), 64);
  }
  double sum = 0;
  for (std::uint32_t place = 0; place < checked.truth.size(); ++place) {
    sum += checked.count(place);
  }
  EXPECT_LT(sum, std::ldexp(8 * 100'000.0, 64));
}

template <class Mode>
void expect_sums() {
  test::Random random(4);
  for (int round = 0; round < 200; ++round) {
    Checked<Mode> left;
    Checked<Mode> right;
    const auto fill = [&random](Checked<Mode>& checked, int octave) {
      for (std::uint64_t i = random.below(2000); i > 0; --i) {
        checked.add(static_cast<std::uint32_t>(random.below(checked.truth.size())), octave);
      }
    };
    const int octave = 64 + static_cast<int>(random.below(20));
    fill(left, 64);
    fill(right, octave);
    left.cells.add(left.line, right.line, octave);
    for (std::size_t place = 0; place < left.truth.size(); ++place) {
      left.truth[place] += right.truth[place];
    }
    left.expect_upper_bounds();
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << round;
  }
}

TEST(RescaledLine, sums_of_lines_are_upper_bounds) {
  expect_sums<StrictCells>();
  expect_sums<Narrow>();
}

TEST(RescaledLine, places_above_a_count_are_found_at_every_width) {
  Checked<StrictCells> checked;
  checked.add(3, 64);
  checked.add(5, 64);
  checked.add(5, 64);
  using Cells = Checked<StrictCells>::Cells;
  EXPECT_EQ(Cells::places_above(checked.line, {1, 63}), 2U);
  EXPECT_EQ(Cells::places_above(checked.line, {1, 64}), 1U);
  EXPECT_EQ(Cells::places_above(checked.line, {2, 64}), 0U);
  EXPECT_EQ(Cells::places_above({}, {1, -100}), 0U);
}

// Every place of a line can be set without a change to others, and to its scale.
template <class Mode>
void expect_that_places_are_distinct() {
  using Cells = typename Mode::Cells;
  for (std::uint32_t place = 0; place < Cells::kPlaces; ++place) {
    Checked<Mode> checked;
    checked.add(place, 64);
    const auto scale = checked.line.scale;
    for (std::uint32_t other = 0; other < Cells::kPlaces; ++other) {
      ASSERT_EQ(Cells::get(checked.line, other) != 0, other == place);
    }
    checked.add(place, 64);
    ASSERT_EQ(checked.line.scale, scale);
  }
}

TEST(RescaledLine, places_are_distinct) {
  expect_that_places_are_distinct<StrictCells>();
  expect_that_places_are_distinct<Narrow>();
}

}  // namespace
}  // namespace mankai
