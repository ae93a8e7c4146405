#include <algorithm>
#include <array>

#include "mankai/c/c_test_support.hpp"
#include "mankai/filter/any_filter.hpp"

namespace mankai::c {
namespace {

/// More than one window of every kind.
constexpr std::size_t kMany = 10'000;

TEST(CChanges, a_batch_is_its_keys_one_by_one) {
  const Keys keys("key", kMany);
  for (const KindDescription* each : kinds()) {
    const KindDescription& kind = *each;
    const std::string spec = std::string(kind.name) + ":keys=20000,seed=7";
    const Handle batch = create(spec);
    const Handle single = create(spec);
    ASSERT_EQ(mankai_insert(batch.get(), keys.data(), keys.size()), MANKAI_OK) << kind.name << mankai_last_error();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(mankai_insert_one(single.get(), keys[i].data(), keys[i].size()), MANKAI_OK) << kind.name;
    }
    EXPECT_EQ(ask(batch.get(), keys), ask(single.get(), keys)) << kind.name;
    if (!kind.forgets) {
      EXPECT_EQ(count_of(batch.get(), keys), keys.size()) << kind.name;
    }
  }
}

TEST(CChanges, observe_says_what_was_there_before) {
  const Keys keys("key", kMany);
  const Handle filter = create("blocked-bloom:keys=20000,fpr=0.001,seed=7");
  const auto seen = std::make_unique<bool[]>(keys.size());
  ASSERT_EQ(mankai_observe(filter.get(), keys.data(), keys.size(), seen.get()), MANKAI_OK);
  EXPECT_LT(std::count(seen.get(), seen.get() + keys.size(), true), 50);
  ASSERT_EQ(mankai_observe(filter.get(), keys.data(), keys.size(), seen.get()), MANKAI_OK);
  EXPECT_EQ(std::count(seen.get(), seen.get() + keys.size(), true), static_cast<std::ptrdiff_t>(keys.size()));
  bool one = true;
  ASSERT_EQ(mankai_observe_one(filter.get(), "new", 3, &one), MANKAI_OK);
  EXPECT_FALSE(one);
}

TEST(CChanges, erase_says_what_became_of_each_key) {
  const Handle filter = create("counting-bloom:keys=1000,seed=7");
  const std::array keys{key_of("a"), key_of("b"), key_of("absent key")};
  ASSERT_EQ(mankai_insert(filter.get(), keys.data(), 2), MANKAI_OK);
  std::array<mankai_erase_result, 3> results{};
  ASSERT_EQ(mankai_erase(filter.get(), keys.data(), keys.size(), results.data()), MANKAI_OK);
  EXPECT_EQ(results, (std::array<mankai_erase_result, 3>{MANKAI_ERASED, MANKAI_ERASED, MANKAI_ABSENT}));
  ASSERT_EQ(mankai_insert_one(filter.get(), "a", 1), MANKAI_OK);
  ASSERT_EQ(mankai_erase(filter.get(), keys.data(), keys.size(), nullptr), MANKAI_OK);
  bool is_in = true;
  ASSERT_EQ(mankai_may_contain_one(filter.get(), "a", 1, &is_in), MANKAI_OK);
  EXPECT_FALSE(is_in);
}

TEST(CChanges, ids_take_keys_out_again) {
  const Keys keys("key", kMany);
  std::vector<std::uint64_t> ids(keys.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i] = 100 + 2 * i;
  }
  const Handle filter = create("scalable-counting-bloom:keys=1000,fpr=0.001,first-id=100,seed=7");
  ASSERT_EQ(mankai_insert_with_ids(filter.get(), keys.data(), ids.data(), keys.size()), MANKAI_OK);
  std::vector<mankai_erase_result> results(keys.size());
  ASSERT_EQ(mankai_erase_with_ids(filter.get(), keys.data(), ids.data(), keys.size(), results.data()), MANKAI_OK);
  EXPECT_EQ(std::count(results.begin(), results.end(), MANKAI_ERASED), static_cast<std::ptrdiff_t>(keys.size()));
  mankai_erase_result result = MANKAI_ERASED;
  ASSERT_EQ(mankai_erase_one_with_id(filter.get(), "key 1", 5, 99, &result), MANKAI_OK);
  EXPECT_EQ(result, MANKAI_BELOW_IDS);
  EXPECT_EQ(mankai_insert_one_with_id(filter.get(), "key 1", 5, 99), MANKAI_INVALID_ARGUMENT);
  EXPECT_NE(std::string(mankai_last_error()).find("99"), std::string::npos) << mankai_last_error();
}

TEST(CChanges, time_is_told_and_does_not_go_back) {
  constexpr std::int64_t kHour = 3'600'000'000;
  constexpr std::int64_t kStart = 400'000 * kHour;
  const Handle filter = create("decayed-top:keys=1000,half-life=1h,seed=7");
  ASSERT_EQ(mankai_insert_one_at(filter.get(), "early", 5, kStart), MANKAI_OK) << mankai_last_error();
  ASSERT_EQ(mankai_insert_one_at(filter.get(), "late", 4, kStart + kHour), MANKAI_OK);
  const std::array keys{key_of("early"), key_of("late")};
  std::array<mankai_lately, 2> counts{};
  ASSERT_EQ(mankai_counts_lately(filter.get(), keys.data(), keys.size(), counts.data()), MANKAI_OK);
  EXPECT_NEAR(counts[0].raw, 0.5, 0.02);
  EXPECT_NEAR(counts[1].raw, 1, 0.02);
  ASSERT_EQ(mankai_advance(filter.get(), kStart + 2 * kHour), MANKAI_OK);
  mankai_lately later{};
  ASSERT_EQ(mankai_count_one_lately(filter.get(), "late", 4, &later), MANKAI_OK);
  EXPECT_NEAR(later.raw, 0.5, 0.02);
  EXPECT_EQ(mankai_advance(filter.get(), kStart), MANKAI_INVALID_ARGUMENT);
}

TEST(CChanges, merging_adds_the_keys_of_a_filter_made_alike) {
  const Handle first = create("bloom:keys=1000,seed=7");
  const Handle second = create("bloom:keys=1000,seed=7");
  const Handle other = create("bloom:keys=1000,seed=8");
  const Keys keys("key", 500);
  ASSERT_EQ(mankai_insert(second.get(), keys.data(), keys.size()), MANKAI_OK);
  ASSERT_EQ(mankai_merge(first.get(), second.get()), MANKAI_OK) << mankai_last_error();
  EXPECT_EQ(count_of(first.get(), keys), keys.size());
  EXPECT_EQ(mankai_merge(first.get(), other.get()), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_merge(first.get(), first.get()), MANKAI_INVALID_ARGUMENT);
  ASSERT_EQ(mankai_clear(first.get()), MANKAI_OK);
  EXPECT_EQ(count_of(first.get(), keys), 0U);
}

TEST(CChanges, what_a_kind_cannot_do_is_refused_with_those_that_can) {
  const Handle filter = create("bloom:keys=1000");
  const std::uint64_t id = 1;
  const mankai_key key = key_of("a");
  EXPECT_EQ(mankai_insert_with_ids(filter.get(), &key, &id, 1), MANKAI_INVALID_ARGUMENT);
  EXPECT_NE(std::string(mankai_last_error()).find("scalable-counting-bloom"), std::string::npos);
  EXPECT_EQ(mankai_erase(filter.get(), &key, 1, nullptr), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_insert_one_at(filter.get(), "a", 1, 0), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_put_one(filter.get(), "a", 1, 1, 1.0), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_advance(filter.get(), 0), MANKAI_INVALID_ARGUMENT);
}

TEST(CChanges, no_keys_change_nothing) {
  const Handle filter = create("scalable-counting-bloom:keys=1000");
  EXPECT_EQ(mankai_insert(filter.get(), nullptr, 0), MANKAI_OK);
  EXPECT_EQ(mankai_insert_with_ids(filter.get(), nullptr, nullptr, 0), MANKAI_OK);
  EXPECT_EQ(mankai_erase(filter.get(), nullptr, 0, nullptr), MANKAI_OK);
  EXPECT_EQ(mankai_observe(filter.get(), nullptr, 0, nullptr), MANKAI_OK);
  EXPECT_EQ(mankai_insert_one(filter.get(), nullptr, 0), MANKAI_OK);  // the key of no bytes is a key
  bool is_in = false;
  EXPECT_EQ(mankai_may_contain_one(filter.get(), "", 0, &is_in), MANKAI_OK);
  EXPECT_TRUE(is_in);
}

}  // namespace
}  // namespace mankai::c
