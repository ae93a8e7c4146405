// Count-min sketches of the Redis module without a server, so that sanitizers see them: an exact model of merges, and
// headers that somebody forged who knows the checksums. The same through a real server: tests/redis/cms_test.py.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "modules/redis/cms/value.hpp"
#include "modules/redis/image/pieces.hpp"
#include "tests/support/dump_pieces.hpp"
#include "tests/support/image_edit.hpp"

namespace mankai::test {
namespace {

using redis::Sketch;

Sketch make_sketch(std::uint64_t width, std::uint64_t depth) {
  return Sketch::create({.width = width, .depth = depth}).value();
}

void add(Sketch& sketch, std::string_view item, std::uint64_t increment) {
  std::uint32_t count = 0;
  sketch.add(std::span(&item, 1), std::span(&increment, 1), std::span(&count, 1));
}

std::vector<std::uint32_t> cells_of(const Sketch& sketch) {
  std::vector<std::uint32_t> cells(sketch.width() * sketch.depth());
  std::memcpy(cells.data(), sketch.cells().data(), cells.size() * sizeof(std::uint32_t));
  return cells;
}

TEST(Sketch, windows_of_any_size_give_the_counts_of_single_items) {
  std::mt19937_64 dice(1);
  for (const std::uint64_t width : {1U, 2U, 63U, 1000U}) {
    Sketch batch = make_sketch(width, 5);
    Sketch single = make_sketch(width, 5);
    for (std::size_t size = 1; size <= Sketch::kWindow; size += 7) {
      std::vector<std::string> names;
      std::vector<std::uint64_t> increments;
      for (std::size_t i = 0; i < size; ++i) {
        names.push_back(std::to_string(dice() % 20));
        increments.push_back(dice() >> (1 + dice() % 63));  // below 2^63; some saturate
      }
      const std::vector<std::string_view> items(names.begin(), names.end());
      std::vector<std::uint32_t> counts(size);
      batch.add(items, increments, counts);
      for (std::size_t i = 0; i < size; ++i) {
        add(single, items[i], increments[i]);
        std::uint32_t count = 0;
        single.count(std::span(&items[i], 1), std::span(&count, 1));
        EXPECT_EQ(counts[i], count);
      }
    }
    EXPECT_EQ(cells_of(batch), cells_of(single));
    EXPECT_EQ(batch.total(), single.total());
  }
}

TEST(Sketch, a_counter_ends_at_its_limit) {
  Sketch sketch = make_sketch(1, 2);
  add(sketch, "a", Sketch::kMaxCount - 1);
  EXPECT_EQ(cells_of(sketch), std::vector<std::uint32_t>(2, Sketch::kMaxCount - 1));
  for (const std::uint64_t increment : {std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{1} << 40U}) {
    add(sketch, "b", increment);
    EXPECT_EQ(cells_of(sketch), std::vector<std::uint32_t>(2, Sketch::kMaxCount));
  }
  EXPECT_EQ(sketch.total(), std::uint64_t{Sketch::kMaxCount} + 7 + (std::uint64_t{1} << 40U));
}

__extension__ using Wide = __int128;

bool fits(Wide value) {
  return value >= std::numeric_limits<std::int64_t>::min() && value <= std::numeric_limits<std::int64_t>::max();
}

/// The sum of weight times value, unless it or a part of it is too large; in 128 bits.
std::optional<Wide> exact_sum(const std::vector<std::int64_t>& weights, const std::vector<std::int64_t>& values,
                              Wide most) {
  Wide sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Wide product = static_cast<Wide>(weights[i]) * values[i];
    sum += product;
    if (!fits(product) || !fits(sum)) {
      return std::nullopt;
    }
  }
  return sum >= 0 && sum <= most ? std::optional(sum) : std::nullopt;
}

TEST(Sketch, a_sum_is_exact_or_changes_nothing) {
  constexpr std::size_t kTerms = 3;
  std::mt19937_64 dice(2);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<Sketch> sketches;
    std::vector<std::int64_t> weights;
    std::vector<Sketch::Term> terms;
    for (std::size_t i = 0; i < kTerms; ++i) {
      sketches.push_back(make_sketch(3, 2));
      for (int item = 0; item < 4; ++item) {
        add(sketches.back(), std::to_string(dice() % 8), dice() >> (34 + dice() % 30));
      }
      const auto any = static_cast<std::int64_t>(dice() >> (1 + dice() % 63));
      weights.push_back(dice() % 8 == 0 ? -any : dice() % 8 == 0 ? any : static_cast<std::int64_t>(dice() % 4));
    }
    for (std::size_t i = 0; i < kTerms; ++i) {
      terms.push_back({.sketch = &sketches[i], .weight = weights[i]});
    }
    std::vector<std::vector<std::int64_t>> values(sketches[0].width() * sketches[0].depth());
    std::vector<std::int64_t> totals;
    for (const Sketch& sketch : sketches) {
      const auto cells = cells_of(sketch);
      for (std::size_t i = 0; i < cells.size(); ++i) {
        values[i].push_back(cells[i]);
      }
      totals.push_back(static_cast<std::int64_t>(sketch.total()));
    }
    std::vector<std::uint32_t> expected;
    const auto total = exact_sum(weights, totals, std::numeric_limits<std::int64_t>::max());
    bool is_possible = total.has_value();
    for (const auto& cell : values) {
      const auto sum = exact_sum(weights, cell, Sketch::kMaxCount);
      is_possible = is_possible && sum.has_value();
      expected.push_back(static_cast<std::uint32_t>(sum.value_or(0)));
    }
    Sketch& destination = sketches[dice() % kTerms];  // is a source, too
    const auto before = cells_of(destination);
    const std::uint64_t total_before = destination.total();
    EXPECT_EQ(destination.assign_sum(terms), is_possible);
    EXPECT_EQ(cells_of(destination), is_possible ? expected : before);
    EXPECT_EQ(destination.total(), is_possible ? static_cast<std::uint64_t>(*total) : total_before);
    refused += is_possible ? 0 : 1;
  }
  EXPECT_GT(refused, 300);
  EXPECT_LT(refused, 2700);
}

TEST(Sketch, a_product_that_would_wrap_into_a_count_is_refused) {
  Sketch sketch = make_sketch(1, 1);
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 62U;
  for (int i = 0; i < 4; ++i) {
    add(sketch, "a", kHalf);
  }
  ASSERT_EQ(sketch.total(), 0U);                              // modulo 2^64, so that only the counter can refuse
  const std::int64_t weight = -(std::int64_t{1} << 32U) - 1;  // times 2^32 - 1 is 1, modulo 2^64
  EXPECT_FALSE(sketch.assign_sum(std::array{Sketch::Term{.sketch = &sketch, .weight = weight}}));
}

TEST(Sketch, a_sum_that_fails_at_its_last_counter_changes_nothing) {
  Sketch sketch = make_sketch(2000, 2);
  for (int item = 0; item < 3000; ++item) {
    add(sketch, std::to_string(item), 1);
  }
  auto header = redis::header_of(Sketch::kFamily, sketch.parts());
  auto piece = redis::piece_of(sketch.parts(), 0);
  constexpr std::uint32_t kMost = Sketch::kMaxCount;
  std::memcpy(piece.data() + (4000 - 1) * sizeof(kMost), &kMost, sizeof(kMost));
  fix_piece(piece, 0);
  auto assembly = redis::Assembly::begin(Sketch::kFamily, header).value();
  ASSERT_TRUE(assembly.add(piece.size() - redis::kPieceChecksumBytes, piece).has_value());
  Sketch full = Sketch::from_image(assembly.finish()).value();
  const auto before = cells_of(full);
  EXPECT_FALSE(full.assign_sum(std::array{Sketch::Term{.sketch = &full, .weight = 2}}));
  EXPECT_EQ(cells_of(full), before);
  EXPECT_EQ(full.total(), 3000U);
  EXPECT_TRUE(sketch.assign_sum(std::array{Sketch::Term{.sketch = &sketch, .weight = 2}}));
  EXPECT_EQ(sketch.total(), 6000U);
}

TEST(Sketch, a_loaded_sketch_is_the_one_that_was_saved) {
  for (const std::uint64_t width : {10U, 1000U, 100'000U}) {  // small ones are copied when they are loaded
    Sketch sketch = make_sketch(width, 5);
    for (int item = 0; item < 100; ++item) {
      add(sketch, std::to_string(item), static_cast<std::uint64_t>(item));
    }
    const auto header = redis::header_of(Sketch::kFamily, sketch.parts());
    const auto piece = redis::piece_of(sketch.parts(), 0);
    auto assembly = redis::Assembly::begin(Sketch::kFamily, header).value();
    ASSERT_TRUE(assembly.add(piece.size() - redis::kPieceChecksumBytes, piece).has_value());
    Sketch loaded = Sketch::from_image(assembly.finish()).value();
    EXPECT_EQ(redis::header_of(Sketch::kFamily, loaded.parts()), header);
    EXPECT_EQ(cells_of(loaded), cells_of(sketch));
    EXPECT_LE(loaded.heap_bytes(), sketch.heap_bytes() + (width > 1000 ? 1024 : 0));
    add(loaded, "a", 5);
    add(sketch, "a", 5);
    EXPECT_EQ(cells_of(loaded), cells_of(sketch));
    EXPECT_EQ(loaded.total(), sketch.total());
  }
}

TEST(Sketch, a_forged_header_is_refused_or_a_sketch) {
  constexpr std::size_t kImage = kDumpPrefixBytes;
  Sketch original = make_sketch(7, 5);  // 35 cells of 48
  add(original, "a", 3);
  const auto header = redis::header_of(Sketch::kFamily, original.parts());
  const auto piece = redis::piece_of(original.parts(), 0);
  std::array<std::uint32_t, 1> count{};
  const std::array<std::string_view, 1> item = {"a"};
  int taken = 0;
  for (std::size_t bit = kImage * 8; bit < (kImage + sizeof(ImageHeader)) * 8; ++bit) {
    auto forged = header;
    forged[bit / 8] ^= std::byte{1} << (bit % 8);
    fix_header_checksum(std::span(forged).subspan(kImage, sizeof(ImageHeader)));
    fix_piece(forged, kDumpHeaderPlace);
    auto assembly = redis::Assembly::begin(Sketch::kFamily, forged);
    if (!assembly || !assembly->add(piece.size() - redis::kPieceChecksumBytes, piece) || !assembly->is_complete()) {
      continue;
    }
    if (auto sketch = Sketch::from_image(assembly->finish()); sketch) {
      ++taken;
      sketch->add(item, std::array<std::uint64_t, 1>{1}, count);
      const std::array<Sketch::Term, 1> terms = {{{.sketch = &*sketch, .weight = 1}}};
      static_cast<void>(sketch->assign_sum(terms));
    }
  }
  EXPECT_GT(taken, 0);  // another seed, another total
  // Cells behind the last one would be in no row.
  auto tail = piece;
  tail[35 * sizeof(std::uint32_t)] = std::byte{1};
  fix_piece(tail, 0);
  auto assembly = redis::Assembly::begin(Sketch::kFamily, header).value();
  ASSERT_TRUE(assembly.add(piece.size() - redis::kPieceChecksumBytes, tail).has_value());
  EXPECT_FALSE(Sketch::from_image(assembly.finish()).has_value());
}

TEST(Sketch, impossible_shapes_are_refused) {
  for (const auto& [width, depth] : {std::pair<std::uint64_t, std::uint64_t>{0, 1},
                                     {1, 0},
                                     {1, Sketch::kMaxDepth + 1},
                                     {std::uint64_t{1} << 46U, 2},
                                     {std::uint64_t{1} << 63U, 2},
                                     {~std::uint64_t{0}, 1}}) {
    EXPECT_EQ(Sketch::create({.width = width, .depth = depth}).error().code, ErrorCode::invalid_argument);
  }
}

}  // namespace
}  // namespace mankai::test
