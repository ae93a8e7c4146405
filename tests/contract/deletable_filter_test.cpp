// Every DeletableFilter against an exact multiset: a key inserted more often than erased is found, forever, also after
// its counters have overflowed; an erase of what is certainly not in is refused and changes nothing.

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/support/every_kind.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {
namespace {

bool can_erase(const KindDescription& kind) { return kind.can_erase && !kind.can_grow; }

class DeletableFilterContract : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(every_kind, DeletableFilterContract, testing::ValuesIn(shapes(can_erase)), test_name);

std::vector<EraseResult> erase_singly(Subject& filter, std::span<const Digest> digests) {
  std::vector<EraseResult> results;
  for (const Digest digest : digests) {
    results.push_back(filter.erase(digest));
  }
  return results;
}

std::vector<EraseResult> erase_batch(Subject& filter, std::span<const Digest> digests) {
  std::vector<EraseResult> results(digests.size(), EraseResult::ambiguous);
  filter.erase(digests, results);
  return results;
}

TEST_P(DeletableFilterContract, erasing_all_that_was_inserted_leaves_an_empty_filter) {
  for (const std::uint64_t keys : {std::uint64_t{1000}, keys_beyond_cache(GetParam())}) {
    auto filter = make(GetParam(), {.keys = keys});
    const auto fresh = filter.to_bytes();
    const auto digests = Random(1).digests(1000);
    filter.insert(std::span(digests));
    EXPECT_EQ(filter.keys_inserted(), 1000U);
    EXPECT_EQ(erase_batch(filter, digests), std::vector<EraseResult>(1000, EraseResult::erased));
    EXPECT_EQ(filter.to_bytes(), fresh);
  }
}

TEST_P(DeletableFilterContract, an_erase_is_the_insert_undone) {
  auto filter = make(GetParam(), {.keys = 500});
  insert_random(filter, 2, 300);
  for (const Digest digest : Random(3).digests(200)) {
    const auto before = filter.to_bytes();
    filter.insert(digest);
    ASSERT_EQ(filter.erase(digest), EraseResult::erased);
    ASSERT_EQ(filter.to_bytes(), before);
  }
}

TEST_P(DeletableFilterContract, what_is_certainly_absent_is_refused_and_changes_nothing) {
  auto filter = make(GetParam(), {.keys = 500});
  EXPECT_EQ(filter.erase(Digest{1}), EraseResult::absent);
  EXPECT_EQ(filter.keys_inserted(), 0U);
  insert_random(filter, 4, 500);
  const auto before = filter.to_bytes();
  std::vector<Digest> absent;
  for (const Digest digest : Random(5).digests(1000)) {
    if (!filter.may_contain(digest)) {
      absent.push_back(digest);
    }
  }
  ASSERT_GT(absent.size(), 900U);
  EXPECT_EQ(erase_singly(filter, absent), std::vector<EraseResult>(absent.size(), EraseResult::absent));
  EXPECT_EQ(erase_batch(filter, absent), std::vector<EraseResult>(absent.size(), EraseResult::absent));
  EXPECT_EQ(filter.to_bytes(), before);
}

void expect_all_found(const Subject& filter, const std::map<Digest, std::uint64_t>& model) {
  for (const auto& [digest, count] : model) {
    ASSERT_TRUE(filter.may_contain(digest)) << "in " << count << " times";
  }
}

// Goal: no false negative in a long life, overflow included.
// Method: random inserts and erasures of what the model has, over few keys, so that many are in more than 15 times, and
// far beyond the capacity, so that counters of different keys overflow together. At each end all is erased but one of
// each key, and everything is asked for.
void live_long(const Example& example, std::uint64_t capacity, std::uint64_t different, std::uint64_t seed) {
  auto filter = make(example, {.keys = capacity, .fpr = 0.1});
  const Hasher hash = filter.hasher();
  std::map<Digest, std::uint64_t> model;
  Random random(seed);
  for (int i = 0; i < 20000; ++i) {
    const Digest digest = hash(random.below(different));
    const auto found = model.find(digest);
    if (found != model.end() && random.below(5) < 2) {
      const bool is_stuck = filter.estimate(digest).is_saturated;
      ASSERT_EQ(filter.erase(digest), is_stuck ? EraseResult::stuck : EraseResult::erased);
      found->second -= is_stuck ? 0U : 1U;
      if (found->second == 0) {
        model.erase(found);
      }
    } else {
      filter.insert(digest);
      ++model[digest];
    }
    if (i % 1000 == 0) {
      expect_all_found(filter, model);
    }
  }
  std::uint64_t left = 0;
  for (auto& [digest, count] : model) {
    for (; count > 1 && !filter.estimate(digest).is_saturated; --count) {
      ASSERT_EQ(filter.erase(digest), EraseResult::erased);
    }
    left += count;
  }
  EXPECT_EQ(filter.keys_inserted(), left);
  expect_all_found(filter, model);
}

TEST_P(DeletableFilterContract, a_key_inserted_more_often_than_erased_is_found_for_ever) {
  live_long(GetParam(), 1000, 1000, 6);
  live_long(GetParam(), 100, 100, 7);
  live_long(GetParam(), 100, 3000, 8);
  live_long(GetParam(), 1, 30, 9);
}

TEST_P(DeletableFilterContract, a_key_that_overflowed_is_never_lost) {
  for (const int times : {14, 15, 16, 20, 300}) {
    auto filter = make(GetParam());
    const Digest digest{0x123456789abcdefU};
    for (int i = 0; i < times; ++i) {
      filter.insert(digest);
    }
    EXPECT_EQ(filter.saturated_cells(), times < 15 ? 0 : filter.probes_per_key());
    const bool is_stuck = times >= 15;
    const EraseResult expected = is_stuck ? EraseResult::stuck : EraseResult::erased;
    for (int i = 0; i < times - 1; ++i) {
      ASSERT_EQ(filter.erase(digest), expected);
    }
    EXPECT_TRUE(filter.may_contain(digest)) << times;
    EXPECT_EQ(filter.keys_inserted(), is_stuck ? static_cast<std::uint64_t>(times) : 1U);
    EXPECT_EQ(filter.erase(digest), expected);
    EXPECT_EQ(filter.may_contain(digest), is_stuck) << "what stuck stays";
    EXPECT_EQ(filter.keys_inserted(), is_stuck ? static_cast<std::uint64_t>(times) : 0U);
  }
}

// Were a stuck key's erasures counted, a filter that is full of such keys would take itself for empty.
TEST_P(DeletableFilterContract, a_stuck_key_is_refused_goes_on_counting_and_changes_nothing) {
  auto filter = make(GetParam());
  const std::vector<Digest> digests(20, Digest{99});
  filter.insert(std::span(digests).first(16));
  const auto before = filter.to_bytes();
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(filter.erase(Digest{99}), EraseResult::stuck);
  }
  EXPECT_EQ(erase_batch(filter, digests), std::vector<EraseResult>(20, EraseResult::stuck));
  EXPECT_EQ(filter.keys_inserted(), 16U);
  EXPECT_EQ(filter.to_bytes(), before);
  filter.insert(Digest{1});
  EXPECT_EQ(erase_batch(filter, std::vector<Digest>{Digest{99}, Digest{1}, Digest{1}}),
            (std::vector<EraseResult>{EraseResult::stuck, EraseResult::erased, EraseResult::absent}));
  EXPECT_EQ(filter.to_bytes(), before);
}

TEST_P(DeletableFilterContract, saturated_cells_are_those_at_15) {
  auto filter = make(GetParam(), {.keys = 10});
  Random random(10);
  const auto digests = random.digests(30);
  for (int i = 0; i < 400; ++i) {
    const Digest digest = digests[random.below(digests.size())];
    random.below(4) == 0 ? static_cast<void>(filter.erase(digest)) : filter.insert(digest);
    const auto bytes = filter.to_bytes();
    std::uint64_t stuck = 0;
    for (std::size_t cell = 0; cell < filter.cells_bytes(); ++cell) {
      const auto pair = std::to_integer<unsigned>(bytes[sizeof(ImageHeader) + cell]);
      stuck += (pair % 16 == 15 ? 1U : 0U) + (pair / 16 == 15 ? 1U : 0U);
    }
    ASSERT_EQ(filter.saturated_cells(), stuck);
  }
  EXPECT_GT(filter.saturated_cells(), 0U);
  filter.clear();
  EXPECT_EQ(filter.saturated_cells(), 0U);
}

// Inserts, erasures of members, of twins in one batch, and of absent keys: batch and singles leave the same image.
TEST_P(DeletableFilterContract, erase_batches_agree_with_singles_at_every_size) {
  for (const std::uint64_t keys : {std::uint64_t{300}, keys_beyond_cache(GetParam(), 0.1)}) {
    auto batch = make(GetParam(), {.keys = keys, .fpr = 0.1});
    auto singles = make(GetParam(), {.keys = keys, .fpr = 0.1});
    Random random(11);
    const auto known = random.digests(400);
    for (std::size_t size = 0; size <= 600; size += keys == 300 ? 1 : 13) {
      std::vector<Digest> given;
      for (std::size_t i = 0; i < size; ++i) {
        given.push_back(random.below(4) == 0 ? random.digest() : known[random.below(known.size())]);
      }
      if (size % 3 == 0) {
        batch.insert(std::span(known));
        singles.insert(std::span(known));
      }
      ASSERT_EQ(erase_batch(batch, given), erase_singly(singles, given)) << size << " keys";
      ASSERT_EQ(batch.keys_inserted(), singles.keys_inserted());
      if (keys == 300) {
        ASSERT_EQ(batch.to_bytes(), singles.to_bytes()) << size << " keys";
      }
    }
    EXPECT_EQ(batch.to_bytes(), singles.to_bytes());
  }
}

TEST_P(DeletableFilterContract, a_twin_in_one_batch_is_refused_once_the_key_is_out) {
  for (const std::size_t distance : {1U, 7U, 31U, 32U, 33U, 191U, 192U, 193U, 400U}) {
    auto filter = make(GetParam(), {.keys = 5000, .fpr = 1e-6});
    const auto fresh = Random(distance).digests(distance);
    filter.insert(std::span(fresh));
    std::vector<Digest> twice(fresh);
    twice.insert(twice.end(), fresh.begin(), fresh.end());
    std::vector<EraseResult> expected(distance, EraseResult::erased);
    expected.resize(2 * distance, EraseResult::absent);
    ASSERT_EQ(erase_batch(filter, twice), expected) << "twins " << distance << " apart";
    EXPECT_EQ(filter.fill_ratio(), 0);
  }
}

TEST_P(DeletableFilterContract, an_empty_batch_erases_nothing) {
  auto filter = make(GetParam());
  filter.insert(Digest{1});
  const auto before = filter.to_bytes();
  filter.erase(std::span<const Digest>{}, {});
  EXPECT_EQ(filter.to_bytes(), before);
}

TEST_P(DeletableFilterContract, a_merged_filter_gives_back_each_part) {
  auto left = make(GetParam());
  auto right = make(GetParam());
  const auto digests = Random(12).digests(900);
  left.insert(std::span(digests).first(600));
  right.insert(std::span(digests).last(600));
  const auto only_right = right.to_bytes();
  ASSERT_TRUE(right.merge(left).has_value());
  EXPECT_EQ(right.keys_inserted(), 1200U);
  EXPECT_EQ(erase_batch(right, std::span(digests).first(600)), std::vector<EraseResult>(600, EraseResult::erased));
  EXPECT_EQ(right.to_bytes(), only_right);
}

TEST_P(DeletableFilterContract, merging_sticks_where_a_sum_is_15) {
  auto left = make(GetParam());
  auto right = make(GetParam());
  const std::vector<Digest> often(20, Digest{5});
  left.insert(std::span(often).first(7));
  right.insert(std::span(often).first(7));
  ASSERT_TRUE(right.merge(left).has_value());
  EXPECT_EQ(right.saturated_cells(), 0U);
  ASSERT_TRUE(right.merge(make(GetParam())).has_value());
  left.insert(Digest{5});
  right = make(GetParam());
  right.insert(std::span(often).first(7));
  ASSERT_TRUE(right.merge(left).has_value());
  EXPECT_EQ(right.saturated_cells(), right.probes_per_key());
  EXPECT_EQ(right.estimate(Digest{5}), (KeyCount{.value = 15, .is_saturated = true}));
}

}  // namespace
}  // namespace mankai::test
