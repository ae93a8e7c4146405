#include "mankai/service/seen.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

namespace mankai {
namespace {

namespace fs = std::filesystem;

class SeenTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "mankai-seen-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string path() const { return (folder_ / "state.mk").string(); }

 private:
  fs::path folder_;
};

std::string url(std::uint64_t i) { return "https://example.org/page/" + std::to_string(i * 2654435761U % 7001); }

// Goal: every repeat is recognised and few new keys are lost, alone and in batches. Method: an exact set beside it.
TEST_F(SeenTest, repeats_are_always_recognised_and_batches_agree) {
  auto single = Seen::create({.keys = 7001, .fpr = 0.01, .seed = std::array<std::uint64_t, 2>{1, 0}});
  auto batched = Seen::create({.keys = 7001, .fpr = 0.01, .seed = std::array<std::uint64_t, 2>{1, 0}});
  std::unordered_set<std::string> exact;
  std::vector<std::string> storage;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    storage.push_back(url(i));
  }
  const std::vector<std::string_view> keys(storage.begin(), storage.end());
  const auto outcomes = std::make_unique<bool[]>(keys.size());
  batched->observe(keys, {outcomes.get(), keys.size()});
  std::size_t lost = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const bool repeat = !exact.insert(storage[i]).second;
    const bool seen = single->observe(keys[i]);
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
    EXPECT_FALSE(first->observe("a"));
    ASSERT_TRUE(first->save().has_value());
  }
  auto second = Seen::open(path());
  ASSERT_TRUE(second.has_value()) << second.error().message();
  EXPECT_TRUE(second->observe("a"));
  EXPECT_EQ(second->capacity_keys(), 1000U);
}

TEST_F(SeenTest, without_save_the_file_stays_as_it_was) {
  {
    EXPECT_FALSE(Seen::open(path(), {.keys = 1000})->observe("a"));
  }
  EXPECT_FALSE(Seen::open(path())->observe("a"));
}

TEST_F(SeenTest, a_state_made_for_another_request_is_refused) {
  {
    ASSERT_TRUE(Seen::open(path(), {.keys = 1000, .fpr = 0.01}).has_value());
  }
  EXPECT_TRUE(Seen::open(path(), {.keys = 1000}).has_value());
  for (const SeenRequest& other : {SeenRequest{.keys = 2000}, SeenRequest{.fpr = 0.02},
                                   SeenRequest{.kind = Kind::bloom}, SeenRequest{.hash = HashKind::siphash}}) {
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

TEST_F(SeenTest, the_lock_outlives_every_save) {
  auto first = Seen::open(path());
  ASSERT_TRUE(first.has_value());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(first->save().has_value());
    const auto second = Seen::open(path());
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().code, ErrorCode::locked);
  }
}

TEST_F(SeenTest, impossible_requests_leave_no_file) {
  EXPECT_FALSE(Seen::open(path(), {.keys = 0}).has_value());
  EXPECT_FALSE(Seen::open(path(), {.fpr = 1.5}).has_value());
  EXPECT_FALSE(fs::exists(path()));
}

}  // namespace
}  // namespace mankai
