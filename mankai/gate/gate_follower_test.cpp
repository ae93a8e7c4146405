#include "mankai/gate/gate_follower.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "mankai/gate/gate_counts_file.hpp"
#include "mankai/gate/gate_test_support.hpp"
#include "tests/support/random.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai {
namespace {

namespace fs = std::filesystem;
using test::insert;

class GateFollowerTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Gate::create({.keys = 2000, .seed = std::array<std::uint64_t, 2>{1, 2}})->save(path()));
  }
  [[nodiscard]] std::string path() const { return folder_.file("gate.mk"); }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(GateFollowerTest, sees_what_was_applied_when_it_is_refreshed) {
  auto gate = Gate::open(path());
  auto follower = GateFollower::open(path());
  ASSERT_TRUE(follower.has_value()) << follower.error().message();
  EXPECT_FALSE(follower->position().has_value());
  EXPECT_EQ(follower->refresh(), false);
  ASSERT_TRUE(insert(*gate, "a", 3));
  EXPECT_FALSE(follower->maybe("a"));
  EXPECT_TRUE(follower->maybe("a", 3));
  EXPECT_EQ(follower->refresh(), true);
  EXPECT_TRUE(follower->maybe("a"));
  EXPECT_EQ(follower->position(), 3U);
  EXPECT_FALSE(follower->maybe("b", 3));
  ASSERT_TRUE(gate->close());
  EXPECT_EQ(follower->refresh(), false);
  EXPECT_TRUE(follower->maybe("a"));
}

// Goal: a gate that was built again is not taken for the one before because its positions have the same numbers.
TEST_F(GateFollowerTest, another_build_at_the_same_numbers_is_noticed) {
  for (const std::string_view key : {"old", "new"}) {
    auto built = Gate::create({.keys = 2000});
    ASSERT_TRUE(insert(*built, key, 1));
    ASSERT_TRUE(built->save(path() + "." + std::string(key)));
  }
  fs::rename(path() + ".old", path());
  auto follower = GateFollower::open(path());
  EXPECT_TRUE(follower->maybe("old"));
  fs::rename(path() + ".new", path());
  EXPECT_EQ(follower->refresh(), true);
  EXPECT_TRUE(follower->maybe("new"));
  EXPECT_EQ(follower->refresh(), false);
}

// With a given seed, only the cells tell two builds apart.
TEST_F(GateFollowerTest, another_build_with_the_same_seed_is_noticed) {
  for (const std::string_view key : {"old", "new"}) {
    auto built = Gate::create({.keys = 2000, .seed = std::array<std::uint64_t, 2>{1, 2}});
    ASSERT_TRUE(insert(*built, key, 1));
    ASSERT_TRUE(built->save(path() + "." + std::string(key)));
  }
  fs::rename(path() + ".old", path());
  auto follower = GateFollower::open(path());
  fs::copy_file(path(), path() + ".copy");
  fs::rename(path() + ".copy", path());
  EXPECT_EQ(follower->refresh(), false) << "an equal file";
  fs::rename(path() + ".new", path());
  EXPECT_EQ(follower->refresh(), true);
  EXPECT_TRUE(follower->maybe("new"));
}

// A file system may give a file the inode number of a removed one.
TEST_F(GateFollowerTest, another_build_with_the_inode_number_of_an_equal_file_is_noticed) {
  const auto save = [&](std::string_view key, const std::string& file) {
    auto built = Gate::create({.keys = 2000, .seed = std::array<std::uint64_t, 2>{1, 2}});
    ASSERT_TRUE(insert(*built, key, 1));
    ASSERT_TRUE(built->save(file, Existing::replace));
  };
  save("old", path());
  auto follower = GateFollower::open(path());
  save("old", path());
  EXPECT_EQ(follower->refresh(), false);
  save("new", path() + ".new");
  const auto before = fs::last_write_time(path());
  std::fstream(path(), std::ios::in | std::ios::out | std::ios::binary)
      << std::ifstream(path() + ".new", std::ios::binary).rdbuf();
  fs::last_write_time(path(), before + std::chrono::seconds(1));
  EXPECT_EQ(follower->refresh(), true);
  EXPECT_TRUE(follower->maybe("new"));
}

TEST_F(GateFollowerTest, follows_its_file_after_the_process_has_changed_its_folder) {
  const fs::path before = fs::current_path();
  fs::current_path(fs::path(path()).parent_path());
  auto follower = GateFollower::open("gate.mk");
  fs::current_path(before);
  auto gate = Gate::open(path());
  ASSERT_TRUE(insert(*gate, "a", 1));
  EXPECT_EQ(follower->refresh(), true);
  EXPECT_TRUE(follower->maybe("a"));
}

TEST_F(GateFollowerTest, a_file_that_went_bad_leaves_what_was_there) {
  {
    auto gate = Gate::open(path());
    ASSERT_TRUE(insert(*gate, "a", 1));
  }
  auto follower = GateFollower::open(path());
  fs::rename(path(), path() + ".away");
  EXPECT_EQ(follower->refresh().error().code, ErrorCode::not_found);
  EXPECT_TRUE(follower->maybe("a"));
  fs::rename(path() + ".away", path());
  EXPECT_EQ(follower->refresh(), false);
}

// Goal: a report that was on its way while a refresh brought its key is not believed, nor an older one.
TEST_F(GateFollowerTest, a_refresh_forgets_what_was_reported) {
  auto gate = Gate::open(path());
  for (std::uint64_t i = 1; i <= 2000; ++i) {
    ASSERT_TRUE(insert(*gate, "key " + std::to_string(i), i));
  }
  auto follower = GateFollower::open(path());
  std::string key;
  for (int i = 0; key.empty(); ++i) {
    const std::string absent_key = "absent key " + std::to_string(i);
    key = follower->maybe(absent_key) ? absent_key : "";
  }
  const GateAnswer first = follower->maybe(key);
  follower->report_false_positive(key, first);
  EXPECT_FALSE(follower->maybe(key));
  ASSERT_TRUE(insert(*gate, key, 2001));
  EXPECT_EQ(follower->refresh(), true);
  EXPECT_TRUE(follower->maybe(key));
  follower->report_false_positive(key, first);
  EXPECT_TRUE(follower->maybe(key));
  EXPECT_EQ(follower->counts().late_reports, 1U);
}

TEST_F(GateFollowerTest, is_asked_while_it_is_refreshed) {
  auto gate = Gate::open(path());
  auto follower = GateFollower::open(path());
  std::atomic<std::uint64_t> fresh{0};
  std::atomic<std::uint64_t> lost{0};
  std::jthread asker([&](const std::stop_token& stop) {
    test::Random random(3);
    while (!stop.stop_requested()) {
      const std::uint64_t known = fresh.load();
      if (known > 0 && !follower->maybe("key " + std::to_string(1 + random.below(known)))) {
        ++lost;
      }
    }
  });
  for (std::uint64_t i = 1; i <= 100; ++i) {
    ASSERT_TRUE(insert(*gate, "key " + std::to_string(i), i));
    ASSERT_TRUE(follower->refresh());
    fresh = i;
  }
  asker.request_stop();
  asker.join();
  EXPECT_EQ(lost.load(), 0U);
}

TEST_F(GateFollowerTest, counts_of_several_processes_are_added_up) {
  EXPECT_EQ(read_gate_counts(path()), GateCounts{});
  const GateCounts each = {.asked = 10, .empty = 7, .maybe = 3, .memo_hits = 2, .waiting = 1, .false_positives = 2};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int round = 0; round < 3; ++round) {
          EXPECT_TRUE(add_gate_counts(path(), each).has_value());
        }
      });
    }
  }
  const auto sum = read_gate_counts(path());
  ASSERT_TRUE(sum.has_value());
  EXPECT_EQ(sum->asked, 120U);
  EXPECT_EQ(sum->false_positives, 24U);
  EXPECT_EQ(counted_since(*sum, each).empty, 77U);
  std::ofstream(gate_counts_path(path())) << "something else";
  EXPECT_EQ(read_gate_counts(path()).error().code, ErrorCode::corrupt);
  EXPECT_EQ(add_gate_counts(path(), each).error().code, ErrorCode::corrupt);
}

TEST(GateCountsText, no_cut_is_taken_for_whole) {
  const std::string text = to_text(GateCounts{.asked = 12, .empty = 5, .maybe = 7});
  EXPECT_EQ(parse_gate_counts(text), (GateCounts{.asked = 12, .empty = 5, .maybe = 7}));
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
    EXPECT_FALSE(parse_gate_counts(text.substr(0, bytes)).has_value()) << bytes;
  }
  EXPECT_FALSE(parse_gate_counts(text + "x").has_value());
  EXPECT_EQ(parse_gate_counts("mankai gate counts 2\n").error().code, ErrorCode::unsupported_version);
}

}  // namespace
}  // namespace mankai
