#include "mankai/filter/recent_values/recent_values.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "tests/support/filter_request.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {
namespace {

RecentValues array_for(std::uint64_t keys, std::uint32_t k = RecentValues::kDefaultK, const HashSpec& hash = kXxh3) {
  return RecentValues::create({.keys = keys, .k = k, .hash = hash}).value();
}

/// Values whose every bit tells keys apart.
std::uint32_t value_of(Digest key) { return static_cast<std::uint32_t>(key.value >> 7); }

TEST(RecentValues, an_empty_array_knows_no_values) {
  const auto recent = array_for(100);
  for (const Digest key : Random(1).digests(1000)) {
    ASSERT_TRUE(recent.get(key, 1).empty());
    ASSERT_EQ(recent.count(key, 0), 0U);
    ASSERT_EQ(recent.count(key, 12345), 0U);
  }
  EXPECT_EQ(recent.fill_ratio(), 0);
  EXPECT_EQ(recent.keys_estimate(), 0);
}

// Half of the cells that are still open: 6 of 12, then 3 of 6, 2 of 3, 1 of 1.
TEST(RecentValues, a_value_that_comes_again_takes_half_of_what_is_open) {
  for (const Digest key : Random(2).digests(50)) {
    auto recent = array_for(1000);
    for (const std::uint32_t expected : {6U, 9U, 11U, 12U, 12U}) {
      recent.put(key, 77);
      ASSERT_EQ(recent.count(key, 77), expected);
    }
    EXPECT_EQ(recent.get(key, 1), (std::vector<ValueMatches>{{.value = 77, .matches = 12}}));
    EXPECT_EQ(recent.keys_inserted(), 5U);
  }
}

TEST(RecentValues, strength_says_how_many_of_the_open_cells_are_taken) {
  struct Case {
    double strength;
    std::uint32_t taken;
  };
  for (const Case& each : {Case{1e-9, 1}, Case{0.25, 3}, Case{0.5, 6}, Case{0.51, 7}, Case{1.0, 12}}) {
    auto recent = array_for(1000);
    recent.put(Digest{99}, 5, each.strength);
    EXPECT_EQ(recent.count(Digest{99}, 5), each.taken) << each.strength;
  }
}

TEST(RecentValues, every_value_there_is_can_be_put) {
  auto recent = array_for(1000);
  for (const std::uint32_t value : {0U, 1U, 0x80000000U, ~0U}) {
    recent.put(Digest{5}, value, 1);
    EXPECT_EQ(recent.count(Digest{5}, value), 12U);
    EXPECT_EQ(recent.get(Digest{5}), (std::vector<ValueMatches>{{.value = value, .matches = 12}}));
  }
}

// A put takes half of a key's cells, whatever they held: the value put j puts ago is left in 6 / 2^j of them in the
// mean. The variance of a hypergeometric draw is below that of a binomial one, m / 4 for each halving of m.
TEST(RecentValues, values_fade_by_halves_and_rank_by_how_lately_they_came) {
  constexpr std::size_t kKeys = 3000;
  auto recent = array_for(1'000'000);
  const auto keys = Random(3).digests(kKeys);
  for (std::uint32_t value = 0; value < 4; ++value) {
    for (const Digest key : keys) {
      recent.put(key, value);
    }
  }
  for (std::uint32_t age = 0; age < 4; ++age) {
    double sum = 0;
    for (const Digest key : keys) {
      sum += recent.count(key, 3 - age);
    }
    const double mean = 6 / std::exp2(age);
    // Absent keys take a little: 3000 keys of a million.
    EXPECT_NEAR(sum / kKeys, mean, 4 * std::sqrt(mean / kKeys) + mean * 0.01) << age;
  }
  std::size_t newest_first = 0;
  for (const Digest key : keys) {
    const auto ranked = recent.get(key, 1);
    newest_first += ranked.front().value == 3 && ranked.front().matches > (ranked.size() > 1 ? ranked[1].matches : 0);
    EXPECT_TRUE(std::ranges::is_sorted(ranked, std::ranges::greater{}, &ValueMatches::matches));
  }
  // All but where the one before kept its six: 1 of C(12, 6) = 924 draws.
  EXPECT_GT(newest_first, kKeys * 99 / 100);
}

// Each key's value put once with full strength: the array is then half full, and the first keys have lost half.
TEST(RecentValues, at_half_load_the_first_value_is_right_for_99_of_100_keys) {
  constexpr std::size_t kKeys = 20'000;
  auto recent = array_for(kKeys);
  const auto keys = Random(4).digests(kKeys);
  for (const Digest key : keys) {
    recent.put(key, value_of(key), 1);
  }
  EXPECT_NEAR(recent.fill_ratio(), 0.5, 0.005);
  std::size_t right = 0;
  for (const Digest key : keys) {
    const auto ranked = recent.get(key);
    right += !ranked.empty() && ranked.front().value == value_of(key) ? 1U : 0U;
  }
  EXPECT_GE(right, kKeys * 99 / 100);
  EXPECT_NEAR(recent.keys_estimate(), kKeys, kKeys * 0.02);
}

// The same with the default strength, put twice: 9 of 12 cells.
TEST(RecentValues, at_half_load_two_puts_of_half_strength_do_as_well) {
  auto recent = array_for(20'000);
  const auto keys = Random(5).digests(26'000);  // .75 of the cells each
  for (const Digest key : keys) {
    recent.put(key, value_of(key));
    recent.put(key, value_of(key));
  }
  EXPECT_NEAR(recent.fill_ratio(), 0.5, 0.02);
  std::size_t right = 0;
  for (const Digest key : keys) {
    const auto ranked = recent.get(key);
    right += !ranked.empty() && ranked.front().value == value_of(key) ? 1U : 0U;
  }
  EXPECT_GE(right, keys.size() * 99 / 100);
}

TEST(RecentValues, absent_keys_see_values_that_come_once_each_as_the_formula_says) {
  auto recent = array_for(10'000);
  for (const Digest key : Random(6).digests(7000)) {
    recent.put(key, 42, 1);  // one value everywhere: without the salt every absent key would find it
  }
  constexpr std::size_t kAbsentKeys = 20'000;
  std::size_t junk = 0;
  for (const Digest absent_key : Random(7).digests(kAbsentKeys)) {
    junk += recent.get(absent_key, 1).size();
    ASSERT_TRUE(recent.get(absent_key, 2).empty());  // expected 66 · fill² · 2^-32 an absent key: 5e-5 in all
    ASSERT_EQ(recent.count(absent_key, 42), 0U);
  }
  const double mean = 12 * recent.fill_ratio();
  EXPECT_NEAR(static_cast<double>(junk) / kAbsentKeys, mean, 4 * std::sqrt(mean / kAbsentKeys));
  EXPECT_NEAR(recent.fpr_estimate(), mean / 4294967296.0, 1e-15);
}

TEST(RecentValues, the_fill_follows_its_formula) {
  for (const double strength : {0.25, 0.5, 1.0}) {
    auto recent = RecentValues::create({.cells_per_probe = 5000, .hash = kXxh3}).value();
    const double taken = std::ceil(12 * strength);
    for (const Digest key : Random(8).digests(8000)) {
      recent.put(key, 1, strength);
    }
    const double cells = 12 * 5000;
    const double fill = -std::expm1(8000 * std::log1p(-taken / cells));
    EXPECT_NEAR(recent.fill_ratio(), fill, 4 * std::sqrt(fill * (1 - fill) / cells));
  }
}

TEST(RecentValues, batches_agree_with_single_calls_and_runs_repeat) {
  for (const std::uint64_t keys_wanted : {50U, 60'000U}) {  // in cache and beyond
    auto single = array_for(keys_wanted);
    auto batch = array_for(keys_wanted);
    Random random(9);
    std::vector<Digest> keys;
    std::vector<std::uint32_t> values;
    for (int i = 0; i < 2000; ++i) {
      keys.push_back(Digest{random.below(100) * 0x9e3779b97f4a7c15U});
      values.push_back(static_cast<std::uint32_t>(random.below(5)));
      single.put(keys.back(), values.back());
    }
    batch.put(keys, values);
    EXPECT_EQ(batch.to_bytes(), single.to_bytes());
    std::vector<std::uint32_t> counts(keys.size());
    batch.count(keys, values, counts);
    std::vector<ValueMatches> firsts(keys.size());
    batch.first(keys, firsts);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(counts[i], single.count(keys[i], values[i]));
      const auto ranked = single.get(keys[i]);
      ASSERT_EQ(firsts[i], ranked.empty() ? ValueMatches{} : ranked.front());
    }
  }
}

// The rank is what counting says, value by value, and as much of it as there is room for.
TEST(RecentValues, the_rank_agrees_with_the_counts) {
  auto recent = array_for(30);
  Random random(10);
  for (int i = 0; i < 3000; ++i) {
    const Digest key{(1 + random.below(20)) * 0x9e3779b97f4a7c15U};
    recent.put(key, static_cast<std::uint32_t>(random.below(6)), 0.3);
    const auto ranked = recent.get(key, 1);
    std::uint32_t total = 0;
    for (const ValueMatches& each : ranked) {
      ASSERT_EQ(recent.count(key, each.value), each.matches);
      total += each.matches;
    }
    ASSERT_LE(total, 12U);
    std::vector<ValueMatches> two(2);
    two.resize(recent.get(key, two, 1));
    ASSERT_EQ(two, std::vector<ValueMatches>(ranked.begin(), ranked.begin() + static_cast<long>(two.size())));
  }
}

// With full strength every one of the key's cells is written: those of the format's words, and no others.
TEST(RecentValues, the_cells_are_what_the_format_says) {
  for (const Digest key : Random(11).digests(100)) {
    auto recent = RecentValues::create({.cells_per_probe = 37, .k = 5, .hash = kXxh3}).value();
    recent.put(key, 0xabcdef01U, 1);
    std::vector<std::uint32_t> model(recent.cell_count(), 0);
    std::uint64_t place = key.value | 1;
    std::uint64_t salt = (key.value ^ key.value >> 32) * 0x9e3779b97f4a7c15U | 1;
    for (std::size_t i = 0; i < 5; ++i) {
      model[i * 37 + fastrange(place, 37)] = 0xabcdef01U ^ static_cast<std::uint32_t>(salt >> 32);
      place *= 0xf1357aea2e62a9c5U;
      salt *= 0xf1357aea2e62a9c5U;
    }
    const auto bytes = recent.to_bytes();
    EXPECT_EQ(std::memcmp(bytes.data() + sizeof(ImageHeader), model.data(), model.size() * 4), 0);
  }
}

TEST(RecentValues, an_image_comes_back_and_goes_on_as_if_it_had_not_left) {
  auto recent = array_for(200, 7, kSiphash);
  const auto keys = Random(12).digests(500);
  for (const Digest key : keys) {
    recent.put(key, value_of(key));
  }
  auto again = RecentValues::from_bytes(recent.to_bytes());
  ASSERT_TRUE(again.has_value()) << again.error().detail;
  for (const Digest key : keys) {
    EXPECT_EQ(again->get(key, 1), recent.get(key, 1));
    recent.put(key, 3);
    again->put(key, 3);
  }
  EXPECT_EQ(again->to_bytes(), recent.to_bytes());
  const auto like = recent.create_like();
  recent.clear();
  EXPECT_EQ(like->to_bytes(), recent.to_bytes());
}

TEST(RecentValues, what_cannot_be_made_is_refused) {
  const auto refused = [](const RecentValues::Options& options) {
    const auto recent = RecentValues::create(options);
    return !recent && recent.error().code == ErrorCode::invalid_argument;
  };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused({.keys = 10, .k = 0}));
  EXPECT_TRUE(refused({.keys = 10, .k = 65}));
  EXPECT_TRUE(refused({.keys = ~std::uint64_t{0}}));
  EXPECT_TRUE(refused({.cells_per_probe = ~std::uint64_t{0}}));
  const auto smallest = RecentValues::create({.cells_per_probe = 1, .k = 1});
  ASSERT_TRUE(smallest.has_value());
  EXPECT_EQ(smallest->capacity_keys(), 1U);
  EXPECT_EQ(smallest->fpr_expected(0), 0);
}

}  // namespace
}  // namespace mankai::test
