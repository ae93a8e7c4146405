#include "mankai/kernel/decay_ops.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <ranges>
#include <vector>

#include "mankai/hash/hasher.hpp"
#include "mankai/kernel/decay_ops_reference.hpp"

namespace mankai::kernel {
namespace {

constexpr std::uint64_t kOne = std::uint64_t{1} << 32;
constexpr Rounding kRoundings[] = {Rounding::floor, Rounding::ceil, Rounding::stochastic};

std::uint64_t q32(double lambda) { return static_cast<std::uint64_t>(std::ceil(lambda * static_cast<double>(kOne))); }

using Words = std::vector<std::uint64_t>;

template <class Cell>
Words words_of(const std::vector<Cell>& cells) {
  Words words(cells.size() * sizeof(Cell) / sizeof(std::uint64_t));
  std::memcpy(words.data(), cells.data(), words.size() * sizeof(std::uint64_t));
  return words;
}

// Every value of a cell of up to 16 bits; of 32 bits the smallest, the largest and many between.
template <class Cell>
Words all_values() {
  std::vector<Cell> cells(std::size_t{1} << std::min<unsigned>(16, sizeof(Cell) * 8));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto mixed = static_cast<std::uint32_t>(mix_integer(i, 7).value);
    const bool is_wide = sizeof(Cell) == 4;
    cells[i] = static_cast<Cell>(!is_wide ? i : i<256 ? i : i<512 ? 255 - i : mixed>>(i % 32));
  }
  return words_of(cells);
}

template <class Cell>
auto kernel_of(const DecayOps& ops) {
  return sizeof(Cell) == 1 ? ops.decay8 : sizeof(Cell) == 2 ? ops.decay16 : ops.decay32;
}

template <class Cell>
void expect_as_reference(const Words& words, const DecayStep& step, Epochs epochs) {
  Words expected = words;
  reference::decay<Cell>(expected.data(), expected.size(), step, epochs);
  for (const DecayOps* ops : all_decay_ops()) {
    Words actual = words;
    kernel_of<Cell> (*ops)(actual.data(), actual.size(), step, epochs);
    ASSERT_EQ(actual, expected) << ops->target << " width " << sizeof(Cell) * 8 << " lambda " << step.lambda_q32
                                << " rounding " << static_cast<int>(step.rounding) << " epochs " << epochs.count;
  }
}

template <class Cell>
class DecayOpsOf : public testing::Test {};
using CellTypes = testing::Types<Cell8, Cell16, Cell32>;
TYPED_TEST_SUITE(DecayOpsOf, CellTypes);

TYPED_TEST(DecayOpsOf, every_target_decays_every_value_as_the_reference) {
  const Words words = all_values<TypeParam>();
  const std::uint64_t lambdas[] = {0, 1, 0x10000, q32(0.25), kOne / 2, q32(0.9), q32(0.989), kOne - 1, kOne};
  for (const std::uint64_t lambda : lambdas) {
    for (const Rounding rounding : kRoundings) {
      for (const std::uint64_t epochs : {0U, 1U, 2U, 7U}) {
        expect_as_reference<TypeParam>(words, {.lambda_q32 = lambda, .rounding = rounding, .seed = 3},
                                       {.first_tick = 1000, .count = epochs});
      }
    }
  }
}

// Short arrays of all lengths, so that every remainder of a vector occurs.
TYPED_TEST(DecayOpsOf, every_target_decays_every_length_and_nothing_behind_it) {
  const Words all = all_values<TypeParam>();
  for (std::size_t count = 0; count <= 40 && count < all.size(); ++count) {
    Words words(all.end() - static_cast<std::ptrdiff_t>(count) - 1, all.end());
    for (const Rounding rounding : kRoundings) {
      const DecayStep step{.lambda_q32 = q32(0.7), .rounding = rounding, .seed = 5};
      for (const std::uint64_t epochs : {1U, 3U, 100000U}) {
        Words expected = words;
        reference::decay<TypeParam>(expected.data(), count, step, {.first_tick = 9, .count = epochs});
        for (const DecayOps* ops : all_decay_ops()) {
          Words actual = words;
          kernel_of<TypeParam> (*ops)(actual.data(), count, step, {.first_tick = 9, .count = epochs});
          ASSERT_EQ(actual, expected) << ops->target << " words " << count << " epochs " << epochs;
        }
      }
    }
  }
}

// The limits of every way to take many epochs in one step: some cells are left, none is, and long equal losses.
TYPED_TEST(DecayOpsOf, many_epochs_at_once_are_as_many_single_ones) {
  Words words = all_values<TypeParam>();
  words.resize(std::min<std::size_t>(words.size(), 600));
  words[0] = ~std::uint64_t{0};
  words.back() = ~std::uint64_t{0};
  for (const Rounding rounding : kRoundings) {
    for (const std::uint64_t lambda : {q32(0.5), q32(0.9), q32(0.98), kOne - (kOne >> 12), kOne - 1}) {
      for (const std::uint64_t epochs : {20U, 300U, 1100U}) {
        const DecayStep step{.lambda_q32 = lambda, .rounding = rounding, .seed = 11};
        Words single = words;
        for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
          kernel_of<TypeParam>(decay_ops())(single.data(), single.size(), step, {.first_tick = epoch, .count = 1});
        }
        for (const DecayOps* ops : all_decay_ops()) {
          Words at_once = words;
          kernel_of<TypeParam> (*ops)(at_once.data(), at_once.size(), step, {.first_tick = 0, .count = epochs});
          ASSERT_EQ(at_once, single) << ops->target << " lambda " << lambda << " epochs " << epochs;
        }
      }
    }
  }
}

// Decays by 24, 70 and 600 epochs at once and by single ones.
template <class Cell>
void expect_as_single_epochs(const Words& words, const DecayStep& step) {
  Words single = words;
  std::uint64_t done = 0;
  for (const std::uint64_t epochs : {24U, 70U, 600U}) {
    for (; done < epochs; ++done) {
      kernel_of<Cell>(decay_ops())(single.data(), single.size(), step, {.first_tick = done, .count = 1});
    }
    for (const DecayOps* ops : all_decay_ops()) {
      Words at_once = words;
      kernel_of<Cell> (*ops)(at_once.data(), at_once.size(), step, {.first_tick = 0, .count = epochs});
      ASSERT_EQ(at_once, single) << ops->target << " lambda " << step.lambda_q32 << " epochs " << epochs;
    }
  }
}

// Small values, and others of up to this many bits. The last words fill no vector.
template <class Cell>
Words many_cells(unsigned bits) {
  std::vector<Cell> cells((std::size_t{1} << (sizeof(Cell) == 1 ? 10 : sizeof(Cell) == 2 ? 17 : 14)) + 24);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = static_cast<Cell>(i % 4 == 0 ? i / 4 : mix_integer(i, 7).value >> (64 - bits));
  }
  cells.back() = static_cast<Cell>(~std::uint64_t{0} >> (64 - bits));
  return words_of(cells);
}

// Arrays with room for a table of all values, or of all steps; larger cells of 32 bits in some have too many steps.
TYPED_TEST(DecayOpsOf, long_arrays_take_many_epochs_at_once_as_single_ones) {
  for (const unsigned bits : {16U, 24U, 32U}) {
    const Words words = many_cells<TypeParam>(bits);
    for (const Rounding rounding : {Rounding::floor, Rounding::ceil}) {
      for (const std::uint64_t lambda : {q32(0.75), q32(0.95), q32(0.98), q32(0.989), q32(0.998), kOne - 3}) {
        expect_as_single_epochs<TypeParam>(words, {.lambda_q32 = lambda, .rounding = rounding, .seed = 11});
      }
    }
    if (bits >= 8 * sizeof(TypeParam)) {
      break;
    }
  }
}

// The largest cells that decay to less than a value, and the smallest that do not, beside the largest cell of all.
TEST(DecayOps, cells_beside_steps_take_many_epochs_at_once_as_single_ones) {
  constexpr std::uint64_t kEpochs = 600;
  for (const Rounding rounding : {Rounding::floor, Rounding::ceil}) {
    const DecayStep step{.lambda_q32 = q32(0.98), .rounding = rounding, .seed = 0};
    std::vector<Cell32> cells(std::size_t{1} << 14, ~Cell32{0});
    const std::uint32_t most = decay_value(~Cell32{0}, step, kEpochs);
    constexpr std::size_t kSteps = 256;
    for (std::size_t i = 0; i < kSteps; ++i) {
      const std::size_t value = most - most * i / kSteps;
      const auto all = std::views::iota(Cell32{1}, ~Cell32{0});
      const auto is_less = [&](Cell32 cell) { return decay_value(cell, step, kEpochs) < value; };
      cells[2 * i + 1] = *std::ranges::partition_point(all, is_less);
      cells[2 * i] = cells[2 * i + 1] - 1;
    }
    expect_as_single_epochs<Cell32>(words_of(cells), step);
  }
}

// Every λ that rounds some product of eight bits near a whole number.
TEST(DecayOps, cells_of_8_bits_are_rounded_as_by_all_bits_of_lambda) {
  const Words words = all_values<Cell8>();
  for (std::uint64_t divisor = 2; divisor <= 256; ++divisor) {
    for (std::uint64_t dividend = 1; dividend < divisor; dividend += 1 + divisor / 16) {
      const std::uint64_t lambda = dividend * kOne / divisor;
      for (const std::uint64_t near : {lambda - 1, lambda, lambda + 1}) {
        for (const Rounding rounding : {Rounding::floor, Rounding::ceil}) {
          expect_as_reference<Cell8>(words, {.lambda_q32 = near, .rounding = rounding, .seed = 0},
                                     {.first_tick = 0, .count = 1});
        }
      }
    }
  }
}

TYPED_TEST(DecayOpsOf, after_epochs_without_number_nothing_but_what_cannot_fade_is_left) {
  Words words = all_values<TypeParam>();
  words.resize(std::min<std::size_t>(words.size(), 600));
  constexpr std::uint64_t kForEver = std::uint64_t{1} << 63;
  for (const DecayOps* ops : all_decay_ops()) {
    for (const std::uint64_t lambda : {std::uint64_t{0}, q32(0.9), kOne - (kOne >> 7)}) {
      const std::uint64_t stuck = (kOne - 1) / (kOne - lambda);
      for (const Rounding rounding : kRoundings) {
        Words left = words;
        kernel_of<TypeParam> (*ops)(left.data(), left.size(), {.lambda_q32 = lambda, .rounding = rounding, .seed = 1},
                                    {.first_tick = 0, .count = kForEver});
        const auto* cells = cells_in<TypeParam>(left.data());
        const auto* before = cells_in<TypeParam>(words.data());
        for (std::size_t i = 0; i < left.size() * sizeof(std::uint64_t) / sizeof(TypeParam); ++i) {
          const std::uint64_t most = rounding == Rounding::ceil ? stuck : 0;
          ASSERT_EQ(load_cell(cells + i), std::min<std::uint64_t>(load_cell(before + i), most)) << ops->target;
        }
      }
    }
  }
}

TEST(DecayOps, the_slowest_decay_by_the_most_epochs_takes_stretches) {
  std::vector<Cell32> cells = {0, 1, 2, 1000, 1U << 31, ~Cell32{0}, 123456789, 7};
  const DecayStep step{.lambda_q32 = kOne - 1, .rounding = Rounding::floor, .seed = 0};
  constexpr std::uint32_t kEpochs = 3'000'000'000U;
  for (const DecayOps* ops : all_decay_ops()) {
    Words words = words_of(cells);
    ops->decay32(words.data(), words.size(), step, {.first_tick = 0, .count = kEpochs});
    for (std::size_t i = 0; i < cells.size(); ++i) {
      // Every epoch takes one.
      EXPECT_EQ(load_cell(cells_in<Cell32>(words.data()) + i), cells[i] - std::min(cells[i], kEpochs)) << ops->target;
    }
  }
}

TEST(DecayOps, a_value_decays_as_a_cell_does) {
  for (const Rounding rounding : {Rounding::floor, Rounding::ceil}) {
    for (const std::uint64_t lambda : {std::uint64_t{0}, std::uint64_t{1}, q32(0.3), q32(0.99), kOne - 77, kOne}) {
      const DecayStep step{.lambda_q32 = lambda, .rounding = rounding, .seed = 0};
      for (const std::uint32_t value : {0U, 1U, 2U, 63U, 64U, 65535U, 65536U, 99999999U, ~0U}) {
        for (const std::uint64_t epochs : {0U, 1U, 2U, 3U, 50U, 1000U, 20000U}) {
          ASSERT_EQ(decay_value(value, step, epochs),
                    reference::decay_cell(value, 0, step, {.first_tick = 0, .count = epochs}))
              << value << " lambda " << lambda << " epochs " << epochs;
        }
      }
    }
  }
}

// A cell of 1 is kept with probability λ: binomial, over cells of one tick and over ticks of one cell.
TEST(DecayOps, stochastic_rounding_is_right_in_the_mean_over_cells_and_over_ticks) {
  constexpr std::size_t kDraws = 1U << 20;
  const double lambda = 0.3;
  const double error = 4 * std::sqrt(kDraws * lambda * (1 - lambda));
  const DecayStep step{.lambda_q32 = q32(lambda), .rounding = Rounding::stochastic, .seed = 99};
  Words words(kDraws / 2, 0x0000000100000001U);
  decay_words(words.data(), words.size(), 32, step, {.first_tick = 5, .count = 1});
  double kept = 0;
  for (const std::uint64_t word : words) {
    kept += static_cast<double>((word & 1U) + (word >> 32U));
  }
  EXPECT_NEAR(kept, kDraws * lambda, error);
  kept = 0;
  for (std::uint64_t tick = 0; tick < kDraws; ++tick) {
    kept += reference::decay_cell(1, 17, step, {.first_tick = tick, .count = 1});
  }
  EXPECT_NEAR(kept, kDraws * lambda, error);
}

// Neighbors, in cells and in ticks, are kept together as often as independent ones.
TEST(DecayOps, stochastic_rounding_draws_for_neighbors_independently) {
  constexpr std::uint32_t kDraws = 1U << 18;
  const DecayStep step{.lambda_q32 = kOne / 2, .rounding = Rounding::stochastic, .seed = 4};
  const auto kept = [&](std::uint64_t cell, std::uint64_t tick) {
    return reference::decay_cell(1, cell, step, {.first_tick = tick, .count = 1});
  };
  double cells = 0;
  double ticks = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    cells += kept(2 * i, 1) & kept(2 * i + 1, 1);
    ticks += kept(3, 2 * i) & kept(3, 2 * i + 1);
  }
  const double error = 4 * std::sqrt(kDraws * 0.25 * 0.75);
  EXPECT_NEAR(cells, kDraws * 0.25, error);
  EXPECT_NEAR(ticks, kDraws * 0.25, error);
}

}  // namespace
}  // namespace mankai::kernel
