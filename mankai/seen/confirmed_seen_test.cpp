#include "mankai/seen/confirmed_seen.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <unordered_set>
#include <vector>

#include "tests/support/random.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai {
namespace {

namespace fs = std::filesystem;
using Answer = ConfirmedSeen::Answer;
using test::Random;

class ConfirmedSeenTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_.file("seen.log"); }

 private:
  test::TemporaryFolder folder_;
};

std::vector<Answer> observe(ConfirmedSeen& memory, const std::vector<std::string>& keys) {
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<Answer> answers(keys.size());
  memory.observe(views, answers);
  return answers;
}

// Goal: every answer is right although the filter is often wrong: it is small, has a high rate, and grows.
// Method: an exact set, batches of any size, and reopening in between.
TEST_F(ConfirmedSeenTest, every_answer_is_right) {
  const ConfirmedSeenRequest request{.keys = 500, .fpr = 0.3, .seed = std::array<std::uint64_t, 2>{1, 0}};
  auto memory = ConfirmedSeen::open(path(), request, {.recent_digests = 1000});
  ASSERT_TRUE(memory.has_value()) << memory.error().message();
  std::unordered_set<std::string> exact;
  Random random(2);
  std::size_t rescued = 0;
  for (int batch = 0; batch < 60; ++batch) {
    std::vector<std::string> keys;
    for (std::uint64_t count = random.below(3000); count > 0; --count) {
      keys.push_back("http://example.org/" + std::to_string(random.below(40'000)));
    }
    const std::vector<Answer> answers = observe(*memory, keys);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(answers[i] == Answer::repeat, !exact.insert(keys[i]).second) << keys[i];
      rescued += static_cast<std::size_t>(answers[i] == Answer::rescued);
    }
    ASSERT_TRUE(memory->commit());
    ASSERT_EQ(memory->log().digests(), exact.size());
    ASSERT_LE(memory->log().digests(), memory->filter().capacity_keys());
    if (batch % 13 == 1) {
      ConfirmedSeen& same = *memory;  // moved to itself, it stays as it is
      *memory = std::move(same);
    }
    if (batch % 13 == 0) {
      memory = fail(ErrorCode::io, "closed");
      memory = ConfirmedSeen::open(path(), request, {.recent_digests = 1000});
      ASSERT_TRUE(memory.has_value()) << memory.error().message();
    }
  }
  EXPECT_GT(rescued, 1000U);
}

TEST_F(ConfirmedSeenTest, what_was_not_committed_is_new_again) {
  const std::vector<std::string> keys = {"a", "b", "a"};
  {
    auto memory = ConfirmedSeen::open(path(), {.keys = 100});
    EXPECT_EQ(observe(*memory, keys), (std::vector{Answer::fresh, Answer::fresh, Answer::repeat}));
  }
  auto memory = ConfirmedSeen::open(path(), {.keys = 100});
  EXPECT_EQ(observe(*memory, keys), (std::vector{Answer::fresh, Answer::fresh, Answer::repeat}));
  ASSERT_TRUE(memory->commit());
  ASSERT_TRUE(memory->sync());
  memory = fail(ErrorCode::io, "closed");
  memory = ConfirmedSeen::open(path(), {.keys = 100});
  EXPECT_EQ(observe(*memory, keys), (std::vector{Answer::repeat, Answer::repeat, Answer::repeat}));
}

TEST_F(ConfirmedSeenTest, spellings_of_a_url_are_one_where_the_log_is_of_such) {
  auto memory = ConfirmedSeen::open(path(), {.keys = 100, .hash = HashKind::siphash, .canonical = true});
  EXPECT_EQ(observe(*memory, {"http://A.example", "a.example/", "mailto:x", "mailto:x"}),
            (std::vector{Answer::fresh, Answer::repeat, Answer::fresh, Answer::repeat}));
  memory = fail(ErrorCode::io, "closed");
  EXPECT_TRUE(ConfirmedSeen::open(path(), {})->is_canonical());
  EXPECT_EQ(ConfirmedSeen::open(path(), {.canonical = false}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(ConfirmedSeen::open(path(), {.hash = HashKind::xxh3}).error().code, ErrorCode::invalid_argument);
}

TEST_F(ConfirmedSeenTest, impossible_requests_leave_no_file) {
  EXPECT_EQ(ConfirmedSeen::open(path(), {.keys = 0}).error().code, ErrorCode::invalid_argument);
  EXPECT_FALSE(fs::exists(path()));
}

}  // namespace
}  // namespace mankai
