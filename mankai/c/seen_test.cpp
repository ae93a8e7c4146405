#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "mankai/c/c_test_support.hpp"
#include "tests/support/child_process.hpp"

namespace mankai::c {
namespace {

using SeenHandle = Closed<mankai_seen, mankai_seen_close>;

SeenHandle open_seen(const char* path, const mankai_seen_request* request) {
  mankai_seen* seen = nullptr;
  EXPECT_EQ(mankai_seen_open(path, request, nullptr, &seen), MANKAI_OK) << mankai_last_error();
  return SeenHandle(seen);
}

mankai_seen_facts facts_of(const mankai_seen* seen) {
  auto facts = sized<mankai_seen_facts>();
  EXPECT_EQ(mankai_seen_get_facts(seen, &facts), MANKAI_OK);
  return facts;
}

bool is_repeat(mankai_seen* seen, std::string_view key) {
  bool repeat = false;
  EXPECT_EQ(mankai_seen_observe_one(seen, key.data(), key.size(), &repeat), MANKAI_OK) << mankai_last_error();
  return repeat;
}

TEST(CSeen, repeats_are_reported_also_after_opening_again) {
  const Folder folder;
  const std::string path = folder.file("seen.mk");
  auto request = sized<mankai_seen_request>();
  request.keys = 1000;
  {
    const SeenHandle seen = open_seen(path.c_str(), &request);
    EXPECT_FALSE(is_repeat(seen.get(), "a"));
    EXPECT_TRUE(is_repeat(seen.get(), "a"));
    ASSERT_EQ(mankai_seen_begin(seen.get()), MANKAI_OK);
    EXPECT_FALSE(is_repeat(seen.get(), "b"));
    ASSERT_EQ(mankai_seen_commit(seen.get(), "17", 2), MANKAI_OK);
    ASSERT_EQ(mankai_seen_sync(seen.get()), MANKAI_OK);
    const mankai_seen_facts facts = facts_of(seen.get());
    EXPECT_TRUE(facts.is_in_file);
    EXPECT_EQ(facts.capacity_keys, 1000U);
    EXPECT_EQ(facts.durable_sequence, facts.sequence);
    EXPECT_STREQ(facts.kind, "blocked-bloom");
  }
  const SeenHandle again = open_seen(path.c_str(), nullptr);
  EXPECT_TRUE(is_repeat(again.get(), "b"));
  bool found = false;
  ASSERT_EQ(mankai_seen_may_contain_one(again.get(), "c", 1, &found), MANKAI_OK);
  EXPECT_FALSE(found);
  std::array<char, MANKAI_POSITION_BYTES> position{};
  std::size_t bytes = 0;
  ASSERT_EQ(mankai_seen_position(again.get(), position.data(), &bytes), MANKAI_OK);
  EXPECT_EQ(std::string_view(position.data(), bytes), "17");
}

TEST(CSeen, a_file_with_other_settings_is_refused) {
  const Folder folder;
  const std::string path = folder.file("seen.mk");
  auto request = sized<mankai_seen_request>();
  request.keys = 1000;
  open_seen(path.c_str(), &request).reset();
  request.keys = 2000;
  mankai_seen* seen = nullptr;
  EXPECT_EQ(mankai_seen_open(path.c_str(), &request, nullptr, &seen), MANKAI_INVALID_ARGUMENT);
  EXPECT_NE(std::string_view(mankai_last_error()).find("keys"), std::string_view::npos);
  request = sized<mankai_seen_request>();
  request.kind = "no-such-kind";
  EXPECT_EQ(mankai_seen_open(path.c_str(), &request, nullptr, &seen), MANKAI_NOT_FOUND);
  auto options = sized<mankai_file_options>();
  options.replace = 1;
  EXPECT_EQ(mankai_seen_open(path.c_str(), nullptr, &options, &seen), MANKAI_INVALID_ARGUMENT);
  options.replace = 0;
  options.sharing = 2;
  EXPECT_EQ(mankai_seen_open(path.c_str(), nullptr, &options, &seen), MANKAI_INVALID_ARGUMENT);
  options.sharing = MANKAI_SHARING_PROCESSES;
  EXPECT_EQ(mankai_seen_open(nullptr, nullptr, &options, &seen), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(seen, nullptr);
}

TEST(CSeen, processes_share_a_memory_also_over_a_fork) {
  const Folder folder;
  const std::string path = folder.file("shared.mk");
  auto options = sized<mankai_file_options>();
  options.sharing = MANKAI_SHARING_PROCESSES;
  auto request = sized<mankai_seen_request>();
  request.keys = 1000;
  mankai_seen* seen = nullptr;
  ASSERT_EQ(mankai_seen_open(path.c_str(), &request, &options, &seen), MANKAI_OK) << mankai_last_error();
  bool repeat = true;
  ASSERT_EQ(mankai_seen_observe_one(seen, "a", 1, &repeat), MANKAI_OK);
  EXPECT_FALSE(repeat);
  EXPECT_EQ(test::in_child([&] {  // without closing: as a process that is killed
              bool of_parent = false;
              bool of_child = true;
              return mankai_seen_observe_one(seen, "a", 1, &of_parent) == MANKAI_OK && of_parent &&
                     mankai_seen_observe_one(seen, "b", 1, &of_child) == MANKAI_OK && !of_child;
            }),
            0);
  ASSERT_EQ(mankai_seen_observe_one(seen, "b", 1, &repeat), MANKAI_OK);
  EXPECT_TRUE(repeat) << "the child's key";
  mankai_seen* alone = nullptr;
  EXPECT_EQ(mankai_seen_open(path.c_str(), nullptr, nullptr, &alone), MANKAI_LOCKED);
  auto facts = sized<mankai_seen_facts>();
  ASSERT_EQ(mankai_seen_get_facts(seen, &facts), MANKAI_OK);
  EXPECT_TRUE(facts.is_in_file);
  EXPECT_EQ(facts.keys_inserted, 2U);
  EXPECT_EQ(mankai_seen_begin(seen), MANKAI_INVALID_ARGUMENT) << "each call is in the file when it returns";
  ASSERT_EQ(mankai_seen_sync(seen), MANKAI_OK) << mankai_last_error();
  ASSERT_EQ(mankai_seen_get_facts(seen, &facts), MANKAI_OK);
  EXPECT_EQ(facts.durable_sequence, facts.sequence);
  EXPECT_EQ(mankai_seen_close(seen), MANKAI_OK);
  ASSERT_EQ(mankai_seen_open(path.c_str(), nullptr, nullptr, &alone), MANKAI_OK) << mankai_last_error();
  ASSERT_EQ(mankai_seen_observe_one(alone, "b", 1, &repeat), MANKAI_OK);
  EXPECT_TRUE(repeat);
  EXPECT_EQ(mankai_seen_close(alone), MANKAI_OK);
}

/// Goal: a child is never blocked by calls of its parent's threads. Method: the parent forks while two threads are in
/// batches, syncs and queries almost always.
TEST(CSeen, a_child_does_not_wait_for_calls_of_its_parent) {
  const Folder folder;
  auto options = sized<mankai_file_options>();
  options.sharing = MANKAI_SHARING_PROCESSES;
  options.durability = MANKAI_DURABILITY_NEVER;  // no thread in the child, which a sanitizer would refuse
  auto request = sized<mankai_seen_request>();
  request.keys = 100000;
  request.fpr = 1e-6;
  mankai_seen* seen = nullptr;
  ASSERT_EQ(mankai_seen_open(folder.file("shared.mk").c_str(), &request, &options, &seen), MANKAI_OK);
  constexpr std::size_t kBatch = 20000;
  const Keys keys("key", kBatch);
  std::atomic<bool> is_done = false;
  const auto work = [&] {
    std::array<bool, kBatch> repeats{};
    while (!is_done) {
      EXPECT_EQ(mankai_seen_observe(seen, keys.data(), nullptr, kBatch, repeats.data()), MANKAI_OK);
      EXPECT_EQ(mankai_seen_may_contain(seen, keys.data(), kBatch, repeats.data()), MANKAI_OK);
      EXPECT_EQ(mankai_seen_sync(seen), MANKAI_OK);
    }
  };
  {
    const std::jthread one(work);
    const std::jthread two(work);
    for (int i = 0; i < 20; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const int status = test::in_child([&] {
        bool is_repeat = false;
        bool is_there = false;
        return mankai_seen_may_contain_one(seen, "x", 1, &is_there) == MANKAI_OK &&
               mankai_seen_observe_one(seen, "x", 1, &is_repeat) == MANKAI_OK && is_repeat == (i != 0) &&
               mankai_seen_close(seen) == MANKAI_OK;
      });
      EXPECT_EQ(status, 0) << i;
    }
    is_done = true;
  }
  EXPECT_EQ(mankai_seen_close(seen), MANKAI_OK) << mankai_last_error();
}

TEST(CSeen, keys_are_forgotten_by_processes_that_share_counters) {
  const Folder folder;
  const std::string path = folder.file("shared.mk");
  auto options = sized<mankai_file_options>();
  options.sharing = MANKAI_SHARING_PROCESSES;
  auto request = sized<mankai_seen_request>();
  request.kind = "counting-bloom";
  request.keys = 1000;
  request.fpr = 1e-6;
  mankai_seen* opened = nullptr;
  ASSERT_EQ(mankai_seen_open(path.c_str(), &request, &options, &opened), MANKAI_OK) << mankai_last_error();
  const SeenHandle seen(opened);
  const Keys keys("key", 100);
  const auto count_repeats = [&] {
    std::array<bool, 100> repeats{};
    EXPECT_EQ(mankai_seen_observe(seen.get(), keys.data(), nullptr, keys.size(), repeats.data()), MANKAI_OK);
    return std::ranges::count(repeats, true);
  };
  EXPECT_EQ(count_repeats(), 0);
  EXPECT_EQ(count_repeats(), 100);
  std::vector<mankai_erase_result> results(50, 99);
  ASSERT_EQ(mankai_seen_forget(seen.get(), keys.data(), 50, results.data()), MANKAI_OK) << mankai_last_error();
  EXPECT_EQ(results, std::vector<mankai_erase_result>(50, MANKAI_ERASED));
  ASSERT_EQ(mankai_seen_forget(seen.get(), keys.data(), 50, results.data()), MANKAI_OK);
  EXPECT_EQ(results, std::vector<mankai_erase_result>(50, MANKAI_ABSENT));
  auto packed = sized<mankai_packed>();
  packed.data = "key 50key 51";
  packed.data_bytes = 12;
  packed.width = 6;
  packed.count = 2;
  ASSERT_EQ(mankai_seen_forget_packed(seen.get(), &packed, nullptr), MANKAI_OK) << mankai_last_error();
  EXPECT_EQ(count_repeats(), 48);
}

TEST(CSeen, other_memories_forget_nothing) {
  const Keys keys("key", 1);
  EXPECT_EQ(mankai_seen_forget(open_seen(nullptr, nullptr).get(), keys.data(), 1, nullptr), MANKAI_INVALID_ARGUMENT);
  EXPECT_NE(std::string_view(mankai_last_error()).find("counting-bloom"), std::string_view::npos);
  auto request = sized<mankai_seen_request>();
  request.kind = "counting-bloom";
  mankai_seen* seen = nullptr;
  EXPECT_EQ(mankai_seen_open(nullptr, &request, nullptr, &seen), MANKAI_INVALID_ARGUMENT) << "it would count repeats";
}

TEST(CSeen, keys_expire_from_a_window) {
  constexpr std::int64_t kSecond = 1'000'000;
  auto request = sized<mankai_seen_request>();
  request.keys = 1000;
  request.window_us = 60 * kSecond;
  const SeenHandle seen = open_seen(nullptr, &request);
  const std::array keys{key_of("a"), key_of("b"), key_of("a")};
  const std::array<std::int64_t, 3> times{1000 * kSecond, 1001 * kSecond, 1002 * kSecond};
  std::array<bool, 3> repeats{};
  ASSERT_EQ(mankai_seen_observe(seen.get(), keys.data(), times.data(), keys.size(), repeats.data()), MANKAI_OK)
      << mankai_last_error();
  EXPECT_EQ(repeats, (std::array{false, false, true}));
  bool repeat = true;
  ASSERT_EQ(mankai_seen_observe_one_at(seen.get(), "a", 1, 900 * kSecond, &repeat), MANKAI_OK);  // late: as the latest
  EXPECT_TRUE(repeat);
  ASSERT_EQ(mankai_seen_observe_one_at(seen.get(), "a", 1, 2000 * kSecond, &repeat), MANKAI_OK);
  EXPECT_FALSE(repeat);
  EXPECT_EQ(mankai_seen_observe_one(seen.get(), "a", 1, &repeat), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_seen_observe_one_at(open_seen(nullptr, nullptr).get(), "a", 1, 0, &repeat), MANKAI_INVALID_ARGUMENT);
  const mankai_seen_facts facts = facts_of(seen.get());
  EXPECT_GE(facts.window_us, 60 * kSecond);
  EXPECT_GT(facts.forgets_after_us, facts.window_us);
  EXPECT_FALSE(facts.is_in_file);
  std::size_t bytes = 9;
  std::array<char, MANKAI_POSITION_BYTES> position{};
  ASSERT_EQ(mankai_seen_position(seen.get(), position.data(), &bytes), MANKAI_OK);
  EXPECT_EQ(bytes, 0U);
}

TEST(CSeen, packed_keys_may_be_skipped) {
  const std::string data = "aabbaa";
  const std::uint8_t validity = 0b110;
  auto packed = sized<mankai_packed>();
  packed.data = data.data();
  packed.data_bytes = data.size();
  packed.width = 2;
  packed.validity = &validity;
  packed.count = 3;
  const SeenHandle seen = open_seen(nullptr, nullptr);
  std::array<bool, 3> repeats{true, true, true};
  ASSERT_EQ(mankai_seen_observe_packed(seen.get(), &packed, nullptr, repeats.data()), MANKAI_OK) << mankai_last_error();
  EXPECT_EQ(repeats, (std::array{false, false, false}));
  ASSERT_EQ(mankai_seen_may_contain_packed(seen.get(), &packed, repeats.data()), MANKAI_OK);
  EXPECT_EQ(repeats, (std::array{false, true, true}));
  const mankai_key key = key_of("bb");
  ASSERT_EQ(mankai_seen_may_contain(seen.get(), &key, 1, repeats.data()), MANKAI_OK);
  EXPECT_TRUE(repeats[0]);
}

TEST(CConfirmedSeen, committed_keys_are_repeats_after_opening_again) {
  const Folder folder;
  const std::string path = folder.file("seen.log");
  auto request = sized<mankai_confirmed_request>();
  request.keys = 1000;
  const auto open = [&] {
    mankai_confirmed* confirmed = nullptr;
    EXPECT_EQ(mankai_confirmed_open(path.c_str(), &request, &confirmed), MANKAI_OK) << mankai_last_error();
    return confirmed;
  };
  mankai_confirmed* confirmed = open();
  const std::array keys{key_of("a"), key_of("b"), key_of("a")};
  std::array<mankai_confirmed_answer, 3> answers{};
  ASSERT_EQ(mankai_confirmed_observe(confirmed, keys.data(), keys.size(), answers.data()), MANKAI_OK);
  EXPECT_EQ(answers[2], MANKAI_CONFIRMED_REPEAT);
  EXPECT_NE(answers[1], MANKAI_CONFIRMED_REPEAT);
  ASSERT_EQ(mankai_confirmed_commit(confirmed), MANKAI_OK) << mankai_last_error();
  ASSERT_EQ(mankai_confirmed_sync(confirmed), MANKAI_OK);
  mankai_confirmed_answer answer = 9;
  ASSERT_EQ(mankai_confirmed_observe_one(confirmed, "uncommitted", 11, &answer), MANKAI_OK);
  EXPECT_NE(answer, MANKAI_CONFIRMED_REPEAT);
  mankai_confirmed* second = nullptr;
  EXPECT_EQ(mankai_confirmed_open(path.c_str(), nullptr, &second), MANKAI_LOCKED);
  ASSERT_EQ(mankai_confirmed_close(confirmed), MANKAI_OK) << mankai_last_error();
  confirmed = open();
  auto facts = sized<mankai_confirmed_facts>();
  ASSERT_EQ(mankai_confirmed_get_facts(confirmed, &facts), MANKAI_OK);
  EXPECT_EQ(facts.keys, 2U);
  EXPECT_EQ(facts.dropped_bytes, 0U);
  const std::string data = "ab";
  auto packed = sized<mankai_packed>();
  packed.data = data.data();
  packed.data_bytes = data.size();
  packed.width = 1;
  packed.count = 2;
  ASSERT_EQ(mankai_confirmed_observe_packed(confirmed, &packed, answers.data()), MANKAI_OK);
  EXPECT_EQ(answers[0], MANKAI_CONFIRMED_REPEAT);
  EXPECT_EQ(answers[1], MANKAI_CONFIRMED_REPEAT);
  ASSERT_EQ(mankai_confirmed_close(confirmed), MANKAI_OK);
  request.canonical = MANKAI_YES;
  EXPECT_EQ(mankai_confirmed_open(path.c_str(), &request, &second), MANKAI_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace mankai::c
