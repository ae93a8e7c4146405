#include "mankai/filter/fading_fingerprints/fading_fingerprints.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "tests/support/filter_request.hpp"
#include "tests/support/moving_memory.hpp"
#include "tests/support/outcomes.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {
namespace {

FadingFingerprints filter_of(const FadingShape& shape, const HashSpec& hash = kXxh3) {
  return FadingFingerprints::create(
             {.slots = shape.slots, .k = shape.k, .bits = shape.bits, .min_matches = shape.min_matches, .hash = hash})
      .value();
}

std::vector<std::uint64_t> counted(std::uint64_t first, std::size_t count) {
  std::vector<std::uint64_t> ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

constexpr FadingShape kShapes[] = {
    {.slots = 1, .k = 1, .bits = 4},
    {.slots = 7, .k = 3, .bits = 4},
    {.slots = 307, .k = 2, .bits = 8},
    {.slots = 1001, .k = 4, .bits = 16, .min_matches = 2},
    {.slots = 4096, .k = 64, .bits = 32, .min_matches = 64},
};

TEST(FadingFingerprints, an_empty_filter_knows_nothing) {
  for (const FadingShape& shape : kShapes) {
    const auto filter = filter_of(shape);
    const auto absent_keys = Random(1).digests(20'000);
    EXPECT_EQ(batch_answers(filter, absent_keys), std::vector<bool>(absent_keys.size(), false));
    EXPECT_EQ(filter.fill_ratio(), 0);
    EXPECT_EQ(filter.fpr_estimate(), 0);
    EXPECT_EQ(filter.keys_estimate(), 0);
  }
}

TEST(FadingFingerprints, memory_may_be_moved_under_it) {
  for (const FadingShape& shape : kShapes) {
    auto filter = filter_of(shape);
    filter.insert(counted(0, 300));
    auto other = FadingFingerprints::from_bytes(filter.to_bytes()).value();
    int moves = 0;
    filter.relocate({.move = leave, .context = nullptr});
    filter.relocate({.move = move_away, .context = &moves});
    EXPECT_EQ(moves, 1);
    filter.insert(counted(300, 200));
    other.insert(counted(300, 200));
    EXPECT_EQ(filter.to_bytes(), other.to_bytes());
  }
}

// Nothing came between: it is known, whatever its slots, unless they fell on one another and r wants them all.
TEST(FadingFingerprints, the_latest_event_is_known) {
  for (const FadingShape& shape : kShapes) {
    auto filter = filter_of(shape);
    for (const Digest digest : Random(2).digests(500)) {
      filter.insert(digest);
      ASSERT_TRUE(filter.may_contain(digest)) << shape.slots;
    }
    EXPECT_EQ(filter.keys_inserted(), 500U);
  }
}

// Kifi's own test: 10 000 keys into 3000 slots, three each.
TEST(FadingFingerprints, forgets_some_of_the_first_and_none_of_the_last_hundred) {
  auto filter = filter_of({.slots = 3000, .k = 3, .bits = 8});
  const auto ids = counted(0, 10'000);
  filter.insert(std::span(ids));
  EXPECT_LT(std::ranges::count(batch_answers(filter, counted(0, 100)), true), 100);
  EXPECT_EQ(std::ranges::count(batch_answers(filter, counted(9'900, 100)), true), 100);
}

TEST(FadingFingerprints, an_event_that_comes_again_is_young_again) {
  auto refreshed = filter_of({.slots = 2000, .k = 2, .bits = 16});
  auto left = filter_of({.slots = 2000, .k = 2, .bits = 16});
  const auto regulars = Random(3).digests(100);
  Random others(4);
  for (int round = 0; round < 50; ++round) {
    const auto noise = others.digests(200);
    if (round == 0) {
      left.insert(std::span(regulars));
    }
    refreshed.insert(std::span(regulars));
    refreshed.insert(std::span(noise));
    left.insert(std::span(noise));
  }
  EXPECT_GT(std::ranges::count(batch_answers(refreshed, regulars), true), 90);
  EXPECT_LT(std::ranges::count(batch_answers(left, regulars), true), 10);
}

// Arrays in cache and beyond it, where batches prefetch.
TEST(FadingFingerprints, batches_agree_with_single_calls) {
  for (const std::uint32_t bits : {4U, 8U, 16U, 32U}) {
    for (const std::uint64_t slots : {500U, 3'000'000U}) {
      const FadingShape shape{.slots = slots, .k = 3, .bits = bits};
      auto batch = filter_of(shape);
      auto single = filter_of(shape);
      auto observed = filter_of(shape);
      const auto digests = [] {
        auto drawn = Random(5).digests(3000);
        drawn.insert(drawn.end(), drawn.begin(), drawn.begin() + 1000);  // twins in one batch
        return drawn;
      }();
      std::vector<bool> seen_singly;
      for (const Digest digest : digests) {
        seen_singly.push_back(single.observe(digest));
      }
      batch.insert(std::span(digests));
      Outcomes seen(digests.size());
      observed.observe(std::span(digests), seen.span());
      EXPECT_EQ(seen.vector(), seen_singly);
      EXPECT_EQ(batch.to_bytes(), single.to_bytes());
      EXPECT_EQ(observed.to_bytes(), single.to_bytes());
      auto shared = filter_of(shape);
      shared.insert_concurrent(std::span(digests));
      EXPECT_EQ(shared.to_bytes(), single.to_bytes());
      EXPECT_EQ(batch_answers(batch, digests), single_answers(batch, digests));
    }
  }
}

// A plain model: an array of fingerprints, all positions by the format's words.
TEST(FadingFingerprints, the_cells_are_what_the_format_says) {
  for (const FadingShape& shape : kShapes) {
    auto filter = filter_of(shape);
    std::vector<std::uint32_t> model(shape.slots, 0);
    for (const Digest digest : Random(6).digests(300)) {
      filter.insert(digest);
      const std::uint64_t mixed = (digest.value ^ digest.value >> 32) * 0x9e3779b97f4a7c15U;
      const auto value = 1 + static_cast<std::uint32_t>(fastrange(mixed, (std::uint64_t{1} << shape.bits) - 1));
      std::uint64_t state = digest.value | 1;
      for (std::uint32_t i = 0; i < shape.k; ++i) {
        model[fastrange(state, shape.slots)] = value;
        state *= 0xf1357aea2e62a9c5U;
      }
    }
    const auto bytes = filter.to_bytes();
    for (std::uint64_t slot = 0; slot < shape.slots; ++slot) {
      std::uint32_t stored = 0;
      const std::uint64_t bit = slot * shape.bits;
      std::memcpy(&stored, bytes.data() + sizeof(ImageHeader) + bit / 8, std::max(1U, shape.bits / 8));
      stored = shape.bits == 4 ? stored >> bit % 8 & 15U : stored;
      ASSERT_EQ(stored, model[slot]) << shape.slots << " slots of " << shape.bits << ", slot " << slot;
    }
  }
}

TEST(FadingFingerprints, a_wish_is_sized_and_recorded) {
  const auto filter = FadingFingerprints::create({.keys = 10'000, .fpr = 0.01, .hash = kXxh3});
  ASSERT_TRUE(filter.has_value()) << filter.error().detail;
  EXPECT_GE(filter->survival(10'000), 0.5);
  EXPECT_NEAR(filter->half_life(), 10'000, 10);
  EXPECT_LE(fading_fpr(filter->shape()), 0.01);
  EXPECT_EQ(filter->capacity_keys(), 10'000U);
  EXPECT_EQ(filter->fpr_target(), 0.01);
}

TEST(FadingFingerprints, a_described_array_records_what_it_does) {
  const auto filter = FadingFingerprints::create({.slots = 3067, .hash = kXxh3});
  ASSERT_TRUE(filter.has_value()) << filter.error().detail;
  EXPECT_EQ(filter->shape(), (FadingShape{.slots = 3067, .k = 2, .bits = 8, .min_matches = 1}));
  EXPECT_EQ(filter->capacity_keys(), static_cast<std::uint64_t>(filter->half_life()));
  EXPECT_NEAR(filter->fpr_target(), 0.0078, 1e-4);
  EXPECT_EQ(FadingFingerprints::create({.slots = 99, .k = 4})->shape().bits, 16U);
  EXPECT_EQ(FadingFingerprints::create({.slots = 99, .min_matches = 5})->shape().k, 5U);
  // A plateau below every number is still a rate that can be read back.
  const auto strict = filter_of({.slots = 1'000'000, .k = 64, .bits = 32, .min_matches = 64});
  EXPECT_TRUE(FadingFingerprints::from_bytes(strict.to_bytes()).has_value());
}

TEST(FadingFingerprints, an_image_comes_back_with_its_answers) {
  for (const FadingShape& shape : kShapes) {
    auto filter = filter_of(shape);
    insert_random(filter, 7, 2 * shape.slots);
    const auto bytes = filter.to_bytes();
    EXPECT_EQ(bytes.size(), filter.image_bytes());
    const auto again = FadingFingerprints::from_bytes(bytes);
    ASSERT_TRUE(again.has_value()) << again.error().detail;
    EXPECT_EQ(again->to_bytes(), bytes);
    EXPECT_EQ(again->shape(), shape);
    const auto asked = Random(8).digests(5000);
    EXPECT_EQ(batch_answers(*again, asked), batch_answers(filter, asked));
    auto like = filter.create_like();
    ASSERT_TRUE(like.has_value());
    EXPECT_EQ(like->shape(), shape);
    filter.clear();
    EXPECT_EQ(filter.fill_ratio(), 0);
    EXPECT_EQ(filter.keys_inserted(), 0U);
    EXPECT_EQ(like->to_bytes(), filter.to_bytes());
  }
}

// Kifi's small filters: 307 slots of a byte.
TEST(FadingFingerprints, a_small_filter_is_a_few_hundred_bytes) {
  EXPECT_EQ(filter_of({.slots = 307, .k = 2, .bits = 8}).image_bytes(), 464U);
  EXPECT_EQ(filter_of({.slots = 128, .k = 2, .bits = 8}).image_bytes(), 272U);
}

TEST(FadingFingerprints, the_fill_shows_how_many_events_came) {
  auto filter = filter_of({.slots = 100'000, .k = 2, .bits = 8});
  insert_random(filter, 9, 30'000);
  EXPECT_NEAR(filter.keys_estimate(), 30'000, 600);
  EXPECT_NEAR(filter.fill_ratio(), fading_fill(filter.shape(), 30'000), 0.005);
  EXPECT_NEAR(filter.fpr_estimate(), filter.fpr_expected(30'000), 1e-4);
}

TEST(FadingFingerprints, what_cannot_be_made_is_refused) {
  const auto refused = [](const FadingFingerprints::Options& options) {
    const auto filter = FadingFingerprints::create(options);
    return !filter && filter.error().code == ErrorCode::invalid_argument;
  };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused({.slots = 10, .bits = 5}));
  EXPECT_TRUE(refused({.slots = 10, .k = 65}));
  EXPECT_TRUE(refused({.slots = 10, .k = 2, .min_matches = 3}));
  EXPECT_TRUE(refused({.slots = 10, .min_matches = 0}));
  EXPECT_TRUE(refused({.slots = ~std::uint64_t{0}}));
  EXPECT_TRUE(refused({.keys = 100, .fpr = 0.6}));
}

}  // namespace
}  // namespace mankai::test
