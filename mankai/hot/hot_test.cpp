#include "mankai/hot/hot.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "mankai/hot/exact_decayed_counts.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Time kStart = Time(hours(24 * 365 * 46));
constexpr std::array<std::uint64_t, 2> kSeed = {7, 0};

class HotTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_.file("state.mk"); }
  // The state as a killed process leaves it: both files as they are now.
  [[nodiscard]] Result<Hot> reopened_copy(const HotRequest& request) {
    return Hot::open(folder_.copy_store(path(), "copy" + std::to_string(copies_++) + ".mk"), request);
  }

 private:
  test::TemporaryFolder folder_;
  int copies_ = 0;
};

struct Event {
  std::string key;
  Time at;
};

// Keys by Zipf's law, some seconds between two of them, and each tenth of them up to two hours late.
std::vector<Event> events(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<Event> events;
  Time now = kStart;
  for (std::size_t i = 0; i < count; ++i) {
    const double uniform = static_cast<double>(random() >> 11U) * 0x1p-53;
    const auto rank = static_cast<std::uint64_t>(std::exp(uniform * std::log(5000.0)));
    now += seconds(random() % 5);
    const Time at = random() % 10 == 0 ? now - seconds(random() % 7200) : now;
    events.push_back({.key = "/page/" + std::to_string(rank), .at = at});
  }
  return events;
}

Result<Hot> small_hot() { return Hot::create({.memory_bytes = std::uint64_t{64} << 10, .seed = kSeed}); }

void observe_all(Hot& hot, const std::vector<Event>& events) {
  for (const Event& event : events) {
    ASSERT_TRUE(hot.observe(event.key, event.at));
  }
}

void expect_same_top(const Hot& a, const Hot& b) {
  const auto first = a.top(100);
  const auto second = b.top(100);
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].key, second[i].key) << i;
    EXPECT_EQ(first[i].count, second[i].count) << i;
    EXPECT_EQ(first[i].last_seen, second[i].last_seen) << i;
  }
}

// Goal: counts are never too low and hardly too high, also of records that come late, and the top is the true one.
// Method: the exact sum beside it.
TEST_F(HotTest, counts_and_top_are_those_of_the_exact_model) {
  constexpr std::size_t kTop = 20;
  auto hot = small_hot();
  ASSERT_TRUE(hot.has_value());
  ExactDecayedCounts exact(hot->decay().lambda());
  for (const Event& event : events(60'000, 1)) {
    ASSERT_TRUE(hot->observe(event.key, event.at));
    exact.insert(event.key, tick_of(event.at, hot->decay().epoch));
  }
  const Tick now = hot->filter().tick();
  const auto truth = exact.top(kTop, now);
  const auto top = hot->top(kTop);
  ASSERT_EQ(top.size(), kTop);
  for (const Hot::Entry& entry : top) {
    const double count = exact.estimate(entry.key, now);
    EXPECT_GE(entry.count.raw, count - 1e-9) << entry.key;
    EXPECT_LE(entry.count.raw, count + 0.05 * count + 0.1) << entry.key;
    EXPECT_GE(count, 0.99 * truth.back().count) << entry.key;
    EXPECT_NEAR(entry.count.rate, (1 - hot->decay().lambda()) * entry.count.raw, 1e-9);
  }
  for (const auto& [key, count] : exact.top(exact.size(), now)) {
    EXPECT_GE(hot->estimate(key).raw, count - 1e-9) << key;
  }
}

TEST_F(HotTest, batches_agree_with_single_records) {
  const std::vector<Event> all = events(5000, 2);
  std::vector<std::string_view> keys;
  std::vector<Time> times;
  for (const Event& event : all) {
    keys.push_back(event.key);
    times.push_back(event.at);
  }
  auto single = small_hot();
  auto batched = small_hot();
  observe_all(*single, all);
  ASSERT_TRUE(batched->observe(keys, times));
  expect_same_top(*single, *batched);
  EXPECT_EQ(single->late_records(), batched->late_records());
  EXPECT_EQ(single->records_beyond_tolerance(), batched->records_beyond_tolerance());
  EXPECT_EQ(batched->records(), all.size());
  EXPECT_EQ(single->now(), batched->now());
}

TEST_F(HotTest, now_is_the_newest_record_or_a_later_moment) {
  auto hot = small_hot();
  EXPECT_EQ(hot->now(), Time());
  ASSERT_TRUE(hot->observe("a", kStart));
  EXPECT_EQ(hot->now(), kStart);
  ASSERT_TRUE(hot->observe("a", kStart - hours(1)));
  EXPECT_EQ(hot->newest(), kStart);
  EXPECT_NEAR(hot->estimate("a").raw, 1.5, 0.03);
  ASSERT_TRUE(hot->advance_to(kStart + hours(1)));
  EXPECT_EQ(hot->now(), kStart + hours(1));
  EXPECT_EQ(hot->newest(), kStart);
  EXPECT_NEAR(hot->estimate("a").raw, 0.75, 0.03);
  const DecayedCount before = hot->estimate("a");
  ASSERT_TRUE(hot->advance_to(kStart));
  EXPECT_EQ(hot->now(), kStart + hours(1));
  EXPECT_EQ(hot->estimate("a"), before);
}

TEST_F(HotTest, late_records_are_counted_and_told_apart_by_the_tolerance) {
  auto hot = Hot::create({.seed = kSeed, .late_tolerance = minutes(10)});
  ASSERT_TRUE(hot->observe("a", kStart));
  ASSERT_TRUE(hot->observe("a", kStart - seconds(1)));
  ASSERT_TRUE(hot->observe("a", kStart - minutes(10)));
  ASSERT_TRUE(hot->observe("a", kStart - minutes(11)));
  EXPECT_EQ(hot->records(), 4U);
  EXPECT_EQ(hot->records_beyond_tolerance(), 1U);
  EXPECT_GE(hot->late_records(), 2U);  // a second earlier may be the epoch before, or not
  EXPECT_LE(hot->late_records(), 3U);
  EXPECT_GT(hot->estimate("a").raw, 3.7);
}

TEST_F(HotTest, a_time_before_1970_counts_as_1970) {
  auto hot = Hot::create({.seed = kSeed});
  ASSERT_TRUE(hot->observe("a", kStart));
  ASSERT_TRUE(hot->observe("a", Time::min()));
  EXPECT_EQ(hot->records(), 2U);
  EXPECT_EQ(hot->records_beyond_tolerance(), 1U);
  EXPECT_EQ(hot->now(), kStart);
}

TEST_F(HotTest, records_of_the_far_future_are_left_out) {
  auto hot = Hot::create({.seed = kSeed, .latest = kStart + hours(24)});
  auto without = Hot::create({.seed = kSeed});
  const std::vector<std::string_view> keys = {"x", "a", "x", "b", "a", "x"};
  const Time far = kStart + hours(24 * 365 * 40);
  ASSERT_TRUE(hot->observe(
      keys, std::vector<Time>{far, kStart, far, kStart + hours(24), kStart, kStart + hours(24) + Duration(1)}));
  ASSERT_TRUE(without->observe(std::vector<std::string_view>{"a", "b", "a"},
                               std::vector<Time>{kStart, kStart + hours(24), kStart}));
  EXPECT_EQ(hot->records(), 3U);
  EXPECT_EQ(hot->records_in_future(), 3U);
  EXPECT_EQ(hot->now(), kStart + hours(24));
  expect_same_top(*hot, *without);
  hot->accept_until(far);
  ASSERT_TRUE(hot->observe("x", far));
  EXPECT_EQ(hot->records_in_future(), 3U);
  EXPECT_EQ(hot->now(), far);
}

TEST_F(HotTest, above_lists_what_came_so_often) {
  auto hot = small_hot();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(hot->observe("ten", kStart));
    if (i < 3) {
      ASSERT_TRUE(hot->observe("three", kStart));
    }
  }
  ASSERT_TRUE(hot->observe("one", kStart));
  const auto above = hot->above(3);
  ASSERT_EQ(above.size(), 2U);
  EXPECT_EQ(above[0].key, "ten");
  EXPECT_EQ(above[1].key, "three");
  EXPECT_EQ(hot->above(0).size(), 3U);
}

// Goal: stopping and going on leaves no trace. Method: two runs over halves beside one over all.
TEST_F(HotTest, a_state_carried_on_equals_one_run) {
  const std::vector<Event> all = events(20'000, 3);
  const HotRequest request{.memory_bytes = std::uint64_t{64} << 10, .seed = kSeed};
  auto whole = Hot::create(request);
  observe_all(*whole, all);
  const std::vector<Event> parts[] = {{all.begin(), all.begin() + 7001}, {all.begin() + 7001, all.end()}};
  for (const std::vector<Event>& part : parts) {
    auto hot = Hot::open(path(), request, {.durability = Durability::never});
    ASSERT_TRUE(hot.has_value()) << hot.error().message();
    observe_all(*hot, part);
    ASSERT_TRUE(hot->close().has_value());
  }
  auto carried = Hot::open(path());
  ASSERT_TRUE(carried.has_value()) << carried.error().message();
  expect_same_top(*whole, *carried);
  EXPECT_EQ(whole->records(), carried->records());
  EXPECT_EQ(whole->late_records(), carried->late_records());
  EXPECT_EQ(whole->newest(), carried->newest());
}

// Goal: what a killed process leaves counts each record of a batch that was committed once, and no other. Method:
// copies of both files while they are in use, before and after each commit, opened beside a memory that saw as much.
TEST_F(HotTest, a_killed_run_leaves_what_was_committed) {
  constexpr std::size_t kEach = 500;
  const HotRequest request{.memory_bytes = std::uint64_t{64} << 10, .seed = kSeed};
  const std::vector<Event> all = events(4 * kEach, 5);
  auto hot = Hot::open(path(), request);
  ASSERT_TRUE(hot.has_value()) << hot.error().message();
  auto model = Hot::create(request);
  for (std::size_t begin = 0; begin < all.size(); begin += kEach) {
    const std::vector<Event> part(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                  all.begin() + static_cast<std::ptrdiff_t>(begin + kEach));
    hot->begin(begin % (2 * kEach) == 0 ? BatchMode::journaled : BatchMode::in_memory);
    observe_all(*hot, part);
    const auto before = reopened_copy(request);
    expect_same_top(*before, *model);
    EXPECT_EQ(before->records(), begin);
    ASSERT_TRUE(hot->commit(std::to_string(begin + kEach)));
    observe_all(*model, part);
    const auto after = reopened_copy(request);
    expect_same_top(*after, *model);
    EXPECT_EQ(after->records(), begin + kEach);
    EXPECT_EQ(after->store()->position().view(), std::to_string(begin + kEach));
  }
}

TEST_F(HotTest, a_batch_that_was_given_up_leaves_one_file_without_it) {
  auto hot = Hot::open(path());
  ASSERT_TRUE(hot.has_value());
  ASSERT_TRUE(hot->observe("a", kStart));
  for (const BatchMode mode : {BatchMode::journaled, BatchMode::in_memory}) {
    hot->begin(mode);
    ASSERT_TRUE(hot->observe("b", kStart));
    ASSERT_TRUE(hot->close());
    EXPECT_FALSE(fs::exists(path() + "-journal"));
    hot = Hot::open(path());
    ASSERT_TRUE(hot.has_value());
    EXPECT_TRUE(hot->store()->recovery().was_closed);
    ASSERT_EQ(hot->top(2).size(), 1U);
    EXPECT_EQ(hot->top(2)[0].key, "a");
  }
}

TEST_F(HotTest, a_state_made_for_another_request_is_refused) {
  const auto day = Decay::of_half_life(hours(24));
  const HotRequest request{.decay = *day, .memory_bytes = 100'000, .hash = HashKind::siphash, .seed = kSeed};
  ASSERT_TRUE(Hot::open(path(), request).has_value());
  EXPECT_TRUE(Hot::open(path(), request).has_value());
  EXPECT_TRUE(Hot::open(path()).has_value());
  for (const HotRequest& other :
       {HotRequest{.decay = *Decay::of_half_life(hours(1))}, HotRequest{.memory_bytes = 200'000},
        HotRequest{.hash = HashKind::xxh3}, HotRequest{.seed = std::array<std::uint64_t, 2>{1, 2}}}) {
    const auto refused = Hot::open(path(), other);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(refused.error().message().find("was created with"), std::string::npos) << refused.error().message();
  }
}

TEST_F(HotTest, two_at_a_time_are_refused_and_the_lock_outlives_a_commit) {
  auto first = Hot::open(path());
  ASSERT_TRUE(first.has_value());
  for (int i = 0; i < 2; ++i) {
    const auto second = Hot::open(path());
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().code, ErrorCode::locked);
    first->begin(BatchMode::in_memory);
    ASSERT_TRUE(first->observe("a", kStart));
    ASSERT_TRUE(first->commit());
  }
  ASSERT_TRUE(first->close());
  EXPECT_TRUE(Hot::open(path()).has_value());
}

TEST_F(HotTest, impossible_requests_leave_no_file) {
  EXPECT_FALSE(Hot::open(path(), {.memory_bytes = 10}).has_value());
  EXPECT_FALSE(fs::exists(path()));
  EXPECT_FALSE(Hot::create({.memory_bytes = 0}).has_value());
  const HotRequest both{.decay = Decay::of_half_life(std::chrono::hours(1)).value(), .window = std::chrono::hours(8)};
  EXPECT_EQ(Hot::create(both).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(Hot::open(path(), both).error().code, ErrorCode::invalid_argument);
  EXPECT_FALSE(fs::exists(path()));
  EXPECT_FALSE(Hot::create({.hash = HashKind::xxh3, .seed = std::array<std::uint64_t, 2>{7, 8}}).has_value());
}

}  // namespace
}  // namespace mankai
