// Every MembershipFilter: what it promises, one call at a time, against an exact model.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "mankai/filter/time_decaying_counts/time_decaying_counts.hpp"
#include "tests/contract/contract_test_support.hpp"
#include "tests/support/counting_memory.hpp"
#include "tests/support/every_kind.hpp"
#include "tests/support/outcomes.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {
namespace {

class MembershipFilterContract : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(every_kind, MembershipFilterContract, testing::ValuesIn(shapes(keeps_keys)), test_name);

TEST_P(MembershipFilterContract, a_fresh_filter_contains_nothing) {
  const auto filter = make(GetParam());
  Random random(1);
  for (int i = 0; i < 10000; ++i) {
    ASSERT_FALSE(filter.may_contain(random.digest()));
  }
  EXPECT_EQ(filter.keys_inserted(), 0U);
  EXPECT_EQ(filter.fill_ratio(), 0);
  EXPECT_EQ(filter.fpr_estimate(), 0);
  EXPECT_EQ(filter.keys_estimate(), 0);
}

// Keys drawn from a small range, so that many come again, up to three times the capacity; after each thousand, every
// key of the exact set is asked for.
TEST_P(MembershipFilterContract, an_inserted_key_is_found_far_beyond_the_capacity) {
  for (const double fpr : {0.5, 0.1, 0.01, 1e-4}) {
    auto filter = make(GetParam(), {.keys = 2000, .fpr = fpr});
    const Hasher hash = filter.hasher();
    std::set<Digest> model;
    Random random(2);
    for (int i = 1; i <= 12000; ++i) {
      const Digest digest = hash(random.below(8000));
      filter.insert(digest);
      model.insert(digest);
      ASSERT_TRUE(filter.may_contain(digest));
      if (i % 1000 == 0) {
        expect_all_found(filter, model);
      }
    }
  }
}

TEST_P(MembershipFilterContract, extreme_digests_are_keys_like_any_other) {
  for (const std::uint64_t keys : {1U, 1000U, 1000000U}) {
    auto filter = make(GetParam(), {.keys = keys});
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
      filter.insert(Digest{value});
      EXPECT_TRUE(filter.may_contain(Digest{value})) << value;
    }
  }
}

TEST_P(MembershipFilterContract, observe_says_what_may_contain_said_and_inserts) {
  const std::uint64_t keys = GetParam().kind->can_grow ? 50 : 500;
  auto observed = make(GetParam(), {.keys = keys});
  auto inserted = make(GetParam(), {.keys = keys});
  Random random(3);
  const auto digests = random.digests(600);
  for (int i = 0; i < 3000; ++i) {
    const Digest digest = digests[random.below(digests.size())];
    const bool before = observed.may_contain(digest);
    ASSERT_EQ(observed.observe(digest), before);
    ASSERT_TRUE(observed.may_contain(digest));
    inserted.insert(digest);
  }
  EXPECT_EQ(observed.to_bytes(), inserted.to_bytes());
}

// A filter of bits counts the inserts that set one, a filter of counters all; whoever was not seen raises the fill.
TEST_P(MembershipFilterContract, keys_inserted_counts_the_inserts_that_change_cells) {
  const KindDescription& kind = *GetParam().kind;
  if (!option_of(GetParam().parsed, "max-ttl").empty()) {
    GTEST_SKIP() << "a key lives longer instead of being counted, or its count is stuck";
  }
  const bool counts_all = counts_repeats(kind);
  // New sub-filters are empty, and a count of several digits may carry.
  const bool has_one_fill = !kind.can_grow && (!kind.counts_decay || kind.kind == Kind{TimeDecayingCounts::kKind});
  // At a low rate: keys that are mistaken for each other share a count.
  auto filter = make(GetParam(), {.keys = 300, .fpr = kind.can_grow ? 1e-4 : 0.01});
  Random random(4);
  const auto digests = random.digests(900);
  constexpr unsigned kMostInserts = 8;  // the shortest count of a kind is stuck beyond that
  std::map<Digest, unsigned> model;
  std::uint64_t counted = 0;
  for (int i = 0; i < 4000; ++i) {
    const Digest digest = digests[random.below(digests.size())];
    if (++model[digest] > kMostInserts) {
      continue;
    }
    const double fill = filter.fill_ratio();
    const bool seen = filter.observe(digest);
    ASSERT_TRUE(!has_one_fill || (filter.fill_ratio() > fill) == !seen);
    counted += seen && !counts_all ? 0U : 1U;
    ASSERT_EQ(filter.keys_inserted(), counted);
    ASSERT_TRUE(counts_all || counted <= model.size());
  }
}

class ConcurrentInsert : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(every_kind, ConcurrentInsert, testing::ValuesIn(shapes([](const KindDescription& kind) {
                           return calls_of(kind).insert_concurrent != nullptr;
                         })),
                         test_name);

TEST_P(ConcurrentInsert, alone_is_insert) {
  auto one = make(GetParam(), {.keys = 500});
  auto other = make(GetParam(), {.keys = 500});
  Random random(5);
  const auto digests = random.digests(800);
  for (int i = 0; i < 3000; ++i) {
    const Digest digest = digests[random.below(digests.size())];
    ASSERT_EQ(one.insert_concurrent(digest), !other.observe(digest));
  }
  EXPECT_EQ(one.to_bytes(), other.to_bytes());
}

TEST_P(MembershipFilterContract, the_order_of_inserts_does_not_matter_to_the_cells) {
  if (GetParam().kind->key_shape == KeyShape::named) {
    GTEST_SKIP() << "of equally hot keys, the first ones are in the table";
  }
  auto forwards = make(GetParam());
  auto backwards = make(GetParam());
  const auto digests = Random(6).digests(1000);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    forwards.insert(digests[i]);
    backwards.insert(digests[digests.size() - 1 - i]);
  }
  EXPECT_EQ(forwards.fill_ratio(), backwards.fill_ratio());
  for (const Digest digest : Random(7).digests(20000)) {
    ASSERT_EQ(forwards.may_contain(digest), backwards.may_contain(digest));
  }
}

// A filter that grows is never full, and one that forgets whole keys is full of those of an epoch.
bool has_one_capacity(const Example& example) {
  const KindDescription& kind = *example.kind;
  return keeps_keys(example) && !kind.can_grow && (kind.can_count || !kind.has_time);
}

class Capacity : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(every_kind, Capacity, testing::ValuesIn(shapes(has_one_capacity)), test_name);

TEST_P(Capacity, is_full_once_the_capacity_is_counted) {
  auto filter = make(GetParam(), {.keys = 100, .fpr = 1e-6});
  Random random(8);
  while (filter.keys_inserted() < 99) {
    EXPECT_FALSE(filter.is_full());
    filter.insert(random.digest());
  }
  EXPECT_FALSE(filter.is_full());
  while (filter.keys_inserted() < 100) {
    filter.insert(random.digest());
  }
  EXPECT_TRUE(filter.is_full());
}

TEST_P(MembershipFilterContract, clear_forgets_every_key_and_nothing_else) {
  auto filter = make(GetParam());
  const auto fresh = filter.to_bytes();
  const auto digests = Random(9).digests(2000);
  filter.insert(std::span(digests));
  EXPECT_TRUE(filter.is_full() || filter.kind().can_grow);
  filter.clear();
  EXPECT_EQ(filter.to_bytes(), fresh);
  filter.insert(digests[0]);
  EXPECT_TRUE(filter.may_contain(digests[0]));
  EXPECT_EQ(filter.keys_inserted(), 1U);
}

TEST_P(MembershipFilterContract, a_move_leaves_valid_filters) {
  CountingMemory counter;
  {
    const FilterRequest request{.keys = 1000, .memory = counter.memory()};
    auto first = make(GetParam(), request);
    const auto digests = Random(10).digests(1000);
    first.insert(std::span(digests));
    const auto bytes = first.to_bytes();

    auto second = std::move(first);
    EXPECT_EQ(second.to_bytes(), bytes);
    EXPECT_EQ(batch_answers(second, digests), std::vector<bool>(digests.size(), true));

    // The one moved from can be assigned to, and is then as good as any.
    first = make(GetParam(), request);
    EXPECT_EQ(first.keys_inserted(), 0U);
    first.insert(digests[0]);
    EXPECT_TRUE(first.may_contain(digests[0]));
    EXPECT_EQ(second.to_bytes(), bytes);

    first = std::move(second);
    EXPECT_EQ(first.to_bytes(), bytes);
    for (const Digest digest : digests) {
      ASSERT_TRUE(first.may_contain(digest));
      ASSERT_TRUE(first.observe(digest));
    }
    const auto observed = first.to_bytes();
    EXPECT_EQ(observed == bytes, !counts_repeats(GetParam()));
    using std::swap;
    auto third = make(GetParam(), request);
    swap(first, third);
    EXPECT_EQ(third.to_bytes(), observed);
    EXPECT_EQ(first.keys_inserted(), 0U);
  }
  EXPECT_EQ(counter.bytes_in_use, 0U);
}

TEST_P(MembershipFilterContract, hashes_with_the_hash_that_it_was_given) {
  for (const HashSpec& spec : {kXxh3, kSiphash}) {
    const auto filter = make(GetParam(), {.hash = spec});
    EXPECT_EQ(filter.hash(), spec);
    EXPECT_EQ(filter.hasher()("a key"), Hasher(spec)("a key"));
    EXPECT_EQ(filter.hasher()(std::uint64_t{42}), Hasher(spec)(std::uint64_t{42}));
  }
}

TEST_P(MembershipFilterContract, draws_a_seed_of_its_own_unless_one_is_given) {
  const auto draw = calls_of(*GetParam().kind).drawn_hash;
  const auto first = draw();
  ASSERT_TRUE(first.has_value()) << first.error().detail;
  EXPECT_NE(first->seed, draw().value().seed);
}

TEST_P(MembershipFilterContract, remembers_what_was_asked_for) {
  const auto filter = make(GetParam(), {.keys = 12345, .fpr = 0.003});
  EXPECT_EQ(filter.capacity_keys(), 12345U);
  EXPECT_EQ(filter.fpr_target(), 0.003);
  if (filter.calls().fpr_expected != nullptr) {
    EXPECT_LE(filter.fpr_expected(12345), 0.003 * sizing_slack(GetParam()));
  }
  EXPECT_GE(filter.cells_bytes() * 8, filter.cell_count());
  EXPECT_GT((filter.cells_bytes() + 64) * 8, filter.cell_count());
  EXPECT_GE(filter.probes_per_key(), 1U);
  EXPECT_GE(filter.lines_per_key(), 1);
}

TEST_P(MembershipFilterContract, asks_its_memory_once_for_the_whole_image_and_gives_it_back) {
  CountingMemory counter;
  {
    const auto filter = make(GetParam(), {.memory = counter.memory()});
    EXPECT_EQ(counter.calls, 1U);
    // The outer header of a filter of sub-filters lies in the object.
    const std::uint64_t bytes = is_flat(filter.kind()) ? filter.image_bytes() : filter.slice_image(0).size();
    EXPECT_EQ(counter.last_bytes, bytes);
    EXPECT_EQ(counter.bytes_in_use, bytes);
  }
  EXPECT_EQ(counter.bytes_in_use, 0U);
}

TEST_P(MembershipFilterContract, memory_that_refuses_is_an_error_that_says_how_much_was_asked) {
  CountingMemory counter(0);
  const auto filter = create(GetParam(), {.memory = counter.memory()});
  ASSERT_FALSE(filter.has_value());
  EXPECT_EQ(filter.error().code, ErrorCode::out_of_space);
  EXPECT_NE(filter.error().detail.find(std::to_string(counter.last_bytes)), std::string::npos) << filter.error().detail;
}

}  // namespace
}  // namespace mankai::test
