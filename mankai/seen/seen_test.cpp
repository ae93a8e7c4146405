#include "mankai/seen/seen.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "mankai/filter/bloom/bloom.hpp"
#include "mankai/filter/rotating_bloom/rotating_bloom.hpp"
#include "tests/support/random.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai {
namespace {

namespace fs = std::filesystem;
using test::Random;

class SeenTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_.file("state.mk"); }
  // Copies both files as a process crash would leave them now.
  [[nodiscard]] Result<Seen> reopened_copy() {
    return Seen::open(folder_.copy_store(path(), "copy" + std::to_string(copies_++) + ".mk"));
  }

 private:
  test::TemporaryFolder folder_;
  int copies_ = 0;
};

bool observe(Seen& memory, std::string_view key) {
  bool seen = false;
  EXPECT_TRUE(memory.observe(key, seen));
  return seen;
}

std::string url(std::uint64_t i) { return "https://example.org/page/" + std::to_string(i * 2654435761U % 7001); }

// Goal: every repeat is reported and few new keys are, alone and in batches. Method: compare with an exact set.
TEST_F(SeenTest, repeats_are_always_recognized_and_batches_agree) {
  auto single = Seen::create({.keys = 7001, .fpr = 0.01, .seed = std::array<std::uint64_t, 2>{1, 0}});
  auto batched = Seen::create({.keys = 7001, .fpr = 0.01, .seed = std::array<std::uint64_t, 2>{1, 0}});
  std::unordered_set<std::string> exact;
  std::vector<std::string> storage;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    storage.push_back(url(i));
  }
  const std::vector<std::string_view> keys(storage.begin(), storage.end());
  const auto outcomes = std::make_unique<bool[]>(keys.size());
  ASSERT_TRUE(batched->observe(keys, {outcomes.get(), keys.size()}));
  std::size_t lost = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const bool repeat = !exact.insert(storage[i]).second;
    const bool seen = observe(*single, keys[i]);
    ASSERT_EQ(seen, outcomes[i]) << i;
    ASSERT_TRUE(seen || !repeat) << "a repeat passed as new";
    lost += static_cast<std::size_t>(seen && !repeat);
  }
  EXPECT_EQ(single->keys_inserted(), exact.size() - lost);
  // At most 1 % of 7001 at the end, less before; 5 sigma of a binomial of mean 70 is 42.
  EXPECT_LE(lost, 112U);
}

TEST_F(SeenTest, a_state_file_remembers_between_runs) {
  {
    auto first = Seen::open(path(), {.keys = 1000});
    ASSERT_TRUE(first.has_value()) << first.error().message();
    EXPECT_FALSE(observe(*first, "a"));
    ASSERT_TRUE(first->close().has_value());
  }
  {
    auto second = Seen::open(path());
    ASSERT_TRUE(second.has_value()) << second.error().message();
    EXPECT_TRUE(second->store()->recovery().was_closed);
    EXPECT_TRUE(observe(*second, "a"));
    EXPECT_FALSE(observe(*second, "b"));
    EXPECT_EQ(second->capacity_keys(), 1000U);
  }
  auto third = Seen::open(path());
  EXPECT_TRUE(observe(*third, "b"));
}

TEST_F(SeenTest, a_memory_without_a_file_takes_every_call) {
  auto memory = Seen::create({.keys = 1000});
  memory->begin();
  EXPECT_FALSE(observe(*memory, "a"));
  EXPECT_TRUE(memory->commit("a position"));
  EXPECT_TRUE(observe(*memory, "a"));
  EXPECT_TRUE(memory->close());
  EXPECT_EQ(memory->store(), nullptr);
}

// Goal: uncommitted and discarded keys are not remembered after a process crash at any time. Method:
// copies of both files while they are in use.
TEST_F(SeenTest, only_what_was_committed_is_remembered) {
  auto memory = Seen::open(path(), {.keys = 1000});
  ASSERT_TRUE(memory.has_value());
  const std::vector<std::string> urls = {url(1), url(2), url(3)};
  for (std::size_t i = 0; i < urls.size(); ++i) {
    memory->begin();
    EXPECT_FALSE(observe(*memory, urls[i]));
    EXPECT_TRUE(observe(*memory, urls[i]));
    auto uncommitted = reopened_copy();
    EXPECT_FALSE(observe(*uncommitted, urls[i])) << i;
    ASSERT_TRUE(memory->commit());
    auto killed = reopened_copy();
    for (std::size_t before = 0; before <= i; ++before) {
      EXPECT_TRUE(observe(*killed, urls[before])) << before;
    }
    EXPECT_FALSE(killed->store()->recovery().was_closed);
    EXPECT_EQ(killed->store()->recovery().changes_replayed, 2 * (i + 1));
  }
  memory->begin();
  EXPECT_FALSE(observe(*memory, "given up"));
  ASSERT_TRUE(memory->close());
  EXPECT_FALSE(fs::exists(path() + "-journal"));
  auto again = Seen::open(path());
  EXPECT_TRUE(again->store()->recovery().was_closed);
  EXPECT_TRUE(observe(*again, urls[2]));
  EXPECT_FALSE(observe(*again, "given up"));
}

TEST_F(SeenTest, a_journal_without_its_file_is_not_taken_for_a_new_one) {
  {
    auto memory = Seen::open(path(), {.keys = 1000});
    EXPECT_FALSE(observe(*memory, "a"));
    fs::copy_file(path() + "-journal", path() + ".saved");
  }
  fs::remove(path());
  fs::copy_file(path() + ".saved", path() + "-journal");
  const auto refused = Seen::open(path(), {.keys = 1000});
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message().find(path() + "-journal"), std::string::npos) << refused.error().message();
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(SeenTest, a_state_made_for_another_request_is_refused) {
  {
    ASSERT_TRUE(Seen::open(path(), {.keys = 1000, .fpr = 0.01}).has_value());
  }
  EXPECT_TRUE(Seen::open(path(), {.keys = 1000}).has_value());
  for (const SeenRequest& other : {SeenRequest{.keys = 2000}, SeenRequest{.fpr = 0.02},
                                   SeenRequest{.kind = Kind{Bloom::kKind}}, SeenRequest{.hash = HashKind::siphash}}) {
    const auto refused = Seen::open(path(), other);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(refused.error().message().find("keys=1000"), std::string::npos) << refused.error().message();
  }
}

TEST_F(SeenTest, two_at_a_time_are_refused) {
  const auto first = Seen::open(path());
  ASSERT_TRUE(first.has_value());
  const auto second = Seen::open(path());
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::locked);
}

TEST_F(SeenTest, the_lock_outlives_a_commit_and_ends_with_the_memory) {
  auto first = Seen::open(path());
  ASSERT_TRUE(first.has_value());
  for (int i = 0; i < 3; ++i) {
    first->begin(BatchMode::in_memory);
    EXPECT_FALSE(observe(*first, url(static_cast<std::uint64_t>(i))));
    ASSERT_TRUE(first->commit().has_value());
    const auto second = Seen::open(path());
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().code, ErrorCode::locked);
  }
  ASSERT_TRUE(first->close());
  EXPECT_TRUE(Seen::open(path()).has_value());
}

TEST_F(SeenTest, impossible_requests_leave_no_file) {
  EXPECT_FALSE(Seen::open(path(), {.keys = 0}).has_value());
  EXPECT_FALSE(Seen::open(path(), {.fpr = 1.5}).has_value());
  EXPECT_FALSE(fs::exists(path()));
}

constexpr Duration kWindow = std::chrono::hours(7 * 24);
constexpr std::array<std::uint64_t, 2> kSeed = {7, 0};

Time at_hour(std::int64_t hour) { return Time(std::chrono::hours(400'000 + hour)); }

// Goal: within the window after a key was new it is a repeat; after forgets_after() it is new again. Method:
// an exact model of when each key was new last, under random steps of time; in memory, in batches and in a file that is
// reopened sometimes.
TEST_F(SeenTest, a_window_is_kept_and_then_forgotten) {
  const SeenRequest request{.keys = 20'000, .fpr = 1e-6, .seed = kSeed, .window = kWindow};
  auto memory = Seen::create(request);
  auto file = Seen::open(path(), request);
  ASSERT_EQ(memory->window(), kWindow);
  ASSERT_EQ(memory->forgets_after(), kWindow / 3 * 4);
  std::unordered_map<std::string, Time> new_at;
  Random random(5);
  std::int64_t hour = 0;
  std::uint64_t new_again = 0;
  for (int batch = 0; batch < 400; ++batch) {
    std::vector<std::string> keys;
    std::vector<Time> times;
    for (std::uint64_t count = random.below(40); count > 0; --count) {
      hour += random.below(8) == 0 ? static_cast<std::int64_t>(random.below(12)) : 0;
      keys.push_back(url(random.below(300)));
      times.push_back(at_hour(hour));
    }
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    const auto seen = std::make_unique<bool[]>(keys.size() + 1);
    const auto in_file = std::make_unique<bool[]>(keys.size() + 1);
    ASSERT_TRUE(memory->observe(views, times, {seen.get(), keys.size()}));
    ASSERT_TRUE(file->observe(views, times, {in_file.get(), keys.size()}));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(seen[i], in_file[i]);
      const auto before = new_at.find(keys[i]);
      const bool is_known = before != new_at.end();
      ASSERT_TRUE(is_known || !seen[i]) << "one in 1e6";
      if (is_known && times[i] - before->second <= kWindow) {
        ASSERT_TRUE(seen[i]) << "forgotten within the window";
      }
      if (is_known && times[i] - before->second >= *memory->forgets_after()) {
        ASSERT_FALSE(seen[i]) << "not forgotten";
        ++new_again;
      }
      if (!seen[i]) {
        new_at[keys[i]] = times[i];
      }
    }
    if (batch % 50 == 0) {
      ASSERT_TRUE(file->close());
      file = Seen::open(path());
      ASSERT_TRUE(file.has_value()) << file.error().message();
    }
  }
  EXPECT_GT(new_again, 100U);
}

TEST_F(SeenTest, a_repeat_does_not_make_the_window_longer) {
  auto memory = Seen::create({.keys = 1000, .seed = kSeed, .window = kWindow});
  const std::string_view key = "http://a.example/";
  std::vector<std::int64_t> new_at;
  for (std::int64_t hour = 0; hour < std::int64_t{24} * 30; hour += 12) {
    const Time time = at_hour(hour);
    bool seen = false;
    ASSERT_TRUE(memory->observe({&key, 1}, {&time, 1}, {&seen, 1}));
    if (!seen) {
      new_at.push_back(hour);
    }
  }
  ASSERT_GE(new_at.size(), 3U);
  for (std::size_t i = 1; i < new_at.size(); ++i) {
    EXPECT_GE(new_at[i] - new_at[i - 1], 24 * 7);
    EXPECT_LE(new_at[i] - new_at[i - 1], 24 * 7 * 4 / 3 + 12);
  }
}

TEST_F(SeenTest, spellings_of_a_url_within_a_batch_are_one_under_a_window) {
  auto memory = Seen::create({.keys = 1000, .seed = kSeed, .canonical = true, .window = kWindow});
  const std::array<std::string_view, 3> keys = {"http://A.example", "http://a.example/", "http://b.example/"};
  const std::array<Time, 3> times = {at_hour(0), at_hour(0), at_hour(0)};
  std::array<bool, 3> seen{};
  ASSERT_TRUE(memory->observe(keys, times, seen));
  EXPECT_EQ(seen, (std::array<bool, 3>{false, true, false}));
}

TEST_F(SeenTest, keys_that_come_late_come_at_the_latest_time) {
  auto memory = Seen::create({.keys = 1000, .seed = kSeed, .window = kWindow});
  const std::array<std::string_view, 3> keys = {"new", "late", "late"};
  const std::array<Time, 3> times = {at_hour(1000), at_hour(0), Time()};
  std::array<bool, 3> seen{};
  ASSERT_TRUE(memory->observe(keys, times, seen));
  EXPECT_EQ(seen, (std::array<bool, 3>{false, false, true}));
  EXPECT_LE(memory->time(), at_hour(1000));
  const Time later = at_hour(1000) + kWindow;
  bool is_late_seen = false;
  ASSERT_TRUE(memory->observe({&keys[1], 1}, {&later, 1}, {&is_late_seen, 1}));
  EXPECT_TRUE(is_late_seen);
}

TEST_F(SeenTest, windows_and_memories_without_one_are_kept_apart) {
  auto lately = Seen::open(path(), {.keys = 1000, .window = kWindow});
  ASSERT_TRUE(lately.has_value()) << lately.error().message();
  bool seen = false;
  EXPECT_EQ(lately->observe("a", seen).error().code, ErrorCode::invalid_argument);
  ASSERT_TRUE(lately->close());
  EXPECT_TRUE(Seen::open(path(), {.window = kWindow}).has_value());
  EXPECT_EQ(Seen::open(path())->window(), kWindow);
  EXPECT_EQ(Seen::open(path(), {.window = kWindow * 2}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(Seen::create({.kind = Kind{Bloom::kKind}, .window = kWindow}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(Seen::create({.kind = Kind{RotatingBloom::kKind}}).error().code, ErrorCode::invalid_argument);
  // A window that three equal parts cannot make is kept slightly longer, and still matches the request.
  const std::string odd = path() + "-odd";
  ASSERT_TRUE(Seen::open(odd, {.keys = 1000, .window = Duration(1'000'001)})->close());
  EXPECT_EQ(Seen::open(odd, {.window = Duration(1'000'001)})->window(), Duration(1'000'002));

  auto forever = Seen::create({.keys = 1000});
  const std::string_view key = "a";
  const Time time = at_hour(0);
  EXPECT_EQ(forever->observe({&key, 1}, {&time, 1}, {&seen, 1}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(forever->window(), std::nullopt);
  EXPECT_EQ(forever->time(), std::nullopt);
}

TEST_F(SeenTest, processes_share_a_memory) {
  const SeenRequest request{.keys = 1000, .sharing = Sharing::processes};
  {
    Seen one = Seen::open(path(), request).value();
    Seen other = Seen::open(path(), request).value();
    EXPECT_FALSE(observe(one, "a"));
    EXPECT_TRUE(observe(other, "a"));
    EXPECT_FALSE(observe(other, "b"));
    EXPECT_EQ(one.keys_inserted(), 2U);
    EXPECT_EQ(one.sequence(), 3U);
    EXPECT_EQ(one.store(), nullptr);
    ASSERT_TRUE(one.sync().has_value());
    EXPECT_EQ(other.durable_sequence(), 3U);
    one.begin();
    EXPECT_TRUE(one.commit().has_value());
    EXPECT_EQ(one.commit("a position").error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(Seen::open(path(), {.keys = 2000, .sharing = Sharing::processes}).error().code,
              ErrorCode::invalid_argument);
    EXPECT_EQ(Seen::open(path()).error().code, ErrorCode::locked);
  }
  Seen alone = Seen::open(path(), {.keys = 1000}).value();
  EXPECT_TRUE(observe(alone, "a"));
  EXPECT_EQ(alone.sequence(), 4U);
  ASSERT_TRUE(alone.sync().has_value());
  EXPECT_EQ(alone.durable_sequence(), 4U);
}

TEST_F(SeenTest, processes_share_only_memories_of_bits_in_files) {
  EXPECT_EQ(Seen::create({.sharing = Sharing::processes}).error().code, ErrorCode::invalid_argument);
  for (const SeenRequest& request :
       {SeenRequest{.window = std::chrono::hours(1), .sharing = Sharing::processes},
        SeenRequest{.kind = parse_kind("scalable-bloom").value(), .sharing = Sharing::processes}}) {
    const auto refused = Seen::open(path(), request);
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().detail.find("supported by: blocked-bloom, bloom"), std::string::npos);
    EXPECT_FALSE(fs::exists(path()));
  }
}

}  // namespace
}  // namespace mankai
