// The parts that the source measures with: formulas against direct calculation and simulation, the LRU and the models
// of the originals against plain ones, and traces that are cut off.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <string>
#include <vector>

#include "lab/fading/arrays.hpp"
#include "lab/fading/formulas.hpp"
#include "lab/fading/lru.hpp"
#include "lab/fading/original.hpp"
#include "lab/fading/trace.hpp"
#include "lab/random.hpp"

namespace mankai::lab::forgetting {
namespace {

TEST(Formulas, half_lives_are_those_of_the_graph) {
  const std::vector<std::pair<std::uint32_t, double>> printed = {{1, 0.693}, {2, 0.614},  {4, 0.460},
                                                                 {8, 0.311}, {16, 0.198}, {32, 0.120}};
  for (const auto& [n, half_life] : printed) {
    const Shape shape{.n = n};
    EXPECT_NEAR(text_half_life(shape) / 1000, half_life, 0.0006) << n;
    EXPECT_NEAR(text_age(shape, 0.5) / text_half_life(shape), 1, 0.001) << n;
    EXPECT_NEAR(text_survival(shape, text_half_life(shape)), 0.5, 0.001) << n;
  }
}

TEST(Formulas, plateaus_are_those_of_the_advice) {
  EXPECT_NEAR(text_plateau({.n = 3, .b = 8}), 0.01167, 5e-6);
  EXPECT_NEAR(text_plateau({.n = 32, .b = 16}), 0.000488, 5e-7);
  EXPECT_NEAR(text_plateau({.n = 8, .b = 8, .r = 2}), 28.0 / 65536, 1e-5);
  EXPECT_DOUBLE_EQ(text_survival({.n = 3, .b = 8}, 0), 1);
  EXPECT_NEAR(text_survival({.n = 3, .b = 8}, 1e6), text_plateau({.n = 3, .b = 8}), 1e-12);
}

TEST(Formulas, capacity_is_the_area_below_the_curve) {
  for (const std::uint32_t n : {1U, 4U, 32U}) {
    const Shape shape{.n = n};
    double area = -0.5;
    for (double t = 0; t < 20'000; ++t) {
      area += text_survival(shape, t);
    }
    EXPECT_NEAR(area / text_capacity(shape), 1, 0.002) << n;
  }
}

// With 3 places and 2 an event every case can be counted: the second event overwrites the first's places.
TEST(Formulas, the_full_survival_counts_an_events_collisions_with_itself) {
  const Shape shape{.s = 3, .n = 2};
  int lost = 0;
  for (int draw = 0; draw < 81; ++draw) {
    const int a = draw % 3;
    const int b = draw / 3 % 3;
    const int c = draw / 9 % 3;
    const int d = draw / 27;
    lost += (a == c || a == d) && (b == c || b == d) ? 1 : 0;
  }
  EXPECT_NEAR(full_survival(shape, 1), 1 - lost / 81.0, 1e-12);
  EXPECT_GT(std::abs(text_survival(shape, 1) - full_survival(shape, 1)), 0.01);
  EXPECT_EQ(full_survival(shape, 0), 1);
  EXPECT_NEAR(full_survival({.n = 32}, 20'000), 0, 1e-5);
}

TEST(Formulas, one_event_that_overwrote_two_places_matches_once) {
  // A small array of many places an event: far from the text's formula, near a simulated one.
  const Shape shape{.s = 100, .n = 16, .b = 4};
  TextArray array(shape);
  const Events events(1);
  const Events absent_keys(2);
  constexpr std::uint64_t kRounds = 60'000;
  std::uint64_t yes = 0;
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    array.insert(events[i]);
    yes += array.may_contain(absent_keys[i]) ? 1 : 0;
  }
  // The text's array has a sixteenth by chance, full_survival a fifteenth.
  const double measured = static_cast<double>(yes) / kRounds;
  EXPECT_NEAR(measured, full_survival(shape, 1000), 0.03);
  EXPECT_GT(text_plateau(shape) - measured, 0.1);
}

TEST(Survey, counts_what_each_age_has_left) {
  Context context;
  const auto survived = survey({.s = 64, .n = 1}, 100, 500, context);
  ASSERT_TRUE(survived.has_value());
  EXPECT_EQ(survived->known.size(), 100U);
  EXPECT_EQ(survived->survival(0).value, 1) << "the newest event has just been written";
  EXPECT_LT(survived->survival(90).value, survived->survival(10).value);
  double total = 0;
  for (const std::uint64_t known : survived->known) {
    total += static_cast<double>(known);
  }
  double by_look = 0;
  for (const double known : survived->known_in_total) {
    by_look += known;
  }
  EXPECT_EQ(total, by_look);
}

TEST(WorstOf, is_found_and_its_error_widened) {
  const std::vector<Point> points = {{.age = 1, .measured = {.value = 0.5, .error = 0.1}, .formula = 0.4},
                                     {.age = 2, .measured = {.value = 0.3, .error = 0.01}, .formula = 0.4},
                                     {.age = 3, .measured = {.value = 0.4, .error = 0.1}, .formula = 0.4}};
  const Point worst = worst_of(points, 0);
  EXPECT_EQ(worst.age, 2);
  EXPECT_GT(worst.measured.error, 0.01);
  EXPECT_NEAR(errors_of_worst(1), kStandardErrors, 1e-9);
  EXPECT_NEAR(errors_of_worst(100), 4.2, 0.1);
}

TEST(Lru, knows_what_a_plain_list_knows) {
  constexpr std::size_t kCapacity = 7;
  constexpr std::size_t kNumbers = 20;
  Lru lru(kCapacity, kNumbers);
  std::list<std::uint32_t> list;
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    const auto event = static_cast<std::uint32_t>(random.below(kNumbers));
    const auto found = std::ranges::find(list, event);
    const bool is_known = found != list.end();
    if (is_known) {
      list.erase(found);
    }
    list.push_front(event);
    if (list.size() > kCapacity) {
      list.pop_back();
    }
    ASSERT_EQ(lru.observe(event), is_known) << i;
    ASSERT_EQ(lru.size(), list.size());
  }
}

TEST(Originals, remember_what_was_just_written) {
  const Shape shape{.s = 307, .n = 2, .b = 8, .r = 1};
  TextArray text(shape);
  CodeArray code(shape);
  for (std::uint64_t key = 1; key < 2000; ++key) {
    text.insert({key});
    code.insert({key});
    EXPECT_TRUE(text.may_contain({key}));
    EXPECT_TRUE(code.may_contain({key}));
    EXPECT_TRUE(code.may_contain({key | std::uint64_t{1} << 63U})) << "the sign is dropped";
  }
}

// By hand: the first v of key 0 is the increment, 4886718345; over 307 it is 15917649 and 102 remain.
TEST(Originals, the_codes_places_follow_its_generator) {
  const Shape one{.s = 307, .n = 1, .b = 8};
  CodeArray code(one);
  code.insert({0});
  // Key 307 steps k times the multiplier further: another place, unless the multiplier were a multiple of s.
  EXPECT_TRUE(code.may_contain({0}));
  constexpr std::uint64_t kMultiplier = 0x5deece66d;
  constexpr std::uint64_t kIncrement = 0x123456789;
  int same = 0;
  for (std::uint64_t key = 0; key < 100'000; ++key) {
    const std::uint64_t v = key * kMultiplier + kIncrement;
    const bool is_there = v % one.s == kIncrement % one.s;
    const bool is_equal = (is_there ? kIncrement / one.s % 256 : 0) == v / one.s % 256;
    ASSERT_EQ(code.may_contain({key}), is_equal) << key;
    same += is_equal ? 1 : 0;
  }
  EXPECT_GT(same, 0);
}

TEST(Trace, numbers_come_in_the_order_of_their_first_event) {
  const std::string bytes("\0\0\1\0\xff\xff\xff\xff\0\0\1\0\0\0\0\7", 16);
  const auto trace = parse_trace(bytes, 100);
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(trace->events, (std::vector<std::uint32_t>{0, 1, 0, 2}));
  EXPECT_EQ(trace->keys, (std::vector<std::uint64_t>{256, 0xffffffff, 7}));
  const auto cut = parse_trace(bytes, 2);
  ASSERT_TRUE(cut.has_value());
  EXPECT_EQ(cut->events.size(), 2U);
}

TEST(Trace, a_number_that_is_cut_off_is_corrupt) {
  const auto trace = parse_trace("\1\2\3\4\5", 100);
  ASSERT_FALSE(trace.has_value());
  EXPECT_EQ(trace.error().code, ErrorCode::corrupt);
  EXPECT_EQ(read_trace("/nonexistent/trace", 1).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace mankai::lab::forgetting
