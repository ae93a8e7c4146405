// Every FrequencyFilter against an exact multiset: an estimate is never below how often the key is in, unless it says
// that it is saturated.

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/support/every_kind.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {
namespace {

bool counts(const KindDescription& kind) { return calls_of(kind).estimate != nullptr && !kind.can_grow; }

class FrequencyFilterContract : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(every_kind, FrequencyFilterContract, testing::ValuesIn(shapes(counts)), test_name);

constexpr std::uint32_t kMost = 15;

std::vector<KeyCount> estimate_batch(const Subject& filter, std::span<const Digest> digests) {
  std::vector<KeyCount> counts(digests.size(), KeyCount{.value = 77, .is_saturated = true});
  filter.estimate(digests, counts);
  return counts;
}

TEST_P(FrequencyFilterContract, a_lone_key_is_counted_exactly_up_to_15) {
  auto filter = make(GetParam());
  const Digest digest{42};
  EXPECT_EQ(filter.estimate(digest), KeyCount{});
  for (std::uint32_t times = 1; times <= 40; ++times) {
    filter.insert(digest);
    const std::uint32_t value = std::min(times, kMost);
    EXPECT_EQ(filter.estimate(digest), (KeyCount{.value = value, .is_saturated = value == kMost})) << times;
  }
}

TEST_P(FrequencyFilterContract, an_estimate_follows_erasures) {
  auto filter = make(GetParam());
  for (std::uint32_t times = 0; times < kMost - 1; ++times) {
    filter.insert(Digest{42});
  }
  for (std::uint32_t left = kMost - 1; left > 0; --left) {
    EXPECT_EQ(filter.estimate(Digest{42}), (KeyCount{.value = left, .is_saturated = false}));
    static_cast<void>(filter.erase(Digest{42}));
  }
  EXPECT_EQ(filter.estimate(Digest{42}), KeyCount{});
}

// In filters far too small, too: keys share counters, so that estimates are too large, never too small.
TEST_P(FrequencyFilterContract, an_estimate_is_never_too_small) {
  for (const std::uint64_t capacity : {std::uint64_t{1}, std::uint64_t{50}, std::uint64_t{1000}}) {
    auto filter = make(GetParam(), {.keys = capacity, .fpr = 0.1});
    const Hasher hash = filter.hasher();
    std::map<Digest, std::uint32_t> model;
    Random random(capacity);
    for (int i = 0; i < 6000; ++i) {
      const Digest digest = hash(random.below(700));
      std::uint32_t& count = model[digest];
      if (count > 0 && random.below(3) == 0) {
        const bool is_stuck = filter.estimate(digest).is_saturated;
        ASSERT_EQ(filter.erase(digest), is_stuck ? EraseResult::stuck : EraseResult::erased);
        count -= is_stuck ? 0U : 1U;
      } else {
        filter.insert(digest);
        ++count;
      }
      const KeyCount estimate = filter.estimate(digest);
      ASSERT_TRUE(estimate.value >= count || estimate.is_saturated) << estimate.value << " for " << count;
      ASSERT_EQ(estimate.value != 0, filter.may_contain(digest));
    }
    for (const auto& [digest, count] : model) {
      const KeyCount estimate = filter.estimate(digest);
      ASSERT_TRUE(estimate.value >= count || estimate.is_saturated) << estimate.value << " for " << count;
    }
  }
}

TEST_P(FrequencyFilterContract, estimates_are_exact_for_most_keys_at_capacity) {
  auto filter = make(GetParam(), {.keys = 3000, .fpr = 0.001});
  const auto digests = Random(3).digests(3000);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    for (std::size_t times = 0; times < 1 + i % 3; ++times) {
      filter.insert(digests[i]);
    }
  }
  std::size_t exact = 0;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    exact += filter.estimate(digests[i]).value == 1 + i % 3 ? 1U : 0U;
  }
  // A key is overestimated only where all of its counters are shared: at most as often as an absent key is found.
  EXPECT_GT(exact, 2960U);
}

TEST_P(FrequencyFilterContract, batches_agree_with_singles_at_every_size) {
  for (const std::uint64_t keys : {std::uint64_t{200}, keys_beyond_cache(GetParam(), 0.1)}) {
    auto filter = make(GetParam(), {.keys = keys, .fpr = 0.1});
    Random random(4);
    const auto known = random.digests(600);
    for (std::size_t times = 1; times <= 20; ++times) {
      filter.insert(std::span(known).first(known.size() / times));
    }
    for (std::size_t size = 0; size <= 600; ++size) {
      std::vector<Digest> asked;
      std::vector<KeyCount> expected;
      for (std::size_t i = 0; i < size; ++i) {
        asked.push_back(random.below(3) == 0 ? random.digest() : known[random.below(known.size())]);
        expected.push_back(filter.estimate(asked.back()));
      }
      ASSERT_EQ(estimate_batch(filter, asked), expected) << size << " keys";
    }
    // Longer than the window in which bytes become counts.
    const auto many = random.digests(10001);
    const auto counts = estimate_batch(filter, many);
    for (std::size_t i = 0; i < many.size(); ++i) {
      ASSERT_EQ(counts[i], filter.estimate(many[i]));
    }
  }
}

}  // namespace
}  // namespace mankai::test
