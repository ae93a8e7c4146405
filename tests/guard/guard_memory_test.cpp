// What a guard says that it takes is what it takes: ids, exceptions with their texts, and what is removed from a base,
// beside the allocator's own count.

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>
#include <new>
#include <set>
#include <string>

#include "mankai/guard/detail/id_set.hpp"
#include "mankai/guard/guard.hpp"
#include "tests/support/failing_memory.hpp"
#include "tests/support/moving_memory.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {
namespace {

constexpr double kTolerance = 0.05;

std::uint64_t heap_in_use() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

std::uint64_t counted(const Guard& guard) {
  const GuardFacts facts = guard.facts();
  return facts.overlay_bytes + facts.removed_bytes + facts.exceptions_bytes;
}

std::string numbered_rule(std::uint64_t number) { return "h" + std::to_string(number) + ".example"; }

std::string long_rule(std::uint64_t number, std::size_t bytes) {
  return numbered_rule(number) + "/" + std::string(bytes, 'x');
}

// Sanitizers bring an allocator that counts nothing.
class GuardMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (heap_in_use() == 0) {
      GTEST_SKIP() << "this allocator does not count";
    }
  }

  // Makes the changes, and compares what they took.
  template <class Change>
  static void expect_counted(const Guard& guard, const Change& change) {
    const std::uint64_t heap_before = heap_in_use();
    const std::uint64_t before = counted(guard);
    change();
    const auto took = static_cast<double>(heap_in_use() - heap_before);
    EXPECT_NEAR(static_cast<double>(counted(guard) - before), took, took * kTolerance);
  }
};

TEST_F(GuardMemory, IdsAreCounted) {
  Guard guard = Guard::create().value();
  expect_counted(guard, [&] {
    for (std::uint64_t id = 20'000; id > 0; --id) {
      ASSERT_TRUE(guard.add("evil.example", id).value());
    }
  });
  EXPECT_GT(counted(guard), 20'000 * sizeof(std::uint64_t));
  ASSERT_EQ(guard.remove("evil.example").value(), RemoveOutcome::removed);
  EXPECT_LT(counted(guard), 20'000U);
}

TEST_F(GuardMemory, RulesAndTextsOfExceptionsAreCounted) {
  Guard guard = Guard::create().value();
  expect_counted(guard, [&] {
    for (std::uint64_t number = 0; number < 20'000; ++number) {
      ASSERT_TRUE(guard.add(numbered_rule(number)).value());
    }
  });
  const std::uint64_t before = counted(guard);
  expect_counted(guard, [&] {
    for (std::uint64_t number = 0; number < 300; ++number) {
      ASSERT_TRUE(guard.allow(long_rule(number, 5000)).value());
    }
  });
  EXPECT_GT(counted(guard) - before, 300U * 5000);
  for (std::uint64_t number = 0; number < 300; ++number) {
    ASSERT_TRUE(guard.disallow(long_rule(number, 5000)).value());
  }
  EXPECT_LT(counted(guard) - before, 300U * 500);
}

TEST_F(GuardMemory, WhatIsRemovedFromABaseIsCounted) {
  GuardBuilder builder = GuardBuilder::create().value();
  for (std::uint64_t number = 0; number < 20'000; ++number) {
    ASSERT_TRUE(builder.add_block(numbered_rule(number)).value());
  }
  Guard guard = builder.build().value();
  EXPECT_GE(guard.facts().region_bytes, guard.facts().base_bytes + guard.facts().rules_bytes);
  expect_counted(guard, [&] {
    for (std::uint64_t number = 0; number < 20'000; ++number) {
      ASSERT_EQ(guard.remove(numbered_rule(number)).value(), RemoveOutcome::removed);
    }
  });
  const std::uint64_t full = counted(guard);
  EXPECT_GT(full, 20'000 * sizeof(std::uint64_t));
  for (std::uint64_t number = 0; number < 20'000; ++number) {
    ASSERT_TRUE(guard.add(numbered_rule(number)).value());
  }
  EXPECT_LT(counted(guard), full / 2);  // but for the places of a table
}

TEST(GuardGrowth, NoChangeTakesMoreThanWasSaid) {
  Random random(7);
  Guard guard = Guard::create().value();
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t before = counted(guard);
    const std::uint64_t growth = guard.growth_bytes();
    const std::string rule = long_rule(random.below(5000), random.below(40)) + (random.below(4) == 0 ? "?q" : "");
    std::uint64_t text = 0;
    if (random.below(2) == 0) {
      ASSERT_TRUE(guard.add(rule, random.below(4)));
    } else {
      ASSERT_TRUE(guard.allow(rule));
      text = detail::heap_bytes(rule.size() + 1);
    }
    ASSERT_LE(counted(guard), before + growth + text) << step;
  }
}

TEST(GuardMemoryUse, ABuildTakesAtMost48BytesPerNode) {
  constexpr std::uint64_t kRules = 100'000;
  const std::size_t before = allocated_bytes;
  most_allocated_bytes = before;
  GuardBuilder builder = GuardBuilder::create().value();
  for (std::uint64_t number = 0; number < kRules; ++number) {
    ASSERT_TRUE(builder.add_block(long_rule(number, 1)).value());
  }
  const Guard guard = builder.build().value();
  ASSERT_EQ(guard.facts().base_keys, 2 * kRules);
  EXPECT_LE(most_allocated_bytes - before, 48 * guard.facts().base_keys);
}

TEST(GuardMemoryUse, WhatIsReadBackHoldsNoBytesWithoutABase) {
  Guard guard = Guard::create().value();
  ASSERT_TRUE(guard.add("evil.example").value());
  const Guard read = Guard::from_bytes(guard.to_bytes()).value();
  EXPECT_EQ(read.facts().region_bytes, 0U);
  EXPECT_EQ(read.to_bytes(), guard.to_bytes());
}

TEST(GuardMemoryUse, OnlyWhatIsTakenFromABaseIsKept) {
  GuardBuilder builder = GuardBuilder::create().value();
  ASSERT_TRUE(builder.add_block("listed.example").value());
  Guard guard = builder.build().value();
  ASSERT_TRUE(guard.add("added.example").value());
  EXPECT_TRUE(guard.is_removal_kept("listed.example").value());
  EXPECT_FALSE(guard.is_removal_kept("added.example").value());
  EXPECT_FALSE(guard.is_removal_kept("other.example").value());
  EXPECT_FALSE(guard.is_removal_kept("mailto:x"));
  ASSERT_EQ(guard.remove("listed.example").value(), RemoveOutcome::removed);
  EXPECT_FALSE(guard.is_removal_kept("listed.example").value());
}

TEST(GuardMemoryUse, IsWhatItWasWhenItsBytesHaveMoved) {
  for (const bool keeps_rules : {true, false}) {
    GuardBuilder builder = GuardBuilder::create({.keeps_rules = keeps_rules}).value();
    for (std::uint64_t number = 0; number < 500; ++number) {
      ASSERT_TRUE(builder.add_block(long_rule(number, number % 3)).value());
    }
    Guard guard = builder.build().value();
    ASSERT_EQ(guard.remove(long_rule(0, 0)).value(), RemoveOutcome::removed);
    const auto bytes = guard.to_bytes();
    int moved = 0;
    guard.relocate({.move = move_away, .context = &moved});
    EXPECT_EQ(moved, 1);
    EXPECT_EQ(guard.to_bytes(), bytes);
    GuardScratch scratch;
    for (std::uint64_t number = 1; number < 500; ++number) {
      const std::string rule = long_rule(number, number % 3);
      ASSERT_EQ(guard.check(rule, scratch).answer, Verdict::Answer::blocked) << rule;
      ASSERT_EQ(guard.is_removal_kept(rule).value(), true) << rule;
    }
    guard.relocate({.move = leave, .context = nullptr});
    EXPECT_EQ(guard.check(long_rule(1, 1), scratch).answer, Verdict::Answer::blocked);
  }
}

// Makes a change with no memory at each of its allocations in turn, until there was enough. Returns how often it
// failed.
template <class Change>
int expect_whole_or_not_at_all(Guard& guard, const Change& change) {
  for (int allocation = 0;; ++allocation) {
    const auto before = guard.to_bytes();
    const GuardFacts facts = guard.facts();
    failing_allocation = allocation;
    try {
      change();
      failing_allocation.reset();
      return allocation;
    } catch (const std::bad_alloc&) {
      EXPECT_EQ(guard.to_bytes(), before) << allocation;
      EXPECT_EQ(guard.facts().removed_rules, facts.removed_rules) << allocation;
    }
  }
}

TEST(GuardMemoryUse, WhereMemoryEndsNothingHasChanged) {
  Guard guard = Guard::create().value();
  for (std::uint64_t id = 1; id < 6; ++id) {
    ASSERT_TRUE(guard.add("evil.example", id).value());
    ASSERT_TRUE(guard.add("shop.example/fraud", id).value());
  }
  ASSERT_TRUE(guard.compact());
  ASSERT_TRUE(guard.add("evil.example", 7).value());
  EXPECT_GT(expect_whole_or_not_at_all(guard, [&] { EXPECT_TRUE(guard.add("evil.example", 8).value()); }), 0);
  EXPECT_GT(expect_whole_or_not_at_all(guard, [&] { EXPECT_TRUE(guard.add("new.example/x", 1).value()); }), 0);
  EXPECT_GT(expect_whole_or_not_at_all(guard, [&] { EXPECT_TRUE(guard.allow("good.new.example/x").value()); }), 0);
  const auto removed = RemoveOutcome::removed;
  ASSERT_EQ(guard.remove("shop.example/fraud", 3).value(), RemoveOutcome::still_held);
  EXPECT_GT(expect_whole_or_not_at_all(guard, [&] { EXPECT_EQ(guard.remove("evil.example").value(), removed); }), 3);
  EXPECT_GT(expect_whole_or_not_at_all(guard, [&] { EXPECT_EQ(guard.remove("shop.example/fraud").value(), removed); }),
            3);
  EXPECT_EQ(guard.facts().removed_rules, 2U);
}

TEST(IdSet, IsWhatASetIs) {
  Random random(3);
  detail::IdSet ids;
  std::set<std::uint64_t> model;
  for (int step = 0; step < 20'000; ++step) {
    // Mostly a handful, so that it is often empty or has one.
    const std::uint64_t id = random.below(step % 5000 < 2500 ? 3 : 200);
    if (random.below(2) == 0) {
      ASSERT_EQ(ids.insert(id), model.insert(id).second);
    } else {
      ASSERT_EQ(ids.erase(id), model.erase(id) == 1);
    }
    ASSERT_EQ(ids.size(), model.size());
    ASSERT_EQ(ids.is_empty(), model.empty());
    ASSERT_EQ(ids.memory_bytes() == 0, model.size() < 2);
    auto next = model.begin();
    ids.for_each([&](std::uint64_t each) { ASSERT_EQ(each, *next++); });
    ASSERT_EQ(ids.contains(id), model.contains(id));
  }
}

// With a sorted vector this took eight seconds.
TEST(IdSet, TakesIdsInFallingOrder) {
  constexpr std::uint64_t kIds = 200'000;
  Guard guard = Guard::create().value();
  for (std::uint64_t id = kIds; id > 0; --id) {
    ASSERT_TRUE(guard.add("evil.example", id).value());
  }
  Guard read = Guard::from_bytes(guard.to_bytes()).value();
  ASSERT_TRUE(guard.compact());
  for (std::uint64_t id = 1; id < 1000; ++id) {
    ASSERT_EQ(read.remove("evil.example", id).value(), RemoveOutcome::still_held);
    ASSERT_EQ(guard.remove("evil.example", id).value(), RemoveOutcome::still_held);
  }
}

}  // namespace
}  // namespace mankai::test
