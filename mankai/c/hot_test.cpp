#include <array>

#include "mankai/c/c_test_support.hpp"

namespace mankai::c {
namespace {

constexpr std::int64_t kHotSecond = 1'000'000;

using HotHandle = Closed<mankai_hot, mankai_hot_close>;

HotHandle open_hot(const char* path, const mankai_hot_request* request) {
  mankai_hot* hot = nullptr;
  EXPECT_EQ(mankai_hot_open(path, request, nullptr, &hot), MANKAI_OK) << mankai_last_error();
  return HotHandle(hot);
}

mankai_hot_facts facts_of(const mankai_hot* hot) {
  auto facts = sized<mankai_hot_facts>();
  EXPECT_EQ(mankai_hot_get_facts(hot, &facts), MANKAI_OK);
  return facts;
}

TEST(CHot, counts_decay_by_their_half_life) {
  auto request = sized<mankai_hot_request>();
  request.half_life_us = 60 * kHotSecond;
  const HotHandle hot = open_hot(nullptr, &request);
  const std::array keys{key_of("a"), key_of("b"), key_of("a")};
  const std::array<std::int64_t, 3> times{1000 * kHotSecond, 1000 * kHotSecond, 1000 * kHotSecond};
  ASSERT_EQ(mankai_hot_observe(hot.get(), keys.data(), times.data(), keys.size()), MANKAI_OK) << mankai_last_error();
  std::array<mankai_lately, 2> counts{};
  ASSERT_EQ(mankai_hot_counts(hot.get(), keys.data(), 2, counts.data()), MANKAI_OK);
  EXPECT_NEAR(counts[0].raw, 2, 0.1);
  EXPECT_NEAR(counts[1].raw, 1, 0.1);
  ASSERT_EQ(mankai_hot_advance(hot.get(), 1060 * kHotSecond), MANKAI_OK);
  mankai_lately count{};
  ASSERT_EQ(mankai_hot_count_one(hot.get(), "a", 1, &count), MANKAI_OK);
  EXPECT_NEAR(count.raw, 1, 0.1);
  mankai_top_entry* entries = nullptr;
  std::size_t found = 0;
  ASSERT_EQ(mankai_hot_top(hot.get(), 10, &entries, &found), MANKAI_OK);
  ASSERT_EQ(found, 2U);
  EXPECT_EQ(std::string_view(entries[0].key, entries[0].bytes), "a");
  mankai_free(entries);
  ASSERT_EQ(mankai_hot_above(hot.get(), 0.75, &entries, &found), MANKAI_OK);
  EXPECT_EQ(found, 1U);
  mankai_free(entries);
  const mankai_hot_facts facts = facts_of(hot.get());
  EXPECT_EQ(facts.records, 3U);
  EXPECT_NEAR(facts.half_life_us, 60.0 * kHotSecond, 1.0 * kHotSecond);
  EXPECT_EQ(facts.window_us, 0);
  EXPECT_EQ(facts.now_us, 1060 * kHotSecond);
}

TEST(CHot, records_in_the_future_are_ignored) {
  auto request = sized<mankai_hot_request>();
  request.window_us = 80 * kHotSecond;
  request.latest_us = 1000 * kHotSecond;
  const HotHandle hot = open_hot(nullptr, &request);
  ASSERT_EQ(mankai_hot_observe_one(hot.get(), "a", 1, 1000 * kHotSecond), MANKAI_OK);
  ASSERT_EQ(mankai_hot_observe_one(hot.get(), "a", 1, 1001 * kHotSecond), MANKAI_OK);
  EXPECT_EQ(facts_of(hot.get()).records_in_future, 1U);
  ASSERT_EQ(mankai_hot_accept_until(hot.get(), 2000 * kHotSecond), MANKAI_OK);
  const std::string data = "ab";
  auto packed = sized<mankai_packed>();
  packed.data = data.data();
  packed.data_bytes = data.size();
  packed.width = 1;
  packed.count = 2;
  const std::array<std::int64_t, 2> times{1500 * kHotSecond, 3000 * kHotSecond};
  ASSERT_EQ(mankai_hot_observe_packed(hot.get(), &packed, times.data()), MANKAI_OK) << mankai_last_error();
  const mankai_hot_facts facts = facts_of(hot.get());
  EXPECT_EQ(facts.records_in_future, 2U);
  EXPECT_EQ(facts.records, 2U);
  EXPECT_EQ(facts.window_us, 80 * kHotSecond);
  EXPECT_EQ(facts.half_life_us, 0);
}

TEST(CHot, a_file_keeps_what_was_committed) {
  const Folder folder;
  const std::string path = folder.file("hot.mk");
  auto request = sized<mankai_hot_request>();
  request.half_life_us = 60 * kHotSecond;
  request.memory_bytes = 65536;
  {
    const HotHandle hot = open_hot(path.c_str(), &request);
    ASSERT_EQ(mankai_hot_begin(hot.get()), MANKAI_OK);
    ASSERT_EQ(mankai_hot_observe_one(hot.get(), "a", 1, 1000 * kHotSecond), MANKAI_OK);
    ASSERT_EQ(mankai_hot_commit(hot.get(), "5", 1), MANKAI_OK);
    ASSERT_EQ(mankai_hot_sync(hot.get()), MANKAI_OK);
    EXPECT_TRUE(facts_of(hot.get()).is_in_file);
  }
  const HotHandle again = open_hot(path.c_str(), nullptr);
  EXPECT_EQ(facts_of(again.get()).records, 1U);
  std::array<char, MANKAI_POSITION_BYTES> position{};
  std::size_t bytes = 0;
  ASSERT_EQ(mankai_hot_position(again.get(), position.data(), &bytes), MANKAI_OK);
  EXPECT_EQ(bytes, 1U);
}

TEST(CHot, requests_that_contradict_themselves_are_refused) {
  mankai_hot* hot = nullptr;
  const auto refused = [&](void (*change)(mankai_hot_request&)) {
    auto request = sized<mankai_hot_request>();
    change(request);
    EXPECT_EQ(mankai_hot_open(nullptr, &request, nullptr, &hot), MANKAI_INVALID_ARGUMENT);
    EXPECT_EQ(hot, nullptr);
  };
  refused([](mankai_hot_request& request) {
    request.half_life_us = 60 * kHotSecond;
    request.window_us = 60 * kHotSecond;
  });
  refused([](mankai_hot_request& request) { request.epoch_us = kHotSecond; });
  refused([](mankai_hot_request& request) { request.rounding = 3; });
  refused([](mankai_hot_request& request) { request.window_us = ~std::uint64_t{0}; });
  refused([](mankai_hot_request& request) { request.seed = "no number"; });
}

TEST(CHot, more_memory_than_addresses_is_an_error) {
  mankai_hot* hot = nullptr;
  auto request = sized<mankai_hot_request>();
  request.memory_bytes = 280'000'000'000'000;  // above 2^47
  EXPECT_EQ(mankai_hot_open(nullptr, &request, nullptr, &hot), MANKAI_OUT_OF_SPACE);
  EXPECT_EQ(hot, nullptr);
}

}  // namespace
}  // namespace mankai::c
