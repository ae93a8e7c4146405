// Every MembershipFilter: what it promises, one call at a time, against an exact model.

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "tests/support/counting_memory.hpp"
#include "tests/support/outcomes.hpp"
#include "tests/support/random.hpp"
#include "tests/support/typed_kinds.hpp"

namespace mankai::test {
namespace {

template <class Kind>
class MembershipFilterContract : public testing::Test {};
TYPED_TEST_SUITE(MembershipFilterContract, FilterKinds, KindNames);

TYPED_TEST(MembershipFilterContract, declares_that_it_has_no_false_negatives) {
  static_assert(MembershipFilter<typename TypeParam::Filter>);
  EXPECT_TRUE(TypeParam::Filter::kPromise.no_false_negatives);
}

TYPED_TEST(MembershipFilterContract, a_fresh_filter_contains_nothing) {
  const auto filter = make<TypeParam>();
  Random random(1);
  for (int i = 0; i < 10000; ++i) {
    ASSERT_FALSE(filter.may_contain(random.digest()));
  }
  EXPECT_EQ(filter.keys_inserted(), 0U);
  EXPECT_EQ(filter.fill_ratio(), 0);
  EXPECT_EQ(filter.fpr_estimate(), 0);
  EXPECT_EQ(filter.keys_estimate(), 0);
}

template <class F>
void expect_all_found(const F& filter, const std::set<Digest>& model) {
  for (const Digest known : model) {
    ASSERT_TRUE(filter.may_contain(known)) << "after " << model.size() << " keys";
  }
}

// Keys drawn from a small range, so that many come again, up to three times the capacity; after each thousand, every
// key of the exact set is asked for.
TYPED_TEST(MembershipFilterContract, an_inserted_key_is_found_far_beyond_the_capacity) {
  for (const double fpr : {0.5, 0.1, 0.01, 1e-4}) {
    auto filter = make<TypeParam>({.keys = 2000, .fpr = fpr});
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

TYPED_TEST(MembershipFilterContract, extreme_digests_are_keys_like_any_other) {
  for (const std::uint64_t keys : {1U, 1000U, 1000000U}) {
    auto filter = make<TypeParam>({.keys = keys});
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
      filter.insert(Digest{value});
      EXPECT_TRUE(filter.may_contain(Digest{value})) << value;
    }
  }
}

TYPED_TEST(MembershipFilterContract, observe_says_what_may_contain_said_and_inserts) {
  auto observed = make<TypeParam>({.keys = 500});
  auto inserted = make<TypeParam>({.keys = 500});
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
TYPED_TEST(MembershipFilterContract, keys_inserted_counts_the_inserts_that_change_cells) {
  constexpr bool kCountsAll = kCountsRepeats<typename TypeParam::Filter>;
  auto filter = make<TypeParam>({.keys = 300});
  Random random(4);
  const auto digests = random.digests(900);
  std::set<Digest> model;
  std::uint64_t counted = 0;
  for (int i = 0; i < 4000; ++i) {
    const Digest digest = digests[random.below(digests.size())];
    const double fill = filter.fill_ratio();
    const bool seen = filter.observe(digest);
    ASSERT_EQ(filter.fill_ratio() > fill, !seen);
    counted += seen && !kCountsAll ? 0U : 1U;
    model.insert(digest);
    ASSERT_EQ(filter.keys_inserted(), counted);
    ASSERT_TRUE(kCountsAll || counted <= model.size());
  }
}

TYPED_TEST(MembershipFilterContract, insert_concurrent_alone_is_insert) {
  if constexpr (ConcurrentFilter<typename TypeParam::Filter>) {
    auto one = make<TypeParam>({.keys = 500});
    auto other = make<TypeParam>({.keys = 500});
    Random random(5);
    const auto digests = random.digests(800);
    for (int i = 0; i < 3000; ++i) {
      const Digest digest = digests[random.below(digests.size())];
      ASSERT_EQ(one.insert_concurrent(digest), !other.observe(digest));
    }
    EXPECT_EQ(one.to_bytes(), other.to_bytes());
  }
}

TYPED_TEST(MembershipFilterContract, the_order_of_inserts_does_not_matter_to_the_cells) {
  auto forwards = make<TypeParam>();
  auto backwards = make<TypeParam>();
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

TYPED_TEST(MembershipFilterContract, is_full_once_the_capacity_is_counted) {
  auto filter = make<TypeParam>({.keys = 100, .fpr = 1e-6});
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

TYPED_TEST(MembershipFilterContract, clear_forgets_every_key_and_nothing_else) {
  auto filter = make<TypeParam>();
  const auto fresh = filter.to_bytes();
  const auto digests = Random(9).digests(2000);
  filter.insert(std::span(digests));
  EXPECT_TRUE(filter.is_full());
  filter.clear();
  EXPECT_EQ(filter.to_bytes(), fresh);
  filter.insert(digests[0]);
  EXPECT_TRUE(filter.may_contain(digests[0]));
  EXPECT_EQ(filter.keys_inserted(), 1U);
}

TYPED_TEST(MembershipFilterContract, a_move_leaves_valid_filters) {
  CountingMemory counter;
  {
    const Request request{.keys = 1000, .memory = counter.memory()};
    auto first = make<TypeParam>(request);
    const auto digests = Random(10).digests(1000);
    first.insert(std::span(digests));
    const auto bytes = first.to_bytes();

    auto second = std::move(first);
    EXPECT_EQ(second.to_bytes(), bytes);
    EXPECT_EQ(batch_answers(second, digests), std::vector<bool>(digests.size(), true));

    // The one moved from can be assigned to, and is then as good as any.
    first = make<TypeParam>(request);
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
    EXPECT_EQ(observed == bytes, !kCountsRepeats<typename TypeParam::Filter>);
    using std::swap;
    auto third = make<TypeParam>(request);
    swap(first, third);
    EXPECT_EQ(third.to_bytes(), observed);
    EXPECT_EQ(first.keys_inserted(), 0U);
  }
  EXPECT_EQ(counter.bytes_in_use, 0U);
}

TYPED_TEST(MembershipFilterContract, hashes_with_the_hash_that_it_was_given) {
  for (const HashSpec& spec : {kXxh3, kSiphash}) {
    const auto filter = make<TypeParam>({.hash = spec});
    EXPECT_EQ(filter.hash(), spec);
    EXPECT_EQ(filter.hasher()("a key"), Hasher(spec)("a key"));
    EXPECT_EQ(filter.hasher()(std::uint64_t{42}), Hasher(spec)(std::uint64_t{42}));
  }
}

TYPED_TEST(MembershipFilterContract, draws_a_seed_of_its_own_unless_one_is_given) {
  using Filter = typename TypeParam::Filter;
  // Each with options of its own: the seed is drawn with them.
  const auto draw = [] {
    typename Filter::Options options{.keys = 10};
    if constexpr (DecayingFilter<Filter>) {
      options.decay = Decay::of(0.5, Duration(1)).value();
    }
    return Filter::create(options);
  };
  const auto first = draw();
  const auto second = draw();
  EXPECT_NE(first.value().hash().seed, second.value().hash().seed);
}

TYPED_TEST(MembershipFilterContract, remembers_what_was_asked_for) {
  const auto filter = make<TypeParam>({.keys = 12345, .fpr = 0.003});
  EXPECT_EQ(filter.capacity_keys(), 12345U);
  EXPECT_EQ(filter.fpr_target(), 0.003);
  EXPECT_LE(filter.fpr_expected(12345), 0.003 * sizing_slack(filter));
  EXPECT_GE(filter.cells_bytes() * 8, filter.cell_count());
  EXPECT_GT((filter.cells_bytes() + 64) * 8, filter.cell_count());
  EXPECT_GE(filter.probes_per_key(), 1U);
  EXPECT_GE(filter.lines_per_key(), 1);
}

TYPED_TEST(MembershipFilterContract, asks_its_memory_once_for_the_whole_image_and_gives_it_back) {
  CountingMemory counter;
  {
    const auto filter = make<TypeParam>({.memory = counter.memory()});
    EXPECT_EQ(counter.calls, 1U);
    EXPECT_EQ(counter.last_bytes, filter.image_bytes());
    EXPECT_EQ(counter.bytes_in_use, filter.image_bytes());
  }
  EXPECT_EQ(counter.bytes_in_use, 0U);
}

TYPED_TEST(MembershipFilterContract, memory_that_refuses_is_an_error_that_says_how_much_was_asked) {
  CountingMemory counter(0);
  const auto filter = TypeParam::create({.memory = counter.memory()});
  ASSERT_FALSE(filter.has_value());
  EXPECT_EQ(filter.error().code, ErrorCode::out_of_space);
  EXPECT_NE(filter.error().detail.find(std::to_string(counter.last_bytes)), std::string::npos) << filter.error().detail;
}

}  // namespace
}  // namespace mankai::test
