// Every MergeableFilter: a merged filter answers as if it had been given both filters' keys; filters that do not fit
// say why.

#include <gtest/gtest.h>

#include <vector>

#include "mankai/filter/bloom/bloom.hpp"
#include "tests/contract/contract_test_support.hpp"
#include "tests/support/every_kind.hpp"
#include "tests/support/outcomes.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {
namespace {

bool merges(const Example& example) { return example.kind->can_merge && keeps_keys(example) && is_flat(*example.kind); }

class MergeableFilterContract : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(every_kind, MergeableFilterContract, testing::ValuesIn(shapes(merges)), test_name);

// The image but for its count of keys and checksum: what the answer for an absent key depends on.
std::vector<std::byte> cells_of(const Subject& filter) {
  const auto bytes = filter.to_bytes();
  const auto start = bytes.begin() + sizeof(ImageHeader);
  return {start, start + static_cast<std::ptrdiff_t>(filter.cells_bytes())};
}

// Whether the cells of a union are those of one filter that got everything: not where an insert depends on what else is
// in, as with the keys that a top has room for and with counts that only the smallest cells take.
bool adds_up(const Example& example) {
  return example.kind->key_shape != KeyShape::named && option_of(example.parsed, "rule") != "minimum";
}

// Of what was inserted: a filter of counters counts a key that both have as often as both together.
TEST_P(MergeableFilterContract, merging_is_the_union) {
  for (const std::uint64_t keys : {std::uint64_t{1}, std::uint64_t{1000}, std::uint64_t{100000}}) {
    auto left = make(GetParam(), {.keys = keys});
    auto right = make(GetParam(), {.keys = keys});
    auto both = make(GetParam(), {.keys = keys});
    const auto digests = Random(1).digests(keys + keys / 2);
    const auto first = std::span(digests).first(keys);
    const auto second = std::span(digests).last(keys);  // the two overlap by half
    left.insert(first);
    right.insert(second);
    if (counts_repeats(*GetParam().kind)) {
      both.insert(first);
      both.insert(second);
    } else {
      both.insert(std::span(digests));
    }
    const auto right_before = right.to_bytes();
    ASSERT_TRUE(left.merge(right).has_value());
    EXPECT_TRUE(!adds_up(GetParam()) || cells_of(left) == cells_of(both));
    EXPECT_EQ(right.to_bytes(), right_before);
    EXPECT_EQ(batch_answers(left, digests), std::vector<bool>(digests.size(), true));
  }
}

TEST_P(MergeableFilterContract, merging_commutes) {
  auto left = make(GetParam());
  auto right = make(GetParam());
  insert_random(left, 2, 700);
  insert_random(right, 3, 300);
  auto other_way = right.from_bytes(right.to_bytes()).value();
  ASSERT_TRUE(other_way.merge(left).has_value());
  ASSERT_TRUE(left.merge(right).has_value());
  EXPECT_EQ(left.to_bytes(), other_way.to_bytes());
}

TEST_P(MergeableFilterContract, an_empty_filter_adds_nothing) {
  auto filter = make(GetParam());
  insert_random(filter, 4, 500);
  const auto before = filter.to_bytes();
  const auto empty = make(GetParam());
  ASSERT_TRUE(filter.merge(empty).has_value());
  EXPECT_EQ(filter.to_bytes(), before);
  auto target = make(GetParam());
  ASSERT_TRUE(target.merge(filter).has_value());
  EXPECT_EQ(target.to_bytes(), before);
}

TEST_P(MergeableFilterContract, the_count_of_keys_is_between_the_larger_and_the_sum) {
  constexpr std::uint64_t kEach = 50000;
  const auto digests = Random(5).digests(2 * kEach);
  for (const std::uint64_t shared : {std::uint64_t{0}, kEach / 2, kEach}) {
    auto left = make(GetParam(), {.keys = 2 * kEach});
    auto right = make(GetParam(), {.keys = 2 * kEach});
    left.insert(std::span(digests).first(kEach));
    right.insert(std::span(digests).subspan(kEach - shared, kEach));
    const std::uint64_t most = left.keys_inserted() + right.keys_inserted();
    const std::uint64_t least = std::max(left.keys_inserted(), right.keys_inserted());
    ASSERT_TRUE(left.merge(right).has_value());
    EXPECT_GE(left.keys_inserted(), least);
    EXPECT_LE(left.keys_inserted(), most);
    if (counts_repeats(*GetParam().kind)) {
      EXPECT_EQ(left.keys_inserted(), most);
    } else {
      // The estimate from the cells is within 2 % of the truth here; statistical/ derives its bound.
      EXPECT_NEAR(static_cast<double>(left.keys_inserted()), static_cast<double>(2 * kEach - shared), 0.02 * 2 * kEach);
    }
  }
}

TEST_P(MergeableFilterContract, overfull_filters_merge_too) {
  auto left = make(GetParam(), {.keys = 1, .fpr = 0.5});
  auto right = make(GetParam(), {.keys = 1, .fpr = 0.5});
  const auto digests = Random(6).digests(30000);
  left.insert(std::span(digests).first(15000));
  right.insert(std::span(digests).last(15000));
  const std::uint64_t least = std::max(left.keys_inserted(), right.keys_inserted());
  const std::uint64_t most = left.keys_inserted() + right.keys_inserted();
  ASSERT_TRUE(left.merge(right).has_value());
  EXPECT_GE(left.keys_inserted(), least);
  EXPECT_LE(left.keys_inserted(), most);
  EXPECT_TRUE(left.may_contain(digests[0]) && left.may_contain(digests[29999]));
}

TEST_P(MergeableFilterContract, other_seeds_are_refused_by_name) {
  auto filter = make(GetParam());
  filter.insert(Digest{1});
  HashSpec seeded = kXxh3;
  seeded.seed[0] ^= 1;
  expect_refused(filter, make(GetParam(), {.hash = seeded}), "seed");
  expect_refused(filter, make(GetParam(), {.hash = kSiphash}), "hash");
  auto keyed = make(GetParam(), {.hash = kSiphash});
  HashSpec rekeyed = kSiphash;
  rekeyed.seed[1] ^= 1;
  expect_refused(keyed, make(GetParam(), {.hash = rekeyed}), "seed");
}

TEST_P(MergeableFilterContract, other_sizes_are_refused_by_name) {
  auto filter = make(GetParam());
  expect_refused(filter, make(GetParam(), {.keys = 100000}), "size");
  expect_refused(filter, make(GetParam(), {.fpr = 1e-7}), "size");
}

TEST(BloomMerge, other_shapes_of_the_same_size_are_refused_by_name) {
  const auto with_k = [](std::uint32_t k) {
    return Subject(Bloom::create({.keys = 1, .fpr = 0.5, .k = k, .hash = kXxh3}).value());
  };
  auto filter = with_k(3);
  ASSERT_EQ(filter.cells_bytes(), with_k(4).cells_bytes());
  expect_refused(filter, with_k(4), "shape");
  const auto fields = Subject(
      Bloom::create({.keys = 1, .fpr = 0.5, .k = 3, .addressing = BloomAddressing::fields, .hash = kXxh3}).value());
  ASSERT_EQ(filter.cells_bytes(), fields.cells_bytes());
  expect_refused(filter, fields, "shape");
}

}  // namespace
}  // namespace mankai::test
