// Every kind that grows: what it promises while it grows, against an exact model, and that batches mean what single
// calls in order mean, whatever slice boundaries they cross.

#include <gtest/gtest.h>

#include <new>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mankai/filter/scalable_bloom/scalable_bloom.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"
#include "tests/contract/contract_test_support.hpp"
#include "tests/support/counting_memory.hpp"
#include "tests/support/growing_subject.hpp"
#include "tests/support/outcomes.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sampled.hpp"

namespace mankai::test {
namespace {

class GrowingContract : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(every_kind, GrowingContract, testing::ValuesIn(shapes(can_grow)), test_name);

// Kinds whose slices open when the newest has the keys that it was made for; others open one when a key finds no room.
class CountedSlicesContract : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(every_kind, CountedSlicesContract, testing::ValuesIn(shapes([](const KindDescription& kind) {
                           return can_grow(kind) && calls_of(kind).growth != nullptr;
                         })),
                         test_name);

TEST_P(GrowingContract, a_fresh_filter_is_one_empty_slice) {
  const auto filter = make_growing(GetParam());
  EXPECT_EQ(filter.slice_count(), 1U);
  EXPECT_EQ(filter.capacity_keys(), 100U);
  EXPECT_EQ(filter.initial_keys(), 100U);
  EXPECT_EQ(filter.fpr_target(), 0.01);
  EXPECT_FALSE(filter.is_full());
}

// Keys drawn from a small range, so that many come again, up to forty times the first capacity.
TEST_P(GrowingContract, an_inserted_key_is_found_while_slices_open) {
  for (const double fpr : {0.5, 0.01, 1e-5}) {
    auto filter = make_growing(GetParam(), {.keys = 100, .fpr = fpr});
    std::set<Digest> model;
    Random random(2);
    const Hasher hash = filter.hasher();
    for (int i = 1; i <= 6000; ++i) {
      const Digest digest = hash(random.below(5000));
      filter.insert(digest);
      model.insert(digest);
      ASSERT_TRUE(filter.may_contain(digest));
      if (i % 500 == 0) {
        expect_all_found(filter, model);
      }
    }
    EXPECT_GT(filter.capacity_keys(), 500U);
  }
}

TEST_P(CountedSlicesContract, a_slice_opens_when_the_newest_has_the_keys_it_was_made_for) {
  auto filter = make_growing(GetParam(), {.keys = 50, .fpr = 1e-6});
  Random random(3);
  const auto [factor, tightening, bound] = filter.growth();
  const double start = tightening / (1 - tightening);
  double slice_fpr = 1e-6 * (1 - tightening);
  std::uint64_t slice_keys = 50;
  std::uint64_t filled = 0;
  for (std::size_t slices = 1; slices <= 5; ++slices) {
    filled += slice_keys;
    while (filter.keys_inserted() < filled) {
      filter.insert(random.digest());
    }
    EXPECT_EQ(filter.slice_count(), slices);
    EXPECT_EQ(filter.capacity_keys(), filled);
    EXPECT_EQ(filter.slice(slices - 1).capacity_keys, slice_keys);
    EXPECT_NEAR(filter.slice(slices - 1).fpr_target, slice_fpr, slice_fpr * 1e-9);
    slice_keys *= factor;
    const auto place = static_cast<double>(slices);
    slice_fpr *= bound == FprBound::gradual ? (place - 1 + start) / (place + 1 + start) : tightening;
  }
}

TEST_P(CountedSlicesContract, repeats_take_room_only_where_they_are_counted) {
  auto filter = make_growing(GetParam());
  for (int i = 0; i < 1000; ++i) {
    filter.insert(Digest{7});
  }
  if (filter.kind().can_erase) {
    EXPECT_EQ(filter.keys_inserted(), 1000U);
    EXPECT_GT(filter.slice_count(), 1U);
  } else {
    EXPECT_EQ(filter.keys_inserted(), 1U);
    EXPECT_EQ(filter.slice_count(), 1U);
  }
}

// Goal: a batch is its single calls in order, at sizes around the windows (4096) and slices that fill in their middle.
// Method: three filters alike get the same keys by insert, by observe and singly; answers and images are compared.
TEST_P(GrowingContract, batches_agree_with_singles_across_slices) {
  for (const std::uint64_t keys : {1U, 37U, 1500U}) {
    auto by_insert = make_growing(GetParam(), {.keys = keys});
    auto by_observe = make_growing(GetParam(), {.keys = keys});
    auto by_singles = make_growing(GetParam(), {.keys = keys});
    Random random(keys);
    const auto known = random.digests(300);
    for (const std::size_t size : {0U, 1U, 2U, 31U, 36U, 37U, 38U, 200U, 1000U, 4095U, 4096U, 4097U, 9000U}) {
      if (keys == 1 && size > 1000) {
        continue;  // thousands of slices are the last test's question
      }
      const auto given = mixed(random, known, size, 5);
      ASSERT_EQ(batch_answers(by_insert, given), single_answers(by_insert, given)) << size << " keys";
      by_insert.insert(std::span(given));
      ASSERT_EQ(observe_batch(by_observe, given), observe_singly(by_singles, given)) << size << " keys";
      const auto expected = by_singles.to_bytes();
      ASSERT_TRUE(by_insert.to_bytes() == expected) << size << " keys into slices from " << keys;
      ASSERT_TRUE(by_observe.to_bytes() == expected) << size << " keys into slices from " << keys;
    }
    EXPECT_GT(by_singles.capacity_keys(), 3 * keys);
  }
}

TEST_P(GrowingContract, clear_forgets_every_key_and_all_slices_but_the_first) {
  CountingMemory counter;
  auto filter = make_growing(GetParam(), {.memory = counter.memory()});
  const auto fresh = filter.to_bytes();
  const std::size_t fresh_bytes = counter.bytes_in_use;
  const auto digests = Random(6).digests(3000);
  filter.insert(std::span(digests));
  EXPECT_GT(counter.bytes_in_use, fresh_bytes);
  filter.clear();
  EXPECT_EQ(filter.to_bytes(), fresh);
  EXPECT_EQ(counter.bytes_in_use, fresh_bytes);
  auto other = make_growing(GetParam());
  filter.insert(std::span(digests));
  other.insert(std::span(digests));
  EXPECT_TRUE(filter.to_bytes() == other.to_bytes());
}

TEST_P(GrowingContract, a_move_leaves_valid_filters) {
  CountingMemory counter;
  {
    const GrowingRequest request{.memory = counter.memory()};
    auto first = make_growing(GetParam(), request);
    const auto digests = Random(7).digests(2000);
    first.insert(std::span(digests));
    const auto bytes = first.to_bytes();
    auto second = make_growing(GetParam(), request);
    second.swap(first);
    EXPECT_TRUE(second.to_bytes() == bytes);
    first.insert(digests[0]);
    EXPECT_TRUE(first.may_contain(digests[0]));
    EXPECT_EQ(first.keys_inserted(), 1U);
    first.swap(second);
    EXPECT_TRUE(first.to_bytes() == bytes);
    EXPECT_EQ(batch_answers(first, digests), std::vector<bool>(digests.size(), true));
    EXPECT_EQ(second.keys_inserted(), 1U);
  }
  EXPECT_EQ(counter.bytes_in_use, 0U);
}

// Goal: no memory for a slice leaves the filter as it was, whichever allocation it is and whoever asked.
// Method: with n grants the filter grows as far as they go; the insert that needs one more throws.
template <class Insert>
void expect_strong_guarantee(const Example& example, std::size_t grants, const Insert& insert) {
  CountingMemory counter(grants);
  auto filter = make_growing(example, {.keys = 20, .fpr = 1e-5, .memory = counter.memory()});
  Random random(8);
  bool has_thrown = false;
  std::vector<std::byte> before;
  while (!has_thrown) {
    if (filter.newest_slice().is_full()) {
      before = filter.to_bytes();
    }
    const Digest digest = random.digest();
    try {
      insert(filter, digest);
      ASSERT_TRUE(filter.may_contain(digest));
    } catch (const std::bad_alloc&) {
      has_thrown = true;
      ASSERT_TRUE(filter.to_bytes() == before) << grants << " grants";
      ASSERT_FALSE(filter.may_contain(digest)) << grants << " grants";
      if (only_adds_slices(*example.kind)) {
        ASSERT_EQ(filter.slice_count(), grants);
      }
    }
    ASSERT_LT(filter.keys_inserted(), 100000U);
  }
}

TEST_P(GrowingContract, memory_that_refuses_a_slice_leaves_the_filter_as_it_was) {
  for (std::size_t grants = 2; grants < 9; ++grants) {
    expect_strong_guarantee(GetParam(), grants, [](Subject& filter, Digest digest) { filter.insert(digest); });
    expect_strong_guarantee(GetParam(), grants,
                            [](Subject& filter, Digest digest) { filter.insert(std::span<const Digest>(&digest, 1)); });
    expect_strong_guarantee(GetParam(), grants, [](Subject& filter, Digest digest) {
      Outcomes seen(1);
      filter.observe(std::span<const Digest>(&digest, 1), seen.span());
    });
    if (GetParam().kind->key_shape == KeyShape::numbered) {
      expect_strong_guarantee(GetParam(), grants, [](Subject& filter, Digest digest) {
        ASSERT_TRUE(filter.insert(digest, 2000).has_value());
      });
    }
  }
}

// A batch that finds no room part of the way keeps the keys before the one that needed it.
TEST_P(CountedSlicesContract, a_batch_that_runs_out_of_memory_keeps_what_came_before) {
  CountingMemory counter(3);
  auto filter = make_growing(GetParam(), {.keys = 20, .fpr = 1e-5, .memory = counter.memory()});
  const auto digests = Random(9).digests(3000);
  EXPECT_THROW(filter.insert(std::span(digests)), std::bad_alloc);
  EXPECT_EQ(filter.slice_count(), 3U);
  EXPECT_EQ(filter.keys_inserted(), filter.capacity_keys());
  EXPECT_EQ(batch_answers(filter, std::span(digests).first(filter.keys_inserted())),
            std::vector<bool>(filter.keys_inserted(), true));
}

TEST_P(GrowingContract, impossible_requests_are_refused) {
  for (const GrowingRequest& request :
       {GrowingRequest{.keys = 0}, GrowingRequest{.fpr = 0}, GrowingRequest{.fpr = 1},
        GrowingRequest{.keys = (std::uint64_t{1} << 48) + 1}, GrowingRequest{.keys = std::uint64_t{1} << 48}}) {
    const auto filter = create_growing(GetParam(), request);
    ASSERT_FALSE(filter.has_value());
    EXPECT_EQ(filter.error().code, ErrorCode::invalid_argument) << filter.error().detail;
  }
}

TEST_P(CountedSlicesContract, impossible_growth_is_refused_by_name) {
  const auto expect_refused = [](const Growth& growth, std::string_view word) {
    const auto filter = calls_of(*GetParam().kind).create_growing(10, 0.01, growth, kXxh3);
    ASSERT_FALSE(filter.has_value());
    EXPECT_EQ(filter.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(filter.error().detail.find(word), std::string::npos) << filter.error().detail;
  };
  expect_refused({.factor = 0}, "growth");
  expect_refused({.factor = Growth::kMaxFactor + 1}, "growth");
  for (const double ratio : {0.0, 1.0, -0.5, 2.0, std::nan("")}) {
    expect_refused({.tightening = ratio}, "tightening");
  }
}

// Slices of one key each, as many as there can be; then the newest one takes the rest, and the promise holds.
TEST_P(CountedSlicesContract, past_the_last_slice_the_newest_takes_the_rest) {
  auto filter =
      Subject::of(calls_of(*GetParam().kind).create_growing(1, 0.5, {.factor = 1, .tightening = 0.5}, kXxh3)).value();
  const auto digests = Random(10).digests(kMaxSlices + 500);
  filter.insert(std::span(digests));
  EXPECT_EQ(filter.slice_count(), kMaxSlices);
  EXPECT_TRUE(filter.is_full());
  filter.insert(Digest{1});
  EXPECT_TRUE(filter.may_contain(Digest{1}));
  EXPECT_EQ(batch_answers(filter, digests), std::vector<bool>(digests.size(), true));
  const auto refused = filter.merge(filter.from_bytes(filter.to_bytes()).value());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().detail.find("slices"), std::string::npos) << refused.error().detail;
}

TEST_P(GrowingContract, merging_is_the_union) {
  auto left = make_growing(GetParam());
  auto right = make_growing(GetParam());
  const auto digests = Random(11).digests(2500);
  left.insert(std::span(digests).first(1500));
  right.insert(std::span(digests).last(1500));  // the two overlap by 500
  const auto strangers = Random(12).digests(20000);
  const auto in_left = batch_answers(left, strangers);
  const auto in_right = batch_answers(right, strangers);
  const auto right_before = right.to_bytes();
  ASSERT_TRUE(left.merge(right).has_value());
  EXPECT_TRUE(right.to_bytes() == right_before);
  EXPECT_EQ(batch_answers(left, digests), std::vector<bool>(digests.size(), true));
  // No slice of the two was joined with another here, as all but the last are full; so no absent key's answer changed.
  const auto in_both = batch_answers(left, strangers);
  for (std::size_t i = 0; i < strangers.size(); ++i) {
    ASSERT_TRUE(in_both[i] || !(in_left[i] || in_right[i]));
  }
  left.insert(std::span(digests).first(100));
  EXPECT_EQ(batch_answers(left, digests), std::vector<bool>(digests.size(), true));
}

TEST_P(GrowingContract, an_empty_filter_adds_nothing) {
  auto filter = make_growing(GetParam());
  insert_random(filter, 13, 950);
  const auto before = filter.to_bytes();
  ASSERT_TRUE(filter.merge(make_growing(GetParam())).has_value());
  EXPECT_TRUE(filter.to_bytes() == before);
}

TEST_P(GrowingContract, filters_of_other_seeds_or_growth_are_refused_by_name) {
  auto filter = make_growing(GetParam());
  insert_random(filter, 14, 300);
  HashSpec seeded = kXxh3;
  seeded.seed[0] ^= 1;
  expect_refused(filter, make_growing(GetParam(), {.hash = seeded}), "seed");
  expect_refused(filter, make_growing(GetParam(), {.hash = kSiphash}), "hash");
  expect_refused(filter, make_growing(GetParam(), {.keys = 101}), "grow");
  expect_refused(filter, make_growing(GetParam(), {.fpr = 0.02}), "grow");
}

TEST_P(GrowingContract, a_merge_without_memory_leaves_both_as_they_were) {
  // Where sub-filters are replaced by larger ones there are few to copy.
  CountingMemory counter(only_adds_slices(*GetParam().kind) ? 4 : 1);
  auto filter = make_growing(GetParam(), {.memory = counter.memory()});
  filter.insert(Digest{1});
  auto other = make_growing(GetParam());
  insert_random(other, 15, 2000);
  const auto before = filter.to_bytes();
  const auto merged = filter.merge(other);
  ASSERT_FALSE(merged.has_value());
  EXPECT_EQ(merged.error().code, ErrorCode::out_of_space);
  EXPECT_TRUE(filter.to_bytes() == before);
  EXPECT_FALSE(filter.may_contain(Random(15).digest()));
}

TEST_P(GrowingContract, create_like_makes_one_that_merges) {
  auto filter = make_growing(GetParam());
  insert_random(filter, 16, 500);
  auto like = filter.create_like().value();
  EXPECT_EQ(like.keys_inserted(), 0U);
  EXPECT_EQ(like.slice_count(), 1U);
  like.insert(Digest{5});
  ASSERT_TRUE(filter.merge(like).has_value());
  EXPECT_TRUE(filter.may_contain(Digest{5}));
}

TEST_P(GrowingContract, estimates_are_near_the_truth) {
  auto filter = make_growing(GetParam(), {.keys = 1000});
  insert_random(filter, 17, 20000);
  EXPECT_NEAR(filter.keys_estimate(), 20000, 400);
  EXPECT_GT(filter.fpr_estimate(), 0);
  EXPECT_LE(filter.fpr_estimate(), 0.01 * sizing_slack(GetParam()));
  EXPECT_GT(filter.fill_ratio(), 0);
  EXPECT_LT(filter.fill_ratio(), 1);
  EXPECT_GE(filter.probes_per_key(), filter.slice_count());
  EXPECT_GE(filter.lines_per_key(), static_cast<double>(filter.slice_count()));
}

Subject make_doubling(const GrowingRequest& request = {}) {
  return Subject(
      ScalableBloom::create({.keys = request.keys, .fpr = request.fpr, .hash = request.hash, .memory = request.memory})
          .value());
}

// What is left of a filter that was moved answers, and knows nothing.
template <class F>
class MovedFrom : public testing::Test {};
using GrowingClasses = testing::Types<ScalableBloom, ScalableCountingBloom>;
TYPED_TEST_SUITE(MovedFrom, GrowingClasses);

TYPED_TEST(MovedFrom, a_filter_contains_nothing) {
  auto first = TypeParam::create({.keys = 100, .hash = kXxh3}).value();
  const auto digests = Random(7).digests(2000);
  first.insert(std::span<const Digest>(digests));
  const auto second = std::move(first);
  // NOLINTBEGIN(bugprone-use-after-move): that is what is tested
  EXPECT_EQ(batch_answers(first, digests), std::vector<bool>(digests.size(), false));
  EXPECT_EQ(batch_answers(first, Random(7).numbers(100)), std::vector<bool>(100, false));
  EXPECT_FALSE(first.may_contain(digests[0]));
  // NOLINTEND(bugprone-use-after-move)
  EXPECT_TRUE(second.may_contain(digests[0]));
}

// Slices join only in scalable-bloom: those of one generation that have room for both.
TEST(ScalableBloomMerge, slices_with_room_for_each_other_join) {
  auto left = make_doubling();
  auto right = make_doubling();
  insert_random(left, 18, 40);
  insert_random(right, 19, 40);
  ASSERT_TRUE(left.merge(right).has_value());
  EXPECT_EQ(left.slice_count(), 1U);
  // An estimate from the cells, in which a few keys share all of their bits.
  EXPECT_NEAR(static_cast<double>(left.keys_inserted()), 80, 5);
  auto third = make_doubling();
  insert_random(third, 20, 40);
  ASSERT_TRUE(left.merge(third).has_value());
  EXPECT_EQ(left.slice_count(), 2U);
}

// A hundred small filters: their keys fill slices up, instead of leaving a slice each.
TEST(ScalableBloomMerge, many_small_filters_fill_up_few_slices) {
  auto all = make_doubling({.keys = 500});
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    auto small = make_doubling({.keys = 500});
    insert_random(small, 1000 + seed, 10);
    ASSERT_TRUE(all.merge(small).has_value());
    EXPECT_TRUE(all.may_contain(Random(1000 + seed).digest()));
  }
  EXPECT_LE(all.slice_count(), 3U);
  EXPECT_LE(all.fpr_estimate(), 0.02);
}

// One key merged in must not start the growth anew: slices and rate are as without it, but for that key's slice.
TEST_P(CountedSlicesContract, growing_goes_on_from_the_highest_generation_after_a_merge) {
  auto filter = make_growing(GetParam());
  Random random(24);
  while (filter.slice_count() < 10) {
    filter.insert(random.digest());
  }
  auto alone = filter.from_bytes(filter.to_bytes()).value();
  auto other = make_growing(GetParam());
  other.insert(Digest{5});
  ASSERT_TRUE(filter.merge(other).has_value());
  const auto digests = random.digests(filter.growth().factor == 1 ? 5000 : kIsSampled ? 100000 : 1000000);
  filter.insert(std::span(digests));
  alone.insert(std::span(digests));
  EXPECT_EQ(filter.slice_count(), alone.slice_count() + 1);
  EXPECT_LE(filter.fpr_estimate(), 0.02);
  EXPECT_NEAR(filter.fpr_estimate(), alone.fpr_estimate(), 0.001);
  EXPECT_TRUE(filter.may_contain(Digest{5}));
  EXPECT_EQ(batch_answers(filter, digests), std::vector<bool>(digests.size(), true));
}

// A filter stays below its promised rate when it goes on growing after a merge: at most twice the target.
TEST_P(GrowingContract, growing_after_a_merge_keeps_twice_the_target) {
  auto left = make_growing(GetParam(), {.keys = 500, .fpr = 0.02});
  auto right = make_growing(GetParam(), {.keys = 500, .fpr = 0.02});
  insert_random(left, 21, 6000);
  insert_random(right, 22, 2500);
  ASSERT_TRUE(left.merge(right).has_value());
  insert_random(left, 23, 20000);
  EXPECT_LE(left.fpr_estimate(), 0.04);
  EXPECT_EQ(batch_answers(left, Random(22).digests(2500)), std::vector<bool>(2500, true));
}

}  // namespace
}  // namespace mankai::test
