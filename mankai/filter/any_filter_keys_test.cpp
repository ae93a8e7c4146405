// Key bytes into any filter and out of it: each kind must answer as its own calls do, with keys turned into digests as
// its shape says.

#include "mankai/filter/any_filter.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "mankai/filter/cuckoo/cuckoo.hpp"
#include "mankai/filter/decayed_top/decayed_top.hpp"
#include "mankai/filter/layered_url_bloom/layered_url_bloom.hpp"
#include "mankai/filter/recent_values/recent_values.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"

namespace mankai {
namespace {

using Views = std::vector<std::string_view>;

constexpr std::array<std::uint64_t, 2> kSeed{1, 0};

AnyFilter made(Kind kind, std::uint64_t keys = 2000) {
  return create_filter({.kind = kind, .keys = keys, .fpr = 1e-6, .seed = kSeed}).value();
}

std::vector<bool> asked(const AnyFilter& filter, const Views& keys) {
  const auto outcomes = std::make_unique<bool[]>(keys.size());
  filter.may_contain(keys, {outcomes.get(), keys.size()});
  return std::vector<bool>(outcomes.get(), outcomes.get() + keys.size());
}

std::vector<bool> observed(AnyFilter& filter, const Views& keys) {
  const auto outcomes = std::make_unique<bool[]>(keys.size());
  EXPECT_TRUE(filter.observe(keys, {outcomes.get(), keys.size()}));
  return std::vector<bool>(outcomes.get(), outcomes.get() + keys.size());
}

class KeysTest : public testing::Test {
 protected:
  // More than one window of every kind, with each key twice.
  KeysTest() {
    for (int i = 0; i < 6000; ++i) {
      storage_.push_back("example.org/" + std::to_string(i * 7919 % 3000));
    }
    storage_.emplace_back();
    storage_.emplace_back("nul\0byte", 8);
    keys_.assign(storage_.begin(), storage_.end());
  }
  [[nodiscard]] const Views& keys() const { return keys_; }

 private:
  std::vector<std::string> storage_;
  Views keys_;
};

// Kinds that forget as keys come let go of some of these.
bool keeps_all(const KindDescription& info) { return !info.forgets || info.has_time; }

TEST_F(KeysTest, every_kind_finds_what_was_inserted_and_batches_agree_with_single_keys) {
  for (const KindDescription* each : kinds()) {
    const KindDescription& info = *each;
    if (!keeps_all(info)) {
      continue;
    }
    AnyFilter batched = made(info.kind, 4000);
    AnyFilter single = made(info.kind, 4000);
    ASSERT_TRUE(batched.insert(keys()));
    for (const std::string_view key : keys()) {
      ASSERT_TRUE(single.insert({&key, 1}));
    }
    EXPECT_EQ(asked(batched, keys()), std::vector<bool>(keys().size(), true)) << info.name;
    EXPECT_EQ(batched.keys_inserted(), single.keys_inserted()) << info.name;
    EXPECT_EQ(asked(batched, {"example.org/3000", "absent key"}), std::vector<bool>(2, false)) << info.name;
  }
}

TEST_F(KeysTest, every_kind_observes_a_keys_second_time) {
  for (const KindDescription* each : kinds()) {
    const KindDescription& info = *each;
    if (!keeps_all(info)) {
      continue;
    }
    AnyFilter filter = made(info.kind, 4000);
    std::vector<bool> expected;
    std::map<std::string_view, int> times;
    for (const std::string_view key : keys()) {
      expected.push_back(times[key]++ > 0);
    }
    EXPECT_EQ(observed(filter, keys()), expected) << info.name;
  }
}

TEST_F(KeysTest, counts_and_erasures_follow_a_multiset) {
  for (const Kind kind : {Kind{CountingBloom::kKind}, Kind{ScalableCountingBloom::kKind}, Kind{Cuckoo::kKind}}) {
    AnyFilter filter = made(kind, kind == Kind{ScalableCountingBloom::kKind} ? 500 : 4000);
    ASSERT_TRUE(filter.insert(keys()));
    std::vector<KeyCount> counts(keys().size());
    ASSERT_TRUE(filter.count(keys(), counts).has_value());
    for (std::size_t i = 0; i < 6000; ++i) {
      ASSERT_EQ(counts[i], (KeyCount{.value = 2})) << keys()[i];
    }
    std::vector<EraseResult> results(keys().size());
    ASSERT_TRUE(filter.erase(Views(keys().begin(), keys().begin() + 3000), std::span(results).first(3000)));
    ASSERT_TRUE(filter.count(keys(), counts).has_value());
    // In slices a key's two insertions may be in two of them, and then it takes an id to say which one goes.
    for (std::size_t i = 0; i < 3000; ++i) {
      ASSERT_TRUE(results[i] == EraseResult::erased || kind == Kind{ScalableCountingBloom::kKind});
      ASSERT_EQ(counts[i].value, results[i] == EraseResult::erased ? 1U : 2U);
    }
    EraseResult absent_key{};
    const std::string_view key = "absent key";
    ASSERT_TRUE(filter.erase({&key, 1}, {&absent_key, 1}).has_value());
    EXPECT_EQ(absent_key, EraseResult::absent);
  }
}

TEST_F(KeysTest, kinds_that_cannot_are_refused_by_name_and_unchanged) {
  const Views one = {"a"};
  std::vector<EraseResult> results(1);
  std::vector<KeyCount> counts(1);
  std::vector<DecayedCount> decayed(1);
  for (const KindDescription* each : kinds()) {
    const KindDescription& info = *each;
    AnyFilter filter = made(info.kind);
    ASSERT_TRUE(filter.insert(one));
    for (const auto& [can, outcome] :
         {std::pair(info.can_count && !info.counts_decay, filter.count(one, counts)),
          std::pair(info.counts_decay, filter.count(one, decayed)),
          std::pair(filter.time().has_value(), filter.advance(Time(std::chrono::seconds(1'500'000'000)))),
          std::pair(info.can_erase, filter.erase(one, results))}) {
      ASSERT_EQ(outcome.has_value(), can) << info.name;
      if (!can) {
        EXPECT_EQ(outcome.error().code, ErrorCode::invalid_argument);
        EXPECT_NE(outcome.error().detail.find(info.name), std::string::npos) << outcome.error().detail;
      }
    }
    if (info.counts_decay) {
      const std::string refused = filter.count(one, counts).error().detail;
      EXPECT_EQ(refused.rfind(info.name), refused.find(info.name)) << "must not be among those that can: " << refused;
      EXPECT_NE(refused.find("has decayed counts only; supported by: counting-bloom"), std::string::npos) << refused;
    }
    if (!filter.time()) {
      EXPECT_EQ(asked(filter, one), std::vector<bool>(1, !info.can_erase)) << info.name;
    }
  }
}

TEST_F(KeysTest, kinds_with_time_stand_where_they_are_told_and_never_go_back) {
  const Time noon(std::chrono::seconds(1'500'000'000));
  for (const KindDescription* each : kinds()) {
    const KindDescription& info = *each;
    AnyFilter filter = made(info.kind);
    ASSERT_EQ(filter.time().has_value(), info.has_time && !info.has_ttl) << info.name;
    if (!filter.time()) {
      continue;
    }
    ASSERT_TRUE(filter.advance(noon)) << info.name;
    const Time stands = filter.time().value();
    EXPECT_LE(stands, noon);
    ASSERT_TRUE(filter.insert(keys()));
    EXPECT_TRUE(filter.advance(stands)) << "the same epoch is not back";
    EXPECT_FALSE(filter.advance(stands - Duration(1)));
    EXPECT_EQ(asked(filter, keys()), std::vector<bool>(keys().size(), true)) << info.name;
    filter.clear();
    EXPECT_EQ(filter.time(), stands) << "clear forgets keys, not the time";
    EXPECT_EQ(filter.keys_inserted(), 0U);
  }
}

TEST_F(KeysTest, counts_fade_and_hot_keys_keep_their_names) {
  const Time noon(std::chrono::seconds(1'500'000'000));
  for (const KindDescription* each : kinds()) {
    const KindDescription& info = *each;
    if (!info.counts_decay) {
      continue;
    }
    AnyFilter filter = create_filter({.kind = info.kind,
                                      .keys = 4000,
                                      .fpr = 1e-6,
                                      .seed = kSeed,
                                      .options = {{"lambda", "0.5"}, {"epoch", "1h"}}})
                           .value();
    ASSERT_TRUE(filter.advance(noon));
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(filter.insert(keys()));
    }
    std::vector<DecayedCount> counts(keys().size());
    ASSERT_TRUE(filter.count(keys(), counts));
    for (std::size_t i = 0; i < 6000; ++i) {
      ASSERT_EQ(counts[i].raw, 8) << info.name << " " << keys()[i];
      ASSERT_EQ(counts[i].rate, 4) << info.name;
    }
    ASSERT_TRUE(filter.advance(noon + std::chrono::hours(2)));
    ASSERT_TRUE(filter.count(keys(), counts));
    EXPECT_EQ(counts[0].raw, 2) << info.name;
  }
  AnyFilter top =
      create_filter({.kind = Kind{DecayedTop::kKind}, .seed = kSeed, .options = {{"bytes", "65536"}}}).value();
  ASSERT_TRUE(top.advance(noon));
  ASSERT_TRUE(top.insert(Views{"a", "b", "b"}));
  const auto entries = top.as<DecayedTop>()->top(2);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].key, "b");
  EXPECT_EQ(entries[1].key, "a");
}

TEST_F(KeysTest, values_come_back_with_their_keys) {
  AnyFilter filter = made(Kind{RecentValues::kKind});
  const Views some = {"shoes", "hats", "shoes"};
  const std::vector<std::uint32_t> values = {9, 4, 9};
  ChangeEncoder encoder(filter);
  ASSERT_TRUE(filter.apply(encoder.put(some, values, 0.5).value()));
  EXPECT_EQ(filter.recall("shoes", 2).value().front().value, 9U);
  EXPECT_EQ(filter.recall("hats", 2).value().front().value, 4U);
  EXPECT_TRUE(filter.recall("nobody", 2).value().empty());
  EXPECT_EQ(asked(filter, {"shoes", "nobody"}), (std::vector<bool>{true, false}));
  EXPECT_EQ(observed(filter, {"coats", "coats"}), (std::vector<bool>{false, true}));
}

TEST_F(KeysTest, spellings_of_a_url_are_one_key_and_what_is_no_url_is_a_key_too) {
  AnyFilter filter = made(Kind{LayeredUrlBloom::kKind});
  ASSERT_TRUE(filter.insert(Views{"HTTP://Example.org:80/a/../b", "mailto:me", ""}));
  EXPECT_EQ(asked(filter, {"example.org/b", "https://example.org/./b#x", "mailto:me", "", "example.org/a",
                           "example.org", "mailto:you", "/"}),
            (std::vector<bool>{true, true, true, true, false, false, false, false}));
  EXPECT_EQ(filter.keys_inserted(), 3U);
}

}  // namespace
}  // namespace mankai
