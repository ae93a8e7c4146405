// A filter in the memory of its key against the same filter with memory of its own: the same answers, counts, facts and
// saved bytes after any operations, until it has grown and beyond.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "modules/redis/bloom/value.hpp"
#include "tests/support/dump_pieces.hpp"
#include "tests/support/engine_memory.hpp"
#include "tests/support/outcomes.hpp"
#include "tests/support/random.hpp"

namespace mankai::redis {
namespace {

using test::Outcomes;
using test::Random;

/// The memory of a key: the value, and its cells if they fit.
class Settled {
 public:
  explicit Settled(BloomValue&& value)
      : block_(std::make_unique<Block>()), value_(new(block_->object.data()) BloomValue(std::move(value))) {
    if (const std::size_t bytes = value_->bytes_beside(); bytes != 0) {
      value_->settle(std::span(block_->cells).first(bytes));
    }
  }
  explicit Settled(const BloomValue::Small& small)
      : block_(std::make_unique<Block>()),
        value_(new(block_->object.data()) BloomValue(small, std::span(block_->cells).first(small.bytes_beside()))) {}
  Settled(const Settled&) = delete;
  Settled& operator=(const Settled&) = delete;
  ~Settled() { value_->~BloomValue(); }

  BloomValue& operator*() noexcept { return *value_; }
  BloomValue* operator->() noexcept { return value_; }

  /// As the engine does when it defragments.
  void move() {
    auto moved = std::make_unique<Block>();
    std::memcpy(static_cast<void*>(moved.get()), block_.get(), sizeof(Block));
    block_ = std::move(moved);
    value_ = std::launder(reinterpret_cast<BloomValue*>(block_->object.data()));
  }

 private:
  struct alignas(kCacheLineBytes) Block {
    std::array<std::byte, kCacheLineBytes> object;
    std::array<std::byte, TinyBloom::kMostCells> cells;
  };
  static_assert(sizeof(BloomValue) <= kCacheLineBytes);

  std::unique_ptr<Block> block_;
  BloomValue* value_;
};

BloomSettings settings_of(std::uint64_t keys, double fpr, std::uint32_t expansion) {
  return {.capacity_keys = keys,
          .fpr = fpr,
          .expansion = expansion,
          .is_nonscaling = expansion == 0,
          .hash = {.kind = kDefaultHash, .seed = {keys, expansion}}};
}

BloomValue make(const BloomSettings& settings) { return BloomValue::create(settings).value(); }

using Words = std::vector<std::string>;

std::vector<std::string_view> views(const Words& words) { return {words.begin(), words.end()}; }

Words draw(Random& random, std::size_t count, std::size_t range) {
  Words words;
  for (std::size_t i = 0; i < count; ++i) {
    words.push_back("item" + std::to_string(random.below(range)));
  }
  return words;
}

auto facts_of(const BloomValue& value) {
  std::vector<std::tuple<std::uint64_t, std::uint64_t, double, std::size_t>> slices;
  value.for_each_slice([&](const auto& slice) {
    slices.emplace_back(slice.capacity_keys(), slice.keys_inserted(), slice.fpr_target(), slice.cells_bytes());
  });
  const BloomSettings settings = value.settings();
  const WorkShape work = value.work_shape();
  return std::tuple(slices, settings.capacity_keys, settings.fpr, settings.expansion, settings.hash.seed,
                    value.capacity_keys(), value.keys_inserted(), value.slice_count(), value.fpr_estimate(),
                    value.is_empty(), value.is_nonscaling(), value.is_deletable(), value.counts_repeats(), work.room,
                    work.newest, work.expansion, work.per_item, work.per_opened, work.slices);
}

std::vector<std::vector<std::byte>> saved(const BloomValue& value) {
  constexpr std::size_t kMostCells = 128;
  test::Dump dump = test::dump_of(value, kMostCells);
  std::vector<std::vector<std::byte>> pieces = {std::move(dump.header)};
  for (test::Dump::Piece& piece : dump.pieces) {
    pieces.push_back(std::move(piece.bytes));
  }
  return pieces;
}

std::vector<bool> answers(const BloomValue& value, const Words& words) {
  Outcomes outcomes(words.size());
  value.ask(views(words), outcomes.span());
  return outcomes.vector();
}

auto added(BloomValue& value, const Words& words) {
  Outcomes fresh(words.size());
  const AddReport report = value.add(views(words), fresh.span());
  return std::tuple(report.done, report.stop, fresh.vector());
}

void expect_equal(const BloomValue& value, const BloomValue& like) {
  EXPECT_EQ(facts_of(value), facts_of(like));
  EXPECT_EQ(saved(value), saved(like));
}

const std::array kSettings = {settings_of(100, 0.01, 2),  settings_of(100, 0.01, 0),  settings_of(1, 0.5, 1),
                              settings_of(7, 0.1, 1),     settings_of(600, 0.01, 4),  settings_of(30, 1e-6, 100),
                              settings_of(40, 0.25, 0),   settings_of(300, 0.001, 2), settings_of(64, 0.03, 3),
                              settings_of(5000, 0.01, 2), settings_of(900, 1e-6, 2),  settings_of(900, 1e-6, 0),
                              settings_of(500, 1e-4, 0)};

TEST(TinyBloom, answers_and_is_saved_as_the_filter_that_it_stands_for) {
  constexpr int kSteps = 40;
  constexpr std::size_t kMostWords = 60;
  Random random(21);
  for (const BloomSettings& settings : kSettings) {
    SCOPED_TRACE(settings.capacity_keys);
    BloomValue like = make(settings);
    Settled value(make(settings));
    EXPECT_FALSE(value->wants_new_key());
    expect_equal(*value, like);
    const std::size_t range = 3 * static_cast<std::size_t>(settings.capacity_keys);
    for (int step = 0; step < kSteps; ++step) {
      const Words words = draw(random, 1 + random.below(step % 2 == 0 ? 1 : kMostWords), range);
      ASSERT_EQ(added(*value, words), added(like, words));
      const Words asked = draw(random, 1 + random.below(kMostWords), 2 * range);
      ASSERT_EQ(answers(*value, asked), answers(like, asked));
      ASSERT_EQ(answers(*value, {asked[0]}), answers(like, {asked[0]}));
      value.move();
      expect_equal(*value, like);
    }
    expect_equal(value->create_like().value(), like.create_like().value());
  }
}

TEST(TinyBloom, is_made_at_once_as_it_settles) {
  Random random(7);
  for (const BloomSettings& settings : kSettings) {
    BloomValue like = make(settings);
    const auto small = BloomValue::small(settings);
    ASSERT_TRUE(small.has_value());
    EXPECT_EQ(small->bytes_beside(), like.bytes_beside());
    Settled value(*small);
    EXPECT_FALSE(value->wants_new_key());
    expect_equal(*value, like);
    const Words words = draw(random, settings.capacity_keys / 2, 1000);
    ASSERT_EQ(added(*value, words), added(like, words));
    expect_equal(*value, like);
  }
}

TEST(TinyBloom, is_not_made_at_once_for_other_settings) {
  std::array<BloomSettings, 7> others;
  others.fill(settings_of(100, 0.01, 2));
  others[0].is_deletable = true;
  others[1].max_ttl = std::chrono::hours(1);
  others[2].layout = Layout::redisbloom;
  others[3].capacity_keys = 10'000;
  others[4].capacity_keys = 0;
  others[5].fpr = 1;
  others[6].expansion = 1U << 16U;
  for (const BloomSettings& settings : others) {
    EXPECT_FALSE(BloomValue::small(settings).has_value());
  }
}

TEST(TinyBloom, leaves_its_key_when_it_grows) {
  const BloomSettings settings = settings_of(20, 0.01, 2);
  Random random(3);
  Settled value(make(settings));
  BloomValue like = make(settings);
  const Words words = draw(random, 200, 1000);
  const std::size_t before = value->heap_bytes();
  ASSERT_EQ(added(*value, words), added(like, words));
  EXPECT_EQ(value->heap_bytes(), like.heap_bytes() + before);  // what it has left behind is counted
  ASSERT_TRUE(value->wants_new_key());
  Settled elsewhere(std::move(*value));
  EXPECT_FALSE(elsewhere->wants_new_key());
  EXPECT_EQ(elsewhere->heap_bytes(), like.heap_bytes());
  expect_equal(*elsewhere, like);
}

TEST(TinyBloom, is_merged_as_the_filter_that_it_stands_for) {
  constexpr std::array<std::size_t, 3> kCounts = {0, 10, 90};
  Random random(4);
  for (const BloomSettings& settings : kSettings) {
    for (const std::size_t count : kCounts) {
      const Words words = draw(random, count, 10 * count + 1);
      const Words others = draw(random, count, 10 * count + 1);
      Settled value(make(settings));
      Settled source(make(settings));
      BloomValue like = make(settings);
      BloomValue like_source = make(settings);
      ASSERT_EQ(added(*value, words), added(like, words));
      ASSERT_EQ(added(*source, others), added(like_source, others));
      ASSERT_EQ(value->check_merge(*source, 0).has_value(), like.check_merge(like_source, 0).has_value());
      ASSERT_EQ(value->merge(*source).has_value(), like.merge(like_source).has_value());
      expect_equal(*value, like);
      expect_equal(*source, like_source);
      if (value->wants_new_key()) {
        Settled again(std::move(*value));
        expect_equal(*again, like);
      }
    }
  }
}

TEST(TinyBloom, settles_again_when_it_is_loaded) {
  Random random(5);
  for (const BloomSettings& settings : kSettings) {
    BloomValue value = make(settings);
    const std::size_t bytes = value.bytes_beside();
    static_cast<void>(added(value, draw(random, settings.capacity_keys / 2, 1000)));
    BloomValue loaded = test::assembled(test::dump_of(value, TinyBloom::kMostCells)).value();
    EXPECT_EQ(loaded.bytes_beside(), bytes);
    Settled settled(std::move(loaded));
    expect_equal(*settled, value);
  }
}

TEST(TinyBloom, is_never_a_large_filter_or_one_of_other_rules) {
  EXPECT_NE(make(settings_of(100, 0.01, 2)).bytes_beside(), 0);
  EXPECT_EQ(make(settings_of(10'000, 0.01, 2)).bytes_beside(), 0);
  BloomSettings deletable = settings_of(100, 0.01, 2);
  deletable.is_deletable = true;
  EXPECT_EQ(make(deletable).bytes_beside(), 0);
  EXPECT_EQ(TinyBloom::cells_for(ScalableBloom::create({.keys = 100}).value()), 0);  // another tightening
  auto canonical = ScalableBloom::create({.keys = 100, .growth = {.tightening = 0.5}}).value();
  EXPECT_NE(TinyBloom::cells_for(canonical), 0);
  canonical.set_canonical_version(1);
  EXPECT_EQ(TinyBloom::cells_for(canonical), 0);
}

TEST(TinyBloom, without_memory_to_grow_stays_as_it_is) {
  const BloomSettings settings = settings_of(10, 0.01, 2);
  Random random(6);
  Settled value(make(settings));
  Settled other(make(settings));
  BloomValue like = make(settings);
  Words words;
  while (like.keys_inserted() < settings.capacity_keys) {
    words = draw(random, 1, 1000);
    ASSERT_EQ(added(*value, words), added(like, words));
  }
  words.emplace_back("one more");
  const std::size_t most = std::exchange(test::engine_memory_use().most_bytes, 0);
  EXPECT_EQ(added(*value, words), std::tuple(1, AddStop::out_of_memory, std::vector<bool>(2)));
  EXPECT_THROW(static_cast<void>(value->merge(*other)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(value->parts()), std::bad_alloc);
  test::engine_memory_use().most_bytes = most;
  expect_equal(*value, like);
}

}  // namespace
}  // namespace mankai::redis
