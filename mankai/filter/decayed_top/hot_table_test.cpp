#include "mankai/filter/decayed_top/hot_table.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "mankai/filter/decayed_top/rescaled_line_test_support.hpp"
#include "tests/support/random.hpp"

namespace mankai {
namespace {

using test::value_of;

constexpr int kEventBits = 32;
constexpr Scaled kEvent{std::uint64_t{1} << kEventBits, -kEventBits};

template <class Mode>
struct Counted {
  using Table = HotTable<Mode>;

  explicit Counted(std::size_t line_count, std::uint32_t buckets)
      : lines(line_count), table(std::as_writable_bytes(std::span(lines)), buckets, &draws) {}
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  Counted(Counted&&) = delete;
  Counted& operator=(Counted&&) = delete;
  ~Counted() = default;

  void add(Digest digest, int octave) {
    const HotPlace place = table.place_of(digest);
    const Scaled event{kEvent.count, kEvent.exponent + octave};
    if (const std::uint32_t slot = table.find(place); slot != Table::kNoSlot) {
      table.add_to(slot, event);
    } else if (const auto added = table.add_to_others(place, event, event, octave); added.slot != Table::kNoSlot) {
      table.enter(added.slot, place.tag, added.sum, octave);
    }
    truth[digest.value] += std::ldexp(1, octave);
  }
  [[nodiscard]] double estimate(std::uint64_t digest) const {
    return value_of(table.estimate(table.place_of(Digest{digest})));
  }

  std::uint64_t draws = 0;
  std::vector<RescaledLine> lines;
  Table table;
  std::map<std::uint64_t, double> truth;
};

using StrictTable = Counted<StrictCounts>;
using BalancedTable = Counted<BalancedCounts>;

// A third of the events is of 20 keys, the others are of 1000.
template <class Pair>
void fill(Pair& pair, std::uint64_t seed, int events) {
  test::Random random(seed);
  const auto digests = test::Random(1).digests(1000);
  for (int i = 0; i < events; ++i) {
    pair.add(digests[random.below(random.below(3) == 0 ? 20 : 1000)], 64 + i / 3000);
  }
}

template <class Pair>
void expect_no_undercount(const Pair& pair) {
  for (const auto& [digest, count] : pair.truth) {
    ASSERT_GE(pair.estimate(digest), count * (1 - 1e-12)) << digest;
  }
}

TEST(HotTable, strict_counts_are_never_too_low) {
  for (const std::size_t lines : {2U, 3U, 20U, 200U}) {
    StrictTable pair(lines, static_cast<std::uint32_t>(1 + lines / 4));
    fill(pair, 2, 30'000);
    expect_no_undercount(pair);
    std::uint64_t named = 0;
    EXPECT_EQ(pair.table.find_wrong(named), nullptr);
  }
}

TEST(HotTable, merged_counts_are_never_too_low_and_merging_commutes) {
  for (const std::size_t lines : {2U, 20U, 200U}) {
    StrictTable left(lines, 1 + static_cast<std::uint32_t>(lines / 4));
    StrictTable right(lines, 1 + static_cast<std::uint32_t>(lines / 4));
    StrictTable other(lines, 1 + static_cast<std::uint32_t>(lines / 4));
    fill(left, 3, 20'000);
    fill(right, 4, 10'000);
    fill(other, 4, 10'000);
    other.table.merge(left.table, 70);
    left.table.merge(right.table, 70);
    for (const auto& [digest, count] : right.truth) {
      left.truth[digest] += count;
    }
    expect_no_undercount(left);
    for (const auto& [digest, count] : left.truth) {
      ASSERT_EQ(left.estimate(digest), other.estimate(digest));
    }
  }
}

TEST(HotTable, moving_the_base_changes_no_count) {
  StrictTable pair(20, 5);
  fill(pair, 5, 10'000);
  std::map<std::uint64_t, double> before;
  for (const auto& [digest, count] : pair.truth) {
    before[digest] = pair.estimate(digest);
  }
  pair.table.rebase(40);
  for (const auto& [digest, count] : before) {
    ASSERT_EQ(pair.estimate(digest), std::ldexp(count, -40));
  }
}

// The same memory: dithered counts are nearer to the truth on the average, some below it.
TEST(HotTable, balanced_counts_have_the_smaller_error) {
  StrictTable strict(24, 6);
  BalancedTable balanced(24, 6);
  fill(strict, 6, 30'000);
  fill(balanced, 6, 30'000);
  double strict_error = 0;
  double balanced_error = 0;
  for (const auto& [digest, count] : strict.truth) {
    strict_error += std::abs(strict.estimate(digest) - count);
    balanced_error += std::abs(balanced.estimate(digest) - count);
  }
  EXPECT_LT(balanced_error, 0.7 * strict_error);
  std::uint64_t named = 0;
  EXPECT_EQ(balanced.table.find_wrong(named), nullptr);
}

}  // namespace
}  // namespace mankai
