// What was changed in a guard of lists is found, and made again in a guard of newer lists.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/guard/guard.hpp"
#include "tests/support/random.hpp"

namespace mankai {
namespace {

using test::Random;

using Texts = std::vector<std::string>;

const GuardSettings kExact{.seed = {{1, 2}}, .is_exact = true};

Guard built_of(const Texts& rules, const Texts& exceptions = {}) {
  auto builder = GuardBuilder::create(kExact).value();
  for (const std::string& rule : rules) {
    EXPECT_TRUE(builder.add_block(rule).has_value());
  }
  for (const std::string& exception : exceptions) {
    EXPECT_TRUE(builder.add_allow(exception).has_value());
  }
  return builder.build().value();
}

Guard copy_of(const Guard& guard) { return Guard::from_bytes(guard.to_bytes()).value(); }

Verdict::Answer answer(const Guard& guard, std::string_view url) {
  GuardScratch scratch;
  return guard.check(url, scratch).answer;
}

TEST(GuardChanges, of_an_unchanged_guard_are_none) {
  const Guard guard = built_of({"a.example", "a.example/x", "zip", "b.example?q=1"}, {"good.a.example"});
  EXPECT_EQ(guard.changes_since(guard)->size(), 0U);
  Guard compacted = copy_of(guard);
  EXPECT_TRUE(compacted.compact().has_value());
  EXPECT_EQ(compacted.changes_since(guard)->size(), 0U);
  EXPECT_EQ(Guard::create(kExact)->changes_since(Guard::create(kExact).value())->size(), 0U);
}

TEST(GuardChanges, are_made_again_in_newer_lists) {
  const Guard before = built_of({"a.example", "b.example", "c.example", "zip"}, {"good.a.example", "good.b.example"});
  Guard after = copy_of(before);
  EXPECT_TRUE(*after.add("own.example"));
  EXPECT_TRUE(*after.add("a.example", 7));
  EXPECT_EQ(*after.remove("b.example"), RemoveOutcome::removed);
  EXPECT_EQ(*after.remove("c.example"), RemoveOutcome::removed);
  EXPECT_EQ(*after.remove("zip"), RemoveOutcome::removed);
  EXPECT_TRUE(*after.allow("fine.own.example"));
  EXPECT_TRUE(*after.disallow("good.b.example"));
  for (const bool is_compacted : {false, true}) {
    if (is_compacted) {
      ASSERT_TRUE(after.compact().has_value());
    }
    const auto changes = after.changes_since(before).value();
    EXPECT_EQ(changes.size(), 7U);
    Guard newer = built_of({"b.example", "zip", "d.example"}, {"good.a.example", "good.b.example"});
    // c.example is no rule any more, so there is nothing to remove.
    EXPECT_EQ(newer.repeat(changes).value(), 6U);
    EXPECT_EQ(answer(newer, "own.example"), Verdict::Answer::blocked);
    EXPECT_EQ(answer(newer, "fine.own.example"), Verdict::Answer::allowed);
    EXPECT_EQ(answer(newer, "a.example"), Verdict::Answer::blocked);
    EXPECT_EQ(answer(newer, "good.a.example"), Verdict::Answer::allowed);
    EXPECT_EQ(answer(newer, "b.example"), Verdict::Answer::ok);
    EXPECT_EQ(answer(newer, "x.zip"), Verdict::Answer::ok);
    EXPECT_EQ(answer(newer, "d.example"), Verdict::Answer::blocked);
    EXPECT_EQ(newer.exceptions(), (Texts{"fine.own.example", "good.a.example"}));
    EXPECT_EQ(newer.repeat(changes).value(), 0U);
  }
}

TEST(GuardChanges, need_one_hash_and_the_rules) {
  const Guard guard = built_of({"a.example"});
  GuardSettings other = kExact;
  other.seed = {{3, 4}};
  EXPECT_EQ(guard.changes_since(Guard::create(other).value()).error().code, ErrorCode::invalid_argument);
  auto builder = GuardBuilder::create({.seed = {{1, 2}}, .keeps_rules = false}).value();
  EXPECT_TRUE(builder.add_block("a.example").has_value());
  EXPECT_EQ(guard.changes_since(builder.build().value()).error().code, ErrorCode::invalid_argument);
  const GuardSettings settings = guard.settings();
  EXPECT_EQ(settings.seed, kExact.seed);
  EXPECT_EQ(guard.changes_since(Guard::create(settings).value())->size(), 1U);
}

TEST(GuardChanges, random_ones_hold_in_random_lists) {
  Random random(19);
  const auto rule = [&] {
    std::string text =
        std::string(1, static_cast<char>('a' + random.below(6))) + (random.below(8) == 0   ? ""
                                                                    : random.below(2) == 0 ? ".example"
                                                                                           : ".b.example");
    return text + (random.below(2) == 0 ? "" : "/" + std::string(1, static_cast<char>('x' + random.below(3))));
  };
  const auto list = [&] {
    Texts texts(random.below(20));
    std::ranges::generate(texts, rule);
    return texts;
  };
  for (int round = 0; round < 300; ++round) {
    const Guard before = built_of(list(), list());
    Guard after = copy_of(before);
    for (std::size_t i = random.below(12); i > 0; --i) {
      switch (random.below(5)) {
        case 0: ASSERT_TRUE(after.add(rule(), random.below(3)).has_value()); break;
        case 1: ASSERT_TRUE(after.remove(rule()).has_value()); break;
        case 2: ASSERT_TRUE(after.remove(rule(), random.below(3)).has_value()); break;
        case 3: ASSERT_TRUE(after.allow(rule()).has_value()); break;
        default: ASSERT_TRUE(after.disallow(rule()).has_value()); break;
      }
    }
    if (random.below(3) == 0) {
      ASSERT_TRUE(after.compact().has_value());
    }
    const auto changes = after.changes_since(before).value();
    // The same changes of the same lists give the same guard.
    Guard again = copy_of(before);
    EXPECT_EQ(again.repeat(changes).value(), changes.size());
    EXPECT_EQ(again.changes_since(after)->size(), 0U);
    // In other lists nothing but these changes is changed, and each of them holds.
    const Guard lists = built_of(list(), list());
    Guard newer = copy_of(lists);
    const std::uint64_t made = newer.repeat(changes).value();
    EXPECT_EQ(newer.changes_since(lists)->size(), made);
    EXPECT_EQ(newer.repeat(changes).value(), 0U);
  }
}

}  // namespace
}  // namespace mankai
