// scalable-counting-bloom: ids choose the slice. Members survive whatever is inserted and erased with right ids; a
// refused request changes nothing; and what dablooms got wrong stays right.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"
#include "mankai/filter/bloom/bloom.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"
#include "tests/support/filter_request.hpp"
#include "tests/support/outcomes.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {
namespace {

/// How the slices grow, and what they are.
struct Mode {
  const char* name;
  std::uint32_t factor;
  CountingLayout layout;
};

// Those that double; equal slices of partitioned counters, as dablooms has them; and those of its files.
constexpr Mode kDoublingMode{.name = "doubling", .factor = 2, .layout = CountingLayout::blocked};
constexpr Mode kFaithfulMode{.name = "faithful", .factor = 1, .layout = CountingLayout::partitioned};
constexpr Mode kDabloomsMode{.name = "dablooms", .factor = 1, .layout = CountingLayout::dablooms};

class GrowingIds : public testing::TestWithParam<Mode> {};
INSTANTIATE_TEST_SUITE_P(modes, GrowingIds, testing::Values(kDoublingMode, kFaithfulMode, kDabloomsMode),
                         [](const auto& mode) { return std::string(mode.param.name); });

struct Request {
  std::uint64_t keys = 100;
  double fpr = 0.01;
};

ScalableCountingBloom make(const Mode& mode, const Request& request = {}) {
  return ScalableCountingBloom::create({.keys = request.keys,
                                        .fpr = request.fpr,
                                        .growth = {.factor = mode.factor},
                                        .layout = mode.layout,
                                        .hash = kXxh3})
      .value();
}

double sizing_slack(const ScalableCountingBloom& filter) {
  return filter.layout() == CountingLayout::dablooms ? 1.03 : 1;  // see tests/support/every_kind.hpp
}

constexpr std::uint64_t kMaxId = ScalableCountingBloom::kMaxId;

std::vector<std::uint64_t> ids_from(std::uint64_t first, std::size_t count) {
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < count; ++i) {
    ids.push_back(first + i);
  }
  return ids;
}

template <class F>
concept KeepsASliceState = requires(F filter) { filter.set_slice_state(std::uint64_t{1}); };

// Kinds whose images have no room for a word of the filter around them must not offer one.
TEST(SliceState, only_counting_bloom_keeps_one_and_its_image_still_opens) {
  static_assert(!KeepsASliceState<Bloom> && !KeepsASliceState<BlockedBloom> && KeepsASliceState<CountingBloom>);
  auto filter = CountingBloom::create({.keys = 10, .hash = kXxh3, .slice_tag = 6}).value();
  filter.set_slice_state(9);
  const auto again = CountingBloom::from_bytes(filter.to_bytes()).value();
  EXPECT_EQ(again.slice_tag(), 6U);
  EXPECT_EQ(again.slice_state(), 9U);
}

TEST_P(GrowingIds, keys_without_an_id_get_the_next_one) {
  auto filter = make(GetParam(), {.keys = 10});
  EXPECT_EQ(filter.first_id(), 0U);
  EXPECT_EQ(filter.next_id(), 0U);
  EXPECT_EQ(filter.max_id(), 0U);
  const auto digests = Random(1).digests(35);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    EXPECT_EQ(filter.next_id(), i);
    filter.insert(digests[i]);
    EXPECT_EQ(filter.max_id(), i);
  }
  ASSERT_TRUE(filter.insert(Digest{1}, 1000).has_value());
  EXPECT_EQ(filter.max_id(), 1000U);
  EXPECT_EQ(filter.next_id(), 1001U);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    EXPECT_EQ(filter.erase(digests[i], i), EraseResult::erased) << i;
  }
  EXPECT_EQ(filter.keys_inserted(), 1U);
}

TEST_P(GrowingIds, slices_own_ranges_that_meet) {
  auto filter = make(GetParam(), {.keys = 10, .fpr = 1e-4});
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(filter.insert(Random(i).digest(), 100 * i).has_value());
  }
  ASSERT_GT(filter.slice_count(), 2U);
  EXPECT_EQ(filter.slice_first_id(0), 0U);
  for (std::size_t i = 0; i + 1 < filter.slice_count(); ++i) {
    EXPECT_EQ(filter.slice_first_id(i + 1), filter.slice_last_id(i) + 100);
  }
  EXPECT_EQ(filter.slice_last_id(filter.slice_count() - 1), filter.max_id());
}

TEST_P(GrowingIds, ids_below_the_first_are_refused_and_change_nothing) {
  auto filter = ScalableCountingBloom::create({.keys = 10, .first_id = 500, .hash = kXxh3}).value();
  EXPECT_EQ(filter.next_id(), 500U);
  filter.insert(Digest{5});
  EXPECT_EQ(filter.max_id(), 500U);
  const auto before = filter.to_bytes();
  for (const std::uint64_t id : {std::uint64_t{0}, std::uint64_t{499}, kMaxId + 1}) {
    const auto inserted = filter.insert(Digest{6}, id);
    ASSERT_FALSE(inserted.has_value());
    EXPECT_EQ(inserted.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(inserted.error().detail.find(std::to_string(id)), std::string::npos) << inserted.error().detail;
  }
  EXPECT_EQ(filter.erase(Digest{5}, 499), EraseResult::below_ids);
  EXPECT_EQ(filter.erase(Digest{5}, 501), EraseResult::absent);
  EXPECT_EQ(filter.to_bytes(), before);
  EXPECT_EQ(filter.erase(Digest{5}, 500), EraseResult::erased);
  const auto refused = ScalableCountingBloom::create({.keys = 10, .first_id = kMaxId + 1});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
}

TEST_P(GrowingIds, ids_stop_at_the_greatest) {
  auto filter = ScalableCountingBloom::create({.keys = 5, .first_id = kMaxId - 2, .hash = kXxh3}).value();
  const auto digests = Random(2).digests(20);
  auto singles = filter.create_like().value();
  filter.insert(std::span(digests));
  for (const Digest digest : digests) {
    singles.insert(digest);
  }
  EXPECT_TRUE(filter.to_bytes() == singles.to_bytes());
  EXPECT_EQ(filter.max_id(), kMaxId);
  EXPECT_EQ(filter.next_id(), kMaxId);
  EXPECT_EQ(batch_answers(filter, digests), std::vector<bool>(20, true));
  EXPECT_TRUE(ScalableCountingBloom::from_bytes(filter.to_bytes()).has_value());
}

// Keys without ids, counted in the oldest slice that may hold them: whatever comes and goes, what is in is found, and
// when everything was taken out nothing is left.
TEST_P(GrowingIds, keys_in_the_oldest_slice_come_and_go) {
  constexpr int kSteps = 6000;
  auto filter = make(GetParam(), {.keys = 20, .fpr = 0.2});
  const auto pool = Random(41).digests(400);
  Random dice(42);
  std::map<std::size_t, int> in;
  for (int step = 0; step < kSteps; ++step) {
    const std::size_t key = dice.below(pool.size());
    // Fewer than 15 of a key: a counter that is stuck stays.
    if (in[key] < 2 && dice.below(3) != 0) {
      std::array<bool, 1> seen;
      const bool known = filter.may_contain(pool[key]);
      filter.observe_in_oldest({&pool[key], 1}, seen);
      EXPECT_EQ(seen[0], known);
      ++in[key];
    } else if (in[key] > 0) {
      ASSERT_EQ(filter.erase_from_oldest(pool[key]), EraseResult::erased);
      --in[key];
    }
    const std::size_t other = dice.below(pool.size());
    ASSERT_TRUE(in[other] == 0 || filter.may_contain(pool[other])) << step;
  }
  ASSERT_GT(filter.slice_count(), 2U);
  for (const auto& [key, count] : in) {
    for (int i = 0; i < count; ++i) {
      ASSERT_EQ(filter.erase_from_oldest(pool[key]), EraseResult::erased);
    }
  }
  ASSERT_EQ(filter.saturated_cells(), 0U);
  EXPECT_EQ(filter.fill_ratio(), 0);
  EXPECT_EQ(filter.erase_from_oldest(pool[0]), EraseResult::absent);
}

TEST_P(GrowingIds, a_batch_in_the_oldest_slice_is_its_keys_one_by_one) {
  auto singles = make(GetParam(), {.keys = 50, .fpr = 0.05});
  auto batches = make(GetParam(), {.keys = 50, .fpr = 0.05});
  Random dice(43);
  for (int round = 0; round < 40; ++round) {
    std::vector<Digest> digests;
    for (std::size_t i = dice.below(90); i > 0; --i) {
      digests.push_back(Digest{0x9e3779b97f4a7c15U * (1 + dice.below(700))});
    }
    std::array<bool, 90> one_by_one{};
    std::array<bool, 90> together{};
    for (std::size_t i = 0; i < digests.size(); ++i) {
      singles.observe_in_oldest({&digests[i], 1}, std::span(one_by_one).subspan(i, 1));
    }
    batches.observe_in_oldest(digests, std::span(together).first(digests.size()));
    EXPECT_EQ(together, one_by_one);
  }
  EXPECT_GT(singles.slice_count(), 2U);
  EXPECT_TRUE(singles.to_bytes() == batches.to_bytes());
}

// Repeats take no room, and neither does what has gone.
TEST_P(GrowingIds, slices_have_room_for_distinct_keys_in_the_oldest) {
  auto filter = make(GetParam(), {.keys = 100, .fpr = 1e-6});
  std::array<bool, 100> seen;
  for (std::uint64_t round = 0; round < 20; ++round) {
    const auto digests = Random(50 + round).digests(100);
    filter.observe_in_oldest(digests, seen);
    EXPECT_EQ(std::ranges::count(seen, true), 0);
    filter.observe_in_oldest(digests, seen);
    EXPECT_EQ(std::ranges::count(seen, true), 100);
    EXPECT_EQ(filter.keys_inserted(), 100U);
    for (const Digest digest : digests) {
      EXPECT_EQ(filter.erase_from_oldest(digest), EraseResult::erased);
      EXPECT_TRUE(filter.may_contain(digest));
    }
    EXPECT_EQ(filter.keys_inserted(), 100U);
    for (const Digest digest : digests) {
      EXPECT_EQ(filter.erase_from_oldest(digest), EraseResult::erased);
    }
    EXPECT_EQ(filter.keys_inserted(), 0U);
  }
  EXPECT_EQ(filter.slice_count(), 1U);
  std::array<bool, 101> more;
  filter.observe_in_oldest(Random(99).digests(more.size()), more);
  EXPECT_EQ(filter.slice_count(), 2U);
}

// dablooms opens a filter for an id above the greatest only: 20 000 keys of one timestamp in room for 1000 answer yes
// to everything.
TEST_P(GrowingIds, equal_ids_scale) {
  auto filter = make(GetParam(), {.keys = 1000});
  const auto digests = Random(3).digests(20000);
  for (const Digest digest : digests) {
    ASSERT_TRUE(filter.insert(digest, 1700000000).has_value());
  }
  EXPECT_GT(filter.slice_count(), 3U);
  EXPECT_LE(filter.fpr_estimate(), 0.011);  // slices for 1000 keys vary by some hundredths
  EXPECT_EQ(filter.overfilled_slices(), 0U);
  std::size_t ambiguous = 0;
  for (const Digest digest : digests) {
    const EraseResult result = filter.erase(digest, 1700000000);
    ASSERT_TRUE(result == EraseResult::erased || result == EraseResult::ambiguous);
    ambiguous += result == EraseResult::ambiguous ? 1U : 0U;
  }
  EXPECT_EQ(filter.keys_inserted(), ambiguous);
  // A key of which another slice is wrong: the rate once more, within five standard deviations.
  EXPECT_LE(static_cast<double>(ambiguous), 20000 * 0.011 + 5 * std::sqrt(20000 * 0.011));
}

TEST_P(GrowingIds, late_keys_overfill_the_slice_of_their_id_and_are_counted) {
  auto filter = make(GetParam(), {.keys = 100});
  insert_random(filter, 4, 1000);
  const std::size_t slices = filter.slice_count();
  EXPECT_EQ(filter.overfilled_slices(), 0U);
  const auto late = Random(5).digests(50);
  for (const Digest digest : late) {
    ASSERT_TRUE(filter.insert(digest, 3).has_value());
  }
  EXPECT_EQ(filter.slice_count(), slices);
  EXPECT_EQ(filter.overfilled_slices(), 1U);
  EXPECT_EQ(filter.slice(0).keys_inserted(), 150U);
  EXPECT_EQ(filter.max_id(), 999U);
  for (const Digest digest : late) {
    EXPECT_EQ(filter.erase(digest, 3), EraseResult::erased);
  }
  EXPECT_EQ(filter.overfilled_slices(), 0U);
}

struct Order {
  std::string name;
  std::vector<std::uint64_t> ids;
};

// What ids may do besides rising: fall, fall behind one that ran ahead, come in no order, be late now and then.
std::vector<Order> orders_of_ids(std::size_t count) {
  Random random(50);
  Order falling{.name = "falling", .ids = {}};
  Order outlier{.name = "one far ahead as the first slice is full", .ids = ids_from(0, count)};
  outlier.ids[1000] = std::uint64_t{1} << 60;
  Order any{.name = "in no order", .ids = {}};
  Order late{.name = "every tenth late", .ids = {}};
  for (std::size_t i = 0; i < count; ++i) {
    falling.ids.push_back(count - i);
    any.ids.push_back(random.below(std::uint64_t{1} << 62));
    late.ids.push_back(random.below(10) == 0 ? random.below(i + 1) : i);
  }
  return {falling, outlier, any, late};
}

// Every key is taken out under its id, but for the few of which a second slice with the id is wrong.
void expect_all_erased(ScalableCountingBloom& filter, std::span<const Digest> digests,
                       std::span<const std::uint64_t> ids) {
  std::size_t ambiguous = 0;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    const EraseResult result = filter.erase(digests[i], ids[i]);
    ASSERT_TRUE(result == EraseResult::erased || result == EraseResult::ambiguous) << i;
    ambiguous += result == EraseResult::ambiguous ? 1U : 0U;
  }
  EXPECT_EQ(filter.keys_inserted(), ambiguous);
  const double share = (filter.growth().factor == 1 ? 0.05 : 0.005) * sizing_slack(filter);
  EXPECT_LE(static_cast<double>(ambiguous), share * static_cast<double>(digests.size()));
}

// Twenty times its first capacity, whatever the ids: about as many slices as with rising ones, and a rate that late
// keys raise to what slices of twice their keys have, not to 1. Slices that do not grow are all overfilled alike.
void expect_bounded(const ScalableCountingBloom& filter) {
  const bool is_constant = filter.growth().factor == 1;
  EXPECT_LE(filter.slice_count(), is_constant ? 24U : 7U);
  EXPECT_LE(filter.fpr_estimate(), is_constant ? 0.35 : 0.1);
}

TEST_P(GrowingIds, ids_in_any_order_scale) {
  for (const Order& order : orders_of_ids(20000)) {
    SCOPED_TRACE(order.name);
    auto filter = make(GetParam(), {.keys = 1000});
    auto batch = make(GetParam(), {.keys = 1000});
    const auto digests = Random(51).digests(order.ids.size());
    for (std::size_t i = 0; i < digests.size(); ++i) {
      ASSERT_TRUE(filter.insert(digests[i], order.ids[i]).has_value());
    }
    ASSERT_EQ(batch.insert(std::span(digests), std::span(order.ids)), 0U);
    EXPECT_TRUE(batch.to_bytes() == filter.to_bytes());
    EXPECT_EQ(batch_answers(filter, digests), std::vector<bool>(digests.size(), true));
    EXPECT_TRUE(ScalableCountingBloom::from_bytes(filter.to_bytes()).has_value());
    expect_bounded(filter);
    expect_all_erased(filter, digests, order.ids);
  }
}

// The other filter's ids are far ahead, so that its slices take none of what comes.
TEST_P(GrowingIds, own_ids_scale_after_a_merge_with_greater_ones) {
  auto filter = make(GetParam(), {.keys = 1000});
  auto ahead = make(GetParam(), {.keys = 1000});
  const auto theirs = Random(52).digests(1500);
  const auto ours = Random(53).digests(20000);
  const auto their_ids = ids_from(1000000000, 1500);
  const auto our_ids = ids_from(0, 20000);
  ASSERT_EQ(ahead.insert(std::span(theirs), std::span(their_ids)), 0U);
  ASSERT_EQ(filter.insert(std::span(ours).first(700), std::span(our_ids).first(700)), 0U);
  ASSERT_TRUE(filter.merge(ahead).has_value());
  ASSERT_EQ(filter.insert(std::span(ours).subspan(700), std::span(our_ids).subspan(700)), 0U);
  EXPECT_EQ(batch_answers(filter, ours), std::vector<bool>(ours.size(), true));
  EXPECT_EQ(batch_answers(filter, theirs), std::vector<bool>(theirs.size(), true));
  expect_bounded(filter);
  std::vector<Digest> all(ours);
  all.insert(all.end(), theirs.begin(), theirs.end());
  std::vector<std::uint64_t> ids(our_ids);
  ids.insert(ids.end(), their_ids.begin(), their_ids.end());
  expect_all_erased(filter, all, ids);
}

// A slice with as many late keys as it takes hands its range to a new one.
TEST_P(GrowingIds, a_slice_of_twice_its_keys_hands_its_range_on) {
  auto filter = make(GetParam(), {.keys = 100});
  insert_random(filter, 54, 101);
  ASSERT_EQ(filter.slice_count(), 2U);
  const auto late = Random(55).digests(150);
  for (const Digest digest : late) {
    ASSERT_TRUE(filter.insert(digest, 3).has_value());
  }
  ASSERT_EQ(filter.slice_count(), 3U);
  EXPECT_EQ(filter.slice(0).keys_inserted(), 200U);
  EXPECT_EQ(filter.slice(2).keys_inserted(), 50U);
  EXPECT_EQ(filter.slice_first_id(2), 0U);
  EXPECT_EQ(filter.overfilled_slices(), 1U);
}

// Both slices have the boundary id and hold the key: nobody can say which of the two to take.
TEST_P(GrowingIds, a_key_in_twice_across_a_boundary_of_equal_ids_stays_for_ever) {
  auto filter = make(GetParam(), {.keys = 50, .fpr = 1e-6});
  const auto digests = Random(56).digests(60);
  for (std::size_t i = 0; i < 60; ++i) {
    ASSERT_TRUE(filter.insert(digests[i], 7).has_value());
  }
  // Their first copies are in slice 0 and in slice 1, their second ones all in slice 1.
  for (const std::size_t i : {40U, 55U}) {
    ASSERT_TRUE(filter.insert(digests[i], 7).has_value());
  }
  ASSERT_LE(filter.slice_count(), 3U);
  for (std::size_t i = 0; i < 60; ++i) {
    EXPECT_EQ(filter.erase(digests[i], 7), i == 40 ? EraseResult::ambiguous : EraseResult::erased) << i;
  }
  EXPECT_EQ(filter.erase(digests[55], 7), EraseResult::erased);
  EXPECT_EQ(filter.erase(digests[40], 7), EraseResult::ambiguous);
  EXPECT_EQ(filter.erase(digests[40]), EraseResult::ambiguous);
  EXPECT_EQ(filter.estimate(digests[40]).value, 2U);
  EXPECT_EQ(filter.keys_inserted(), 2U);
}

// Of keys that come a second time d inserts after the first, d straddle each boundary.
TEST_P(GrowingIds, as_many_keys_stay_as_straddle_a_boundary) {
  auto filter = make(GetParam(), {.keys = 500, .fpr = 1e-6});
  const auto digests = Random(57).digests(3000);
  constexpr std::size_t kApart = 20;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    ASSERT_TRUE(filter.insert(digests[i], 7).has_value());
    if (i >= kApart) {
      ASSERT_TRUE(filter.insert(digests[i - kApart], 7).has_value());
    }
  }
  std::size_t stay = 0;
  for (const Digest digest : digests) {
    stay += filter.erase(digest, 7) == EraseResult::ambiguous ? 1U : 0U;
  }
  const std::size_t straddling = kApart * (filter.slice_count() - 1);
  EXPECT_LE(stay, straddling);
  EXPECT_GE(stay + kApart + filter.slice_count(), straddling);  // the first boundary comes before all pairs have begun
}

// dablooms: 20 additions and 19 removals of one key lose it, as its counters stay at 15 and are then decremented.
TEST_P(GrowingIds, a_key_inserted_more_often_than_a_counter_counts_is_never_lost) {
  auto filter = make(GetParam(), {.keys = 1000});
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(filter.insert(Digest{11}, 1).has_value());
  }
  EXPECT_TRUE(filter.estimate(Digest{11}).is_saturated);
  EXPECT_GT(filter.saturated_cells(), 0U);
  for (int i = 0; i < 19; ++i) {
    filter.erase(Digest{11}, 1);
  }
  EXPECT_TRUE(filter.may_contain(Digest{11}));
}

TEST_P(GrowingIds, without_an_id_a_key_that_several_slices_hold_is_refused) {
  auto filter = make(GetParam(), {.keys = 20, .fpr = 1e-6});
  filter.insert(Digest{1});
  insert_random(filter, 6, 100);
  filter.insert(Digest{1});
  ASSERT_GT(filter.slice_count(), 1U);
  const auto before = filter.to_bytes();
  EXPECT_EQ(filter.erase(Digest{1}), EraseResult::ambiguous);
  EXPECT_EQ(filter.erase(Digest{2}), EraseResult::absent);
  EXPECT_EQ(filter.to_bytes(), before);
  EXPECT_EQ(filter.estimate(Digest{1}), (KeyCount{.value = 2, .is_saturated = false}));
  EXPECT_EQ(filter.erase(Digest{1}, 0), EraseResult::erased);
  EXPECT_EQ(filter.erase(Digest{1}), EraseResult::erased);
  EXPECT_FALSE(filter.may_contain(Digest{1}));
}

// A filter beside the exact multiset of (key, id) that is in it.
class Ledger {
 public:
  explicit Ledger(ScalableCountingBloom& filter) : filter_(filter) {}

  void insert(Digest digest, std::uint64_t id) {
    ASSERT_TRUE(filter_.insert(digest, id).has_value());
    ++members_[{digest, id}];
  }
  /// Takes out the first member at or behind the digest; refused only where two slices may hold it.
  void erase_near(Digest digest) {
    const auto at = members_.lower_bound({digest, 0});
    if (at == members_.end()) {
      return;
    }
    const EraseResult result = filter_.erase(at->first.first, at->first.second);
    ASSERT_TRUE(result == EraseResult::erased || result == EraseResult::ambiguous);
    if (result == EraseResult::erased && --at->second == 0) {
      members_.erase(at);
    }
  }
  void expect_all_found() const {
    for (const auto& [member, count] : members_) {
      ASSERT_TRUE(filter_.may_contain(member.first));
      const KeyCount estimate = filter_.estimate(member.first);
      ASSERT_TRUE(estimate.is_saturated || estimate.value >= count);
    }
  }

 private:
  ScalableCountingBloom& filter_;
  std::map<std::pair<Digest, std::uint64_t>, std::uint32_t> members_;
};

// Goal: members survive any interleaving of inserts and erasures with right ids, repeats beyond 15 included.
// Method: an exact multiset; ids mostly rise, often repeat, and are late now and then.
TEST_P(GrowingIds, members_survive_every_interleaving_with_right_ids) {
  for (const double fpr : {0.2, 0.01}) {
    auto filter = make(GetParam(), {.keys = 60, .fpr = fpr});
    Ledger ledger(filter);
    Random random(7);
    std::uint64_t id = 0;
    for (int step = 0; step < 12000; ++step) {
      if (random.below(5) < 2) {
        ledger.erase_near(random.digest());
        continue;
      }
      id += random.below(3) == 0 ? 1U : 0U;
      ledger.insert(filter.hasher()(random.below(400)), random.below(20) == 0 ? random.below(id + 1) : id);
      if (step % 400 == 0) {
        ledger.expect_all_found();
      }
      ASSERT_FALSE(testing::Test::HasFatalFailure()) << "after " << step << " steps";
    }
    EXPECT_GT(filter.slice_count(), 3U);
  }
}

// Goal: erasing absent keys harms nobody but at the stated rate, and that is counted.
// Method: every refusal leaves all bytes as they were; every acceptance takes one from the count; how many are accepted
// is the rate of the slice asked, within five standard deviations. At 1e-7 none is, and no member is lost.
TEST_P(GrowingIds, erasing_strangers_harms_at_the_false_positive_rate_only) {
  for (const double fpr : {0.1, 1e-7}) {
    auto filter = make(GetParam(), {.keys = 200, .fpr = fpr});
    const auto members = Random(8).digests(3000);
    filter.insert(std::span(members));
    Random random(9);
    std::size_t accepted = 0;
    constexpr std::size_t kStrangers = 600;
    for (std::size_t i = 0; i < kStrangers; ++i) {
      const auto before = filter.to_bytes();
      const std::uint64_t count = filter.keys_inserted();
      if (filter.erase(random.digest(), random.below(4000)) == EraseResult::erased) {
        ++accepted;
        ASSERT_EQ(filter.keys_inserted() + 1, count);
      } else {
        ASSERT_TRUE(filter.to_bytes() == before);
      }
    }
    // The slices' rates are below the target, as is their mean.
    const double most = kStrangers * fpr;
    EXPECT_LE(static_cast<double>(accepted), most + 5 * std::sqrt(most));
    if (fpr < 1e-6) {
      EXPECT_EQ(accepted, 0U);
      EXPECT_EQ(batch_answers(filter, members), std::vector<bool>(members.size(), true));
    }
  }
}

TEST_P(GrowingIds, a_members_wrong_id_is_refused_and_changes_nothing) {
  auto filter = make(GetParam(), {.keys = 200, .fpr = 1e-7});
  const auto members = Random(10).digests(3000);
  filter.insert(std::span(members));
  const auto before = filter.to_bytes();
  for (std::uint64_t i = 0; i < members.size(); ++i) {
    // An id of another slice: half of all ids away.
    const std::uint64_t wrong = (i + 1500) % 3000;
    if (filter.slice_first_id(filter.slice_count() - 1) <= std::min(i, wrong)) {
      continue;
    }
    bool is_same_slice = false;
    for (std::size_t slice = 0; slice < filter.slice_count(); ++slice) {
      const auto holds = [&](std::uint64_t id) {
        return filter.slice_first_id(slice) <= id && id <= filter.slice_last_id(slice);
      };
      is_same_slice = is_same_slice || (holds(i) && holds(wrong));
    }
    if (!is_same_slice) {
      ASSERT_EQ(filter.erase(members[i], wrong), EraseResult::absent) << i;
    }
  }
  EXPECT_TRUE(filter.to_bytes() == before);
}

// What the tests of batches with ids are given: rising ids, runs of equal ones, late ones, some below the first.
std::vector<std::uint64_t> assorted_ids(Random& random, std::size_t count, std::uint64_t first) {
  std::vector<std::uint64_t> ids;
  std::uint64_t id = first;
  for (std::size_t i = 0; i < count; ++i) {
    id += random.below(2);
    ids.push_back(random.below(15) == 0 ? random.below(id) : id);
  }
  return ids;
}

TEST_P(GrowingIds, batches_with_ids_agree_with_singles) {
  ScalableCountingBloom::Options options;
  options.keys = 50;
  options.first_id = 100;
  options.hash = kXxh3;
  auto batch = ScalableCountingBloom::create(options).value();
  auto singles = ScalableCountingBloom::create(options).value();
  Random random(11);
  for (const std::size_t size : {0U, 1U, 10U, 300U, 1000U, 5000U}) {
    const auto digests = random.digests(size);
    auto ids = assorted_ids(random, size, 150);
    if (size > 5) {
      ids[5] = kMaxId + 1;
    }
    std::size_t refused = 0;
    for (std::size_t i = 0; i < size; ++i) {
      refused += singles.insert(digests[i], ids[i]).has_value() ? 0U : 1U;
    }
    ASSERT_EQ(batch.insert(std::span(digests), std::span(ids)), refused);
    ASSERT_TRUE(batch.to_bytes() == singles.to_bytes()) << size;

    std::vector<KeyCount> counts(size);
    batch.estimate(digests, counts);
    std::vector<EraseResult> results(size);
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_EQ(counts[i], singles.estimate(digests[i]));
    }
    // Half of the keys, some of them twice and some with a wrong id.
    std::vector<Digest> erased(digests.begin(), digests.begin() + static_cast<std::ptrdiff_t>(size / 2));
    std::vector<std::uint64_t> erased_ids(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(size / 2));
    for (std::size_t i = 7; i < erased.size(); i += 7) {
      erased[i] = erased[i - 1];
      erased_ids[i] = erased_ids[i % 2 == 0 ? i - 1 : i];
    }
    results.resize(erased.size());
    batch.erase(erased, erased_ids, results);
    for (std::size_t i = 0; i < erased.size(); ++i) {
      ASSERT_EQ(results[i], singles.erase(erased[i], erased_ids[i])) << i;
    }
    ASSERT_TRUE(batch.to_bytes() == singles.to_bytes()) << size;

    // Then without ids, all of the keys, backwards.
    std::vector<Digest> rest(digests.rbegin(), digests.rend());
    rest.insert(rest.end(), digests.begin(), digests.end());
    results.resize(rest.size());
    batch.erase(rest, results);
    for (std::size_t i = 0; i < rest.size(); ++i) {
      ASSERT_EQ(results[i], singles.erase(rest[i])) << i;
    }
    ASSERT_TRUE(batch.to_bytes() == singles.to_bytes()) << size;
  }
  EXPECT_GT(batch.slice_count(), 4U);
}

TEST_P(GrowingIds, merged_slices_keep_their_ids) {
  auto left = make(GetParam(), {.keys = 100, .fpr = 1e-6});
  auto right = make(GetParam(), {.keys = 100, .fpr = 1e-6});
  const auto in_left = Random(12).digests(800);
  const auto in_right = Random(13).digests(800);
  left.insert(std::span(in_left));
  ASSERT_EQ(right.insert(std::span(in_right), std::span<const std::uint64_t>(ids_from(400, 800))), 0U);
  const std::size_t slices = left.slice_count() + right.slice_count();
  ASSERT_TRUE(left.merge(right).has_value());
  EXPECT_EQ(left.slice_count(), slices);
  EXPECT_EQ(left.keys_inserted(), 1600U);
  EXPECT_EQ(left.max_id(), 1199U);
  EXPECT_EQ(left.next_id(), 1200U);
  for (std::size_t i = 0; i < 800; ++i) {
    ASSERT_EQ(left.erase(in_left[i], i), EraseResult::erased) << i;
    ASSERT_EQ(left.erase(in_right[i], i + 400), EraseResult::erased) << i;
  }
  EXPECT_EQ(left.keys_inserted(), 0U);
  EXPECT_EQ(left.fill_ratio(), 0);
}

TEST_P(GrowingIds, clear_begins_the_ids_anew) {
  auto filter = ScalableCountingBloom::create({.keys = 10, .first_id = 70, .hash = kXxh3}).value();
  const auto fresh = filter.to_bytes();
  insert_random(filter, 14, 100);
  filter.clear();
  EXPECT_EQ(filter.to_bytes(), fresh);
  EXPECT_EQ(filter.next_id(), 70U);
  EXPECT_EQ(filter.max_id(), 70U);
  filter.insert(Digest{1});
  EXPECT_EQ(filter.erase(Digest{1}, 70), EraseResult::erased);
}

TEST_P(GrowingIds, a_merge_keeps_the_first_id) {
  const auto create = [](std::uint64_t first_id) {
    return ScalableCountingBloom::create({.keys = 10, .first_id = first_id, .hash = kXxh3}).value();
  };
  auto filter = create(70);
  const auto fresh = filter.to_bytes();
  auto other = filter.create_like().value();
  insert_random(filter, 17, 100);
  insert_random(other, 18, 40);
  ASSERT_TRUE(filter.merge(other).has_value());
  EXPECT_EQ(filter.first_id(), 70U);
  EXPECT_EQ(filter.create_like().value().first_id(), 70U);
  EXPECT_EQ(ScalableCountingBloom::from_bytes(filter.to_bytes()).value().first_id(), 70U);
  const auto before = filter.to_bytes();
  const auto refused = filter.merge(create(5));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().detail.find("first ids are 70 and 5"), std::string::npos) << refused.error().detail;
  EXPECT_EQ(filter.to_bytes(), before);
  filter.clear();
  EXPECT_EQ(filter.to_bytes(), fresh);
}

TEST_P(GrowingIds, an_image_keeps_ids_and_the_next_one) {
  auto filter = make(GetParam(), {.keys = 40});
  const auto digests = Random(15).digests(500);
  ASSERT_EQ(filter.insert(std::span(digests), std::span<const std::uint64_t>(ids_from(1000, 500))), 0U);
  auto again = ScalableCountingBloom::from_bytes(filter.to_bytes()).value();
  EXPECT_EQ(again.next_id(), 1500U);
  for (std::size_t i = 0; i < filter.slice_count(); ++i) {
    EXPECT_EQ(again.slice_first_id(i), filter.slice_first_id(i));
    EXPECT_EQ(again.slice_last_id(i), filter.slice_last_id(i));
  }
  again.insert(Digest{1});
  filter.insert(Digest{1});
  EXPECT_TRUE(again.to_bytes() == filter.to_bytes());
}

// A slice from which keys were taken has room again.
TEST_P(GrowingIds, erasing_from_the_newest_slice_makes_room) {
  auto filter = make(GetParam(), {.keys = 100, .fpr = 1e-6});
  const auto digests = Random(16).digests(100);
  filter.insert(std::span(digests));
  for (int round = 0; round < 10; ++round) {
    EXPECT_EQ(filter.erase(digests[0]), EraseResult::erased);
    filter.insert(digests[0]);
  }
  EXPECT_EQ(filter.slice_count(), 1U);
  filter.insert(Digest{1});
  EXPECT_EQ(filter.slice_count(), 2U);
}

}  // namespace
}  // namespace mankai::test
