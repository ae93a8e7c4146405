#include <array>
#include <cstring>

#include "mankai/c/c_test_support.hpp"
#include "mankai/filter/kind.hpp"

namespace mankai::c {
namespace {

TEST(CQuestions, a_single_question_has_the_answer_of_a_batch) {
  const Keys keys("key", 3000);
  for (const KindDescription* kind : kinds()) {
    for (const std::string options : {":keys=1000,seed=7", ":keys=1000,seed=7,canonical=yes"}) {
      mankai_filter* made = nullptr;
      if (mankai_create((std::string(kind->name) + options).c_str(), &made) != MANKAI_OK) {
        continue;  // kinds of URLs and of names
      }
      const Handle filter(made);
      ASSERT_EQ(mankai_insert(filter.get(), keys.data(), 800), MANKAI_OK) << kind->name;
      const std::vector<bool> answers = ask(filter.get(), keys);
      EXPECT_GE(std::count(answers.begin(), answers.end(), true), 100) << kind->name;
      for (std::size_t i = 0; i < keys.size(); ++i) {
        bool outcome = !answers[i];
        ASSERT_EQ(mankai_may_contain_one(filter.get(), keys[i].data(), keys[i].size(), &outcome), MANKAI_OK);
        ASSERT_EQ(outcome, answers[i]) << kind->name << options << ' ' << i;
      }
    }
  }
}

TEST(CQuestions, counts_are_never_too_little) {
  const Keys keys("key", 3000);
  const Handle filter = create("counting-bloom:keys=10000,seed=7");
  for (int times = 0; times < 3; ++times) {
    ASSERT_EQ(mankai_insert(filter.get(), keys.data(), keys.size()), MANKAI_OK);
  }
  std::vector<mankai_count> counts(keys.size());
  ASSERT_EQ(mankai_counts(filter.get(), keys.data(), keys.size(), counts.data()), MANKAI_OK) << mankai_last_error();
  for (const mankai_count& count : counts) {
    EXPECT_GE(count.value, 3U);
    EXPECT_FALSE(count.is_saturated);
  }
  for (int times = 0; times < 20; ++times) {
    ASSERT_EQ(mankai_insert_one(filter.get(), "often", 5), MANKAI_OK);
  }
  mankai_count often{};
  ASSERT_EQ(mankai_count_one(filter.get(), "often", 5, &often), MANKAI_OK);
  EXPECT_TRUE(often.is_saturated);
}

TEST(CQuestions, values_come_back_strongest_first_as_far_as_there_is_room) {
  const Handle filter = create("recent-values:keys=1000,seed=7");
  ASSERT_EQ(mankai_put_one(filter.get(), "query", 5, 11, 1.0), MANKAI_OK) << mankai_last_error();
  ASSERT_EQ(mankai_put_one(filter.get(), "query", 5, 22, 0.25), MANKAI_OK);
  std::array<mankai_value, 4> values{};
  std::size_t count = 0;
  ASSERT_EQ(mankai_recall(filter.get(), "query", 5, 1, values.data(), values.size(), &count), MANKAI_OK);
  ASSERT_EQ(count, 2U);
  EXPECT_EQ(values[0].value, 11U);
  EXPECT_EQ(values[1].value, 22U);
  EXPECT_GT(values[0].matches, values[1].matches);
  ASSERT_EQ(mankai_recall(filter.get(), "query", 5, 1, values.data(), 1, &count), MANKAI_OK);
  EXPECT_EQ(count, 1U);
  ASSERT_EQ(mankai_recall(filter.get(), "query", 5, 1, nullptr, 0, &count), MANKAI_OK);
  EXPECT_EQ(count, 0U);
}

TEST(CQuestions, the_hottest_keys_come_with_their_bytes) {
  const Handle filter = create("decayed-top:keys=1000,half-life=1h,seed=7");
  mankai_top_entry* entries = nullptr;
  std::size_t count = 1;
  ASSERT_EQ(mankai_top(filter.get(), 10, &entries, &count), MANKAI_OK);
  EXPECT_EQ(count, 0U);
  EXPECT_EQ(entries, nullptr);
  for (int times = 0; times < 3; ++times) {
    ASSERT_EQ(mankai_insert_one_at(filter.get(), "hot", 3, 1'000'000), MANKAI_OK);
  }
  ASSERT_EQ(mankai_insert_one_at(filter.get(), "warm", 4, 2'000'000), MANKAI_OK);
  ASSERT_EQ(mankai_top(filter.get(), 10, &entries, &count), MANKAI_OK);
  ASSERT_EQ(count, 2U);
  EXPECT_EQ(std::string(entries[0].key, entries[0].bytes), "hot");
  EXPECT_EQ(std::string(entries[1].key, entries[1].bytes), "warm");
  EXPECT_EQ(entries[1].last_seen_us, 2'000'000);
  EXPECT_NEAR(entries[0].count.raw, 3, 0.1);
  EXPECT_FALSE(entries[0].is_cut);
  ASSERT_EQ(mankai_clear(filter.get()), MANKAI_OK);
  EXPECT_EQ(std::string(entries[0].key, entries[0].bytes), "hot");  // memory of their own
  mankai_free(entries);
  const Handle plain = create("bloom:keys=10");
  EXPECT_EQ(mankai_top(plain.get(), 10, &entries, &count), MANKAI_INVALID_ARGUMENT);
}

TEST(CQuestions, what_a_filter_is) {
  const Handle filter = create("scalable-counting-bloom:keys=1000,fpr=0.02,seed=7");
  ASSERT_EQ(mankai_insert_one(filter.get(), "a", 1), MANKAI_OK);
  mankai_info info{};
  info.size = sizeof(info);
  ASSERT_EQ(mankai_get_info(filter.get(), &info), MANKAI_OK) << mankai_last_error();
  EXPECT_STREQ(info.kind, "scalable-counting-bloom");
  EXPECT_GE(info.capacity_keys, 1000U);
  EXPECT_EQ(info.keys_inserted, 1U);
  EXPECT_GT(info.image_bytes, 1000U);
  EXPECT_DOUBLE_EQ(info.fpr_target, 0.02);
  EXPECT_FALSE(info.is_in_file);
  EXPECT_FALSE(info.has_time);
  EXPECT_TRUE(info.can_erase);
  EXPECT_TRUE(info.can_count);
  EXPECT_TRUE(info.takes_ids);
  EXPECT_FALSE(info.takes_values);
  mankai_estimates estimates{};
  estimates.size = sizeof(estimates);
  ASSERT_EQ(mankai_estimate(filter.get(), &estimates), MANKAI_OK);
  EXPECT_GT(estimates.fill_ratio, 0);
  EXPECT_NEAR(estimates.keys_estimate, 1, 0.5);
}

TEST(CQuestions, a_spec_makes_such_a_filter_again) {
  const Handle filter = create("bloom:keys=1000,fpr=0.02");
  char* spec = nullptr;
  ASSERT_EQ(mankai_spec(filter.get(), &spec), MANKAI_OK);
  const Handle again = create(spec);
  mankai_free(spec);
  EXPECT_EQ(mankai_merge(again.get(), filter.get()), MANKAI_OK) << mankai_last_error();  // as only equal ones do
}

TEST(CQuestions, an_older_program_gets_what_it_knows) {
  const Handle filter = create("bloom:keys=1000,fpr=0.02");
  mankai_info info;
  std::memset(&info, 0x5A, sizeof(info));
  info.size = offsetof(mankai_info, fpr_target);
  ASSERT_EQ(mankai_get_info(filter.get(), &info), MANKAI_OK);
  EXPECT_EQ(info.size, offsetof(mankai_info, fpr_target));
  EXPECT_EQ(info.capacity_keys, 1000U);
  std::uint64_t untouched = 0;
  std::memcpy(&untouched, &info.fpr_target, sizeof(untouched));
  EXPECT_EQ(untouched, 0x5A5A'5A5A'5A5A'5A5AU);
  info.size = 0;
  EXPECT_EQ(mankai_get_info(filter.get(), &info), MANKAI_INVALID_ARGUMENT);
}

TEST(CQuestions, an_image_is_the_filter) {
  const Keys keys("key", 5000);
  for (const std::string kind : {"blocked-bloom", "scalable-bloom", "decayed-top", "layered-url-bloom"}) {
    const Handle filter = create(kind + ":keys=2000");
    ASSERT_EQ(mankai_insert(filter.get(), keys.data(), keys.size()), MANKAI_OK);
    void* image = nullptr;
    std::size_t bytes = 0;
    ASSERT_EQ(mankai_to_image(filter.get(), &image, &bytes), MANKAI_OK);
    mankai_filter* copy = nullptr;
    ASSERT_EQ(mankai_from_image(image, bytes, &copy), MANKAI_OK) << mankai_last_error();
    const Handle closed_later(copy);
    EXPECT_EQ(ask(copy, keys), ask(filter.get(), keys)) << kind;
    EXPECT_EQ(mankai_insert_one(copy, "more", 4), MANKAI_OK);
    static_cast<unsigned char*>(image)[bytes / 2] ^= 1U;
    EXPECT_EQ(mankai_from_image(image, bytes, &copy), MANKAI_CORRUPT) << kind;
    EXPECT_EQ(copy, nullptr);
    EXPECT_EQ(mankai_from_image(image, 5, &copy), MANKAI_CORRUPT);
    EXPECT_EQ(mankai_from_image(image, 0, &copy), MANKAI_CORRUPT);
    mankai_free(image);
  }
}

}  // namespace
}  // namespace mankai::c
