// Every kind with time: what passes when ticks pass, one by one or many at once, and decayed counts beside exact ones.

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/support/every_kind.hpp"

namespace mankai::test {
namespace {

std::vector<Example> shapes_with_time() {
  auto all = shapes([](const KindDescription& kind) { return kind.has_time; });
  std::erase_if(all, [](const Example& example) { return !create_filter(example.parsed).value().time(); });
  return all;
}
bool counts_decay(const KindDescription& kind) { return kind.counts_decay; }

std::string_view policy_of(const Example& example) { return option_of(example.parsed, "policy"); }

class TimeContract : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(every_kind, TimeContract, testing::ValuesIn(shapes_with_time()), test_name);

TEST_P(TimeContract, skipping_many_ticks_equals_taking_each) {
  for (const std::uint64_t ticks : {1U, 2U, 3U, 7U, 40U, 200U}) {
    auto skipping = make(GetParam(), {.keys = 300});
    auto stepping = make(GetParam(), {.keys = 300});
    for (int round = 0; round < 3; ++round) {
      insert_random(skipping, 1 + static_cast<std::uint64_t>(round) % 2, 200);
      insert_random(stepping, 1 + static_cast<std::uint64_t>(round) % 2, 200);
      const std::uint64_t now = skipping.tick().value;
      skipping.advance({now + ticks});
      for (std::uint64_t tick = 1; tick <= ticks; ++tick) {
        stepping.advance({now + tick});
      }
      ASSERT_EQ(skipping.to_bytes(), stepping.to_bytes()) << ticks << " ticks, round " << round;
    }
  }
}

TEST_P(TimeContract, an_earlier_tick_changes_nothing) {
  auto filter = make(GetParam(), {.keys = 300});
  filter.advance({1000});
  insert_random(filter, 1, 200);
  const auto before = filter.to_bytes();
  for (const std::uint64_t tick : {0U, 1U, 999U, 1000U}) {
    filter.advance({tick});
    ASSERT_EQ(filter.to_bytes(), before) << tick;
  }
  EXPECT_EQ(filter.tick(), Tick{1000});
}

TEST_P(TimeContract, a_key_is_found_in_its_own_tick_whatever_passed_before) {
  auto filter = make(GetParam(), {.keys = 300});
  Random random(2);
  for (std::uint64_t tick = 1; tick < 400; tick += 1 + random.below(5)) {
    filter.advance({tick});
    for (const Digest digest : random.digests(20)) {
      filter.insert(digest);
      ASSERT_TRUE(filter.may_contain(digest)) << tick;
    }
  }
}

// Where counts are rounded up a key never leaves.
TEST_P(TimeContract, everything_is_forgotten_in_the_end) {
  auto filter = make(GetParam(), {.keys = 300});
  const auto digests = Random(3).digests(300);
  filter.insert(std::span<const Digest>(digests));
  filter.advance({std::uint64_t{1} << 30U});
  const std::size_t left = policy_of(GetParam()) == "ceil" ? digests.size() : 0;
  for (const Digest digest : digests) {
    ASSERT_EQ(filter.may_contain(digest), left != 0);
  }
  insert_random(filter, 4, 10);
  filter.clear();
  EXPECT_EQ(filter.fill_ratio(), 0);
  EXPECT_EQ(filter.tick().value, std::uint64_t{1} << 30U) << "a cleared filter stays at its tick";
}

class DecayedCountsContract : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(every_kind, DecayedCountsContract, testing::ValuesIn(shapes(counts_decay)), test_name);

/// How often each key came, each time decayed to the present.
class ExactCounts {
 public:
  void insert(Digest digest) { counts_[digest] += 1; }
  void advance(double factor) {
    total_ticks_ += 1;
    for (auto& [digest, count] : counts_) {
      count *= factor;
    }
  }
  [[nodiscard]] const std::map<Digest, double>& counts() const noexcept { return counts_; }
  [[nodiscard]] double sum() const {
    double all = 0;
    for (const auto& [digest, count] : counts_) {
      all += count;
    }
    return all;
  }
  [[nodiscard]] double ticks() const noexcept { return total_ticks_; }

 private:
  std::map<Digest, double> counts_;
  double total_ticks_ = 0;
};

// A count loses less than one by rounding at each tick, unless it says that it is saturated, and has nobody's inserts
// but the keys'. Draws of stochastic rounding are bounded in the mean only (time_decaying_counts_test.cpp).
void expect_bounded(const Subject& filter, const ExactCounts& exact, bool is_drawn) {
  constexpr double kModelError = 1e-6;
  const double most = exact.sum() + exact.ticks() + 1;
  for (const auto& [digest, count] : exact.counts()) {
    const DecayedCount estimate = filter.decayed(digest);
    ASSERT_TRUE(is_drawn || estimate.is_saturated || estimate.raw + exact.ticks() >= count * (1 - kModelError))
        << estimate.raw << " for " << count << " after " << exact.ticks() << " ticks";
    ASSERT_TRUE(is_drawn || estimate.raw <= most) << estimate.raw << " of " << most;
    ASSERT_GE(estimate.raw, 0);
    ASSERT_NEAR(estimate.rate, (1 - filter.decay().lambda()) * estimate.raw, 1e-9 * (1 + estimate.raw));
  }
}

void insert_often(Subject& filter, ExactCounts& exact, Digest digest, std::size_t times) {
  const std::vector<Digest> often(times, digest);
  filter.insert(std::span<const Digest>(often));
  for (const Digest each : often) {
    exact.insert(each);
  }
}

// Goal: no sequence of inserts, ticks, images and batches makes a count wrong by more than its rounding.
TEST_P(DecayedCountsContract, counts_are_as_exact_as_their_rounding) {
  if (!option_of(GetParam().parsed, "window").empty()) {
    GTEST_SKIP() << "counts of a window do not decay (decayed_top_window_test.cpp)";
  }
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    auto filter = make(GetParam(), {.keys = seed % 2 == 0 ? 10U : 300U});
    ExactCounts exact;
    Random random(seed);
    const auto pool = random.digests(40);
    for (int step = 0; step < 300; ++step) {
      const Digest digest = pool[random.below(pool.size())];
      switch (random.below(8)) {
        case 0:
          filter.advance({filter.tick().value + 1});
          exact.advance(filter.decay().lambda());
          break;
        case 1: filter = filter.from_bytes(filter.to_bytes()).value(); break;
        case 2: insert_often(filter, exact, digest, 1 + random.below(30)); break;
        default:
          filter.insert(digest);
          exact.insert(digest);
          break;
      }
      if (step % 20 == 0) {
        expect_bounded(filter, exact, policy_of(GetParam()) == "stochastic");
      }
      ASSERT_FALSE(HasFatalFailure()) << "seed " << seed << ", step " << step;
    }
  }
}

TEST_P(DecayedCountsContract, batches_agree_with_singles_at_every_size) {
  for (const std::uint64_t keys : {std::uint64_t{200}, keys_beyond_cache(GetParam(), 0.1)}) {
    auto filter = make(GetParam(), {.keys = keys, .fpr = 0.1});
    Random random(4);
    const auto known = random.digests(600);
    for (std::size_t times = 1; times <= 20; ++times) {
      filter.insert(std::span<const Digest>(known).first(known.size() / times));
    }
    filter.advance({1});
    for (std::size_t size = 0; size <= 600; size += size < 100 ? 1 : 37) {
      std::vector<Digest> asked;
      std::vector<DecayedCount> expected;
      for (std::size_t i = 0; i < size; ++i) {
        asked.push_back(random.below(3) == 0 ? random.digest() : known[random.below(known.size())]);
        expected.push_back(filter.decayed(asked.back()));
      }
      std::vector<DecayedCount> counts(size);
      filter.decayed(asked, counts);
      ASSERT_EQ(counts, expected) << size << " keys";
    }
  }
}

}  // namespace
}  // namespace mankai::test
