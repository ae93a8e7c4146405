// rotating-bloom beside an exact set of when each key came last: what came within the window is found, what came before
// all generations is forgotten, and the rate of false positives over all generations is the formula's.

#include "mankai/filter/rotating_bloom/rotating_bloom.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <span>
#include <vector>

#include "tests/support/filter_request.hpp"
#include "tests/support/outcomes.hpp"

namespace mankai::test {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

RotatingBloom make_rotating(RotatingBloom::Options options) {
  options.hash = kXxh3;
  return RotatingBloom::create(options).value();
}

TEST(RotatingBloom, the_epoch_is_the_window_over_all_generations_but_one) {
  for (const std::uint32_t generations : {2U, 3U, 4U, 8U, 64U}) {
    for (const Duration window : {Duration(1), Duration(10), Duration(seconds(100)), Duration(hours(168))}) {
      const auto filter = make_rotating({.keys = 1000, .window = window, .generations = generations});
      EXPECT_GE(filter.window(), window);
      EXPECT_LT(filter.window(), window + Duration(generations));
      EXPECT_EQ(filter.epoch() * (generations - 1), filter.window());
      EXPECT_EQ(filter.generations(), generations);
    }
  }
}

// When each key came last, as time and tick.
class Model {
 public:
  Model(RotatingBloom& filter, std::uint64_t seed) : filter_(&filter), random_(seed) {}

  void run(int steps) {
    for (int step = 0; step < steps; ++step) {
      move_on();
      bring();
      if (step % 20 == 0) {
        check();
      }
      if (testing::Test::HasFatalFailure()) {
        return;
      }
    }
  }

 private:
  void move_on() {
    const auto epoch = static_cast<std::uint64_t>(filter_->epoch().count());
    const std::uint64_t most = random_.below(20) == 0 ? 3 * epoch * filter_->generations() : epoch / 4;
    now_ += Duration(static_cast<std::int64_t>(random_.below(most + 1)));
    // Also backwards, which must change nothing.
    filter_->advance(tick_of(random_.below(10) == 0 ? now_ - filter_->epoch() : now_, filter_->epoch()));
    filter_->advance(tick_of(now_, filter_->epoch()));
  }
  void bring() {
    std::vector<Digest> digests;
    for (std::uint64_t i = 0; i < random_.below(40); ++i) {
      digests.push_back({(random_.below(3000) + 1) * probes::kRemix});
      last_[digests.back().value] = now_;
    }
    if (random_.below(2) == 0) {
      filter_->insert(std::span<const Digest>(digests));
    } else {
      for (const Digest digest : digests) {
        filter_->insert(digest);
      }
    }
  }
  void check() {
    const Duration longest = filter_->epoch() * filter_->generations();
    std::size_t forgotten = 0;
    std::size_t still_found = 0;
    for (const auto& [digest, when] : last_) {
      const bool found = filter_->may_contain(Digest{digest});
      if (now_ - when <= filter_->window()) {
        ASSERT_TRUE(found) << (now_ - when).count() << " after, within a window of " << filter_->window().count();
      } else if (now_ - when >= longest) {
        ++forgotten;
        still_found += static_cast<std::size_t>(found);
      }
    }
    // Those found still are false positives, with a rate far below 1e-3: none among so few.
    ASSERT_EQ(still_found, 0U) << "of " << forgotten;
  }

  RotatingBloom* filter_;
  Random random_;
  Time now_{Duration(hours(400000))};
  std::map<std::uint64_t, Time> last_;
};

TEST(RotatingBloom, a_key_is_found_within_the_window_and_forgotten_after_the_last_generation) {
  for (const std::uint32_t generations : {2U, 3U, 4U, 7U}) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      auto filter = make_rotating({.keys = 20000, .fpr = 1e-9, .window = seconds(1000), .generations = generations});
      Model(filter, seed).run(600);
    }
  }
}

// Sizes around the kernels' windows of 32 and 128 keys and our own of 1024, digests and integers, in a filter of all
// ages.
TEST(RotatingBloom, batches_agree_with_single_calls) {
  for (const HashSpec& spec : {kXxh3, kNhSiphash, kSiphash}) {
    auto batch = RotatingBloom::create({.keys = 6000, .fpr = 0.1, .window = seconds(90), .hash = spec}).value();
    auto singles = batch.create_like().value();
    const Hasher hash = batch.hasher();
    Random random(8);
    std::uint64_t tick = 0;
    for (const std::size_t size : {0U, 1U, 31U, 33U, 127U, 129U, 600U, 1023U, 1024U, 1025U, 3000U}) {
      batch.advance(Tick{++tick});
      singles.advance(Tick{tick});
      std::vector<std::uint64_t> integers;
      std::vector<Digest> digests;
      for (std::size_t i = 0; i < size; ++i) {
        integers.push_back(random.below(4000));
        digests.push_back(hash(integers.back()));
      }
      Outcomes seen(size);
      batch.observe(digests, seen.span());
      for (std::size_t i = 0; i < size; ++i) {
        ASSERT_EQ(seen.span()[i], singles.observe(digests[i])) << i << " of " << size;
      }
      Outcomes by_digest(size);
      Outcomes by_integer(size);
      for (std::uint64_t& integer : integers) {
        integer += 2000;
      }
      batch.may_contain(std::span<const std::uint64_t>(integers), by_integer.span());
      hash(std::span<const std::uint64_t>(integers), std::span(digests));
      batch.may_contain(std::span<const Digest>(digests), by_digest.span());
      for (std::size_t i = 0; i < size; ++i) {
        ASSERT_EQ(by_integer.span()[i], singles.may_contain(digests[i])) << i << " of " << size;
        ASSERT_EQ(by_digest.span()[i], singles.may_contain(digests[i])) << i << " of " << size;
      }
      batch.insert(std::span<const std::uint64_t>(integers));
      for (const Digest digest : digests) {
        singles.insert(digest);
      }
      ASSERT_EQ(batch.to_bytes(), singles.to_bytes()) << size;
    }
  }
}

TEST(RotatingBloom, coming_again_refreshes) {
  auto filter = make_rotating({.keys = 100, .fpr = 1e-9, .window = seconds(90)});
  const Digest digest{0x123456789abcdefU};
  EXPECT_FALSE(filter.observe(digest));
  for (std::uint64_t tick = 1; tick < 50; ++tick) {
    filter.advance(Tick{3 * tick});
    EXPECT_TRUE(filter.observe(digest)) << tick;
  }
  filter.advance(Tick{3 * 49 + 3});
  EXPECT_TRUE(filter.may_contain(digest));
  filter.advance(Tick{3 * 49 + 4});
  EXPECT_FALSE(filter.may_contain(digest));
}

TEST(RotatingBloom, skipped_ticks_equal_single_ones) {
  for (const std::uint64_t more : {1U, 2U, 3U, 4U, 5U, 100U}) {
    auto skipping = make_rotating({.keys = 1000, .window = seconds(90)});
    for (std::uint64_t tick = 0; tick < 6; ++tick) {
      skipping.advance(Tick{tick});
      insert_random(skipping, tick, 200);
    }
    auto stepping = RotatingBloom::from_bytes(skipping.to_bytes()).value();
    skipping.advance(Tick{5 + more});
    for (std::uint64_t tick = 6; tick <= 5 + more; ++tick) {
      stepping.advance(Tick{tick});
    }
    EXPECT_EQ(skipping.to_bytes(), stepping.to_bytes()) << more;
  }
}

void expect_the_rate_of_the_formula(const RotatingBloom::Options& options) {
  constexpr std::size_t kAbsentKeys = 400000;
  constexpr double kSigmas = 6;
  auto filter = make_rotating(options);
  EXPECT_LE(filter.fpr_expected(options.keys), options.fpr);
  Random random(options.keys + options.generations);
  for (std::uint64_t tick = 0; tick < options.generations; ++tick) {
    filter.advance(Tick{tick});
    const auto digests = random.digests(filter.epoch_capacity_keys());
    filter.insert(std::span<const Digest>(digests));
  }
  const double total = static_cast<double>(filter.epoch_capacity_keys() * options.generations);
  EXPECT_NEAR(filter.keys_estimate(), total, 0.02 * total);
  const auto absent_keys = random.digests(kAbsentKeys);
  Outcomes outcomes(kAbsentKeys);
  filter.may_contain(std::span<const Digest>(absent_keys), outcomes.span());
  const double estimate = filter.fpr_estimate();
  EXPECT_NEAR(static_cast<double>(outcomes.yes()) / kAbsentKeys, estimate,
              kSigmas * std::sqrt(estimate * (1 - estimate) / kAbsentKeys));
  EXPECT_NEAR(estimate, options.fpr, 0.1 * options.fpr)
      << options.generations << " generations, " << options.keys << " keys";
}

// Goal: full generations have the promised rate together. Method: keys spread evenly over g ticks, absent keys; six
// standard deviations of a binomial at the filter's own estimate, and that estimate within a tenth of the target: the
// fill of 4000 keys and more wobbles far less.
TEST(RotatingBloom, the_rate_over_all_generations_is_the_formulas) {
  for (const std::uint32_t generations : {2U, 4U, 8U}) {
    for (const double fpr : {0.05, 0.01}) {
      for (const std::uint64_t keys : {std::uint64_t{30000}, std::uint64_t{200000}}) {
        expect_the_rate_of_the_formula({.keys = keys, .fpr = fpr, .window = seconds(100), .generations = generations});
      }
    }
  }
}

void expect_a_merge_is_the_union(std::uint64_t ahead, bool is_mine_ahead) {
  auto early = make_rotating({.keys = 2000, .window = seconds(90)});
  auto late = early.create_like().value();
  auto both = early.create_like().value();
  Random random(ahead);
  for (std::uint64_t tick = 0; tick < 30; ++tick) {
    both.advance(Tick{tick});
    if (tick < 20) {
      early.advance(Tick{tick});
      const auto digests = random.digests(50);
      early.insert(std::span<const Digest>(digests));
      both.insert(std::span<const Digest>(digests));
    }
    if (tick < 20 + ahead) {
      late.advance(Tick{tick});
      const auto digests = random.digests(70);
      late.insert(std::span<const Digest>(digests));
      both.insert(std::span<const Digest>(digests));
    }
    if (tick + 1 == 20 + ahead) {
      break;
    }
  }
  auto& mine = is_mine_ahead ? late : early;
  auto& theirs = is_mine_ahead ? early : late;
  const auto before = theirs.to_bytes();
  ASSERT_TRUE(mine.merge(theirs).has_value());
  EXPECT_EQ(theirs.to_bytes(), before);
  EXPECT_EQ(mine.tick(), both.tick());
  EXPECT_EQ(mine.keys_inserted(), both.keys_inserted());
  const auto cells = [](const RotatingBloom& filter) {
    const auto bytes = filter.to_bytes();
    const auto start = bytes.begin() + sizeof(ImageHeader);
    return std::vector<std::byte>(start, start + static_cast<std::ptrdiff_t>(filter.cells_bytes()));
  };
  EXPECT_EQ(cells(mine), cells(both)) << ahead << " ahead";
}

TEST(RotatingBloom, merging_is_the_union_at_the_later_tick) {
  for (const std::uint64_t ahead : {0U, 1U, 2U, 3U, 4U, 9U}) {
    for (const bool is_mine_ahead : {false, true}) {
      expect_a_merge_is_the_union(ahead, is_mine_ahead);
    }
  }
}

// Generations of ticks that have not been are no one's: only images from outside can have cells in them.
TEST(RotatingBloom, filters_at_the_first_ticks_merge) {
  auto first = make_rotating({.keys = 100, .fpr = 1e-9, .window = seconds(90)});
  auto second = first.create_like().value();
  second.insert(Digest{77});
  second.advance(Tick{1});
  ASSERT_TRUE(first.merge(second).has_value());
  EXPECT_EQ(first.to_bytes(), second.to_bytes());
  first.advance(Tick{4});
  EXPECT_FALSE(first.may_contain(Digest{77}));
}

TEST(RotatingBloom, filters_that_do_not_fit_are_not_merged) {
  auto filter = make_rotating({.keys = 1000, .window = seconds(90)});
  EXPECT_FALSE(filter.merge(make_rotating({.keys = 100000, .window = seconds(90)})).has_value());
  EXPECT_FALSE(filter.merge(make_rotating({.keys = 1000, .window = seconds(60)})).has_value());
  EXPECT_FALSE(
      filter.merge(RotatingBloom::create({.keys = 1000, .window = seconds(90), .hash = kSiphash}).value()).has_value());
}

TEST(RotatingBloom, is_full_by_the_share_of_this_epoch) {
  auto filter = make_rotating({.keys = 3000, .window = seconds(90)});
  EXPECT_EQ(filter.epoch_capacity_keys(), 1000U);
  insert_random(filter, 1, 900);
  EXPECT_FALSE(filter.is_full());
  insert_random(filter, 1, 900);
  EXPECT_FALSE(filter.is_full()) << "none of them was new";
  EXPECT_EQ(filter.keys_inserted(), 1800U);
  insert_random(filter, 2, 300);
  EXPECT_TRUE(filter.is_full());
  filter.advance(Tick{1});
  EXPECT_FALSE(filter.is_full());
  EXPECT_EQ(filter.keys_of_epoch(), 0U);
}

TEST(RotatingBloom, clear_forgets_all_but_the_time) {
  auto filter = make_rotating({.keys = 100, .window = seconds(90)});
  filter.advance(Tick{6});
  insert_random(filter, 1, 100);
  filter.clear();
  EXPECT_EQ(filter.tick(), Tick{6});
  EXPECT_EQ(filter.fill_ratio(), 0);
  auto expected = filter.create_like().value();
  expected.advance(Tick{6});
  EXPECT_EQ(filter.to_bytes(), expected.to_bytes());
  insert_random(filter, 1, 100);
  insert_random(expected, 1, 100);
  EXPECT_EQ(filter.to_bytes(), expected.to_bytes());
}

TEST(RotatingBloom, bits_a_key_are_what_its_header_says) {
  const auto filter = make_rotating({.keys = 1000000, .window = seconds(90)});
  EXPECT_NEAR(static_cast<double>(filter.cells_bytes()) * 8 / 1e6, 17.7, 0.1);
}

TEST(RotatingBloom, time_has_an_end) {
  auto filter = make_rotating({.keys = 100, .window = Duration(1), .generations = 2});
  filter.insert(Digest{1});
  filter.advance(Tick{~std::uint64_t{0}});
  EXPECT_EQ(filter.tick(), Tick{kMaxTick});
  EXPECT_FALSE(filter.may_contain(Digest{1}));
  EXPECT_TRUE(RotatingBloom::from_bytes(filter.to_bytes()).has_value());
}

TEST(RotatingBloom, impossible_requests_say_what_to_do) {
  const auto refused = [](const RotatingBloom::Options& options) {
    const auto made = RotatingBloom::create(options);
    return !made.has_value() && made.error().code == ErrorCode::invalid_argument && !made.error().detail.empty();
  };
  EXPECT_TRUE(refused({.keys = 100})) << "no window";
  EXPECT_TRUE(refused({.keys = 0, .window = seconds(1)}));
  EXPECT_TRUE(refused({.keys = 100, .fpr = 0, .window = seconds(1)}));
  EXPECT_TRUE(refused({.keys = 100, .fpr = 1, .window = seconds(1)}));
  EXPECT_TRUE(refused({.keys = 100, .window = seconds(1), .generations = 1}));
  EXPECT_TRUE(refused({.keys = 100, .window = seconds(1), .generations = 65}));
  EXPECT_TRUE(refused({.keys = 100, .window = seconds(-1)}));
}

}  // namespace
}  // namespace mankai::test
