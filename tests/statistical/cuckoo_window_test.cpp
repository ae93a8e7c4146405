// A cuckoo filter of 64 KiB as a sliding window over events: each lives for 13 generations, of 2,231 events each, and
// is found for one more at most.
//
// An event that has expired is found at the rate of false positives, which is highest when absent keys are asked for
// here. kSigmas standard deviations of a binomial count with the target's rate are the most that chance adds.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mankai/base/bits.hpp"
#include "mankai/filter/cuckoo/cuckoo.hpp"
#include "tests/statistical/bounds.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {
namespace {

constexpr std::uint64_t kWindow = 29'000;
constexpr std::uint64_t kGeneration = divide_up(kWindow, kCuckooLifetime);
constexpr double kRate = 0.002;
constexpr std::uint64_t kBytes = 65'536;

/// Counts of lookups, and of those that found a key.
struct Answers {
  std::size_t asked = 0;
  std::size_t found = 0;

  void add(bool is_found) {
    asked += 1;
    found += is_found ? 1 : 0;
  }
  [[nodiscard]] double rate() const { return static_cast<double>(found) / static_cast<double>(asked); }
};

TEST(CuckooWindow, KeepsTheLatest29000EventsIn64KiB) {
  auto made = Cuckoo::create({.keys = 31'200,
                              .fpr = kRate,
                              .growth = 0,
                              .counts = 0,
                              .max_ttl = Duration(kCuckooLifetime),
                              .hash = {.kind = HashKind::xxh3, .seed = {1, 0}}});
  ASSERT_TRUE(made) << made.error().detail;
  Cuckoo& filter = *made;
  EXPECT_LE(filter.cells_bytes(), kBytes);

  constexpr std::size_t kEvents = 1'000'000;
  Random random(2);
  const std::vector<Digest> events = random.digests(kEvents);
  Answers inside;
  Answers late;
  Answers absent;
  for (std::size_t event = 0; event < kEvents; ++event) {
    if (event % kGeneration == 0) {
      // Before a generation expires, the filter is as full as it gets.
      for (std::size_t i = 0; event >= 2 * kWindow && i < 2 * kGeneration; ++i) {
        absent.add(filter.may_contain(random.digest()));
      }
      filter.advance({event / kGeneration});
      // The oldest generation has expired now.
      for (std::size_t i = 0; event >= 2 * kWindow && i < kGeneration; ++i) {
        late.add(filter.may_contain(events[event - (kCuckooLifetime + 1) * kGeneration + i]));
      }
    }
    ASSERT_TRUE(filter.try_insert_until(events[event], filter.latest_until())) << event;
    for (int i = 0; event >= kWindow && i < 11; ++i) {
      const std::size_t age = i == 0 ? kWindow - 1 : random.below(kWindow);
      inside.add(filter.may_contain(events[event - age]));
    }
  }
  EXPECT_GE(inside.asked, 10'000'000U);
  EXPECT_EQ(inside.found, inside.asked);
  EXPECT_GE(absent.asked, 1'000'000U);
  EXPECT_LE(absent.rate(), kRate);
  EXPECT_GE(late.asked, 900'000U);
  EXPECT_LE(late.rate(), absent.rate() + allowed(kRate, static_cast<double>(late.asked), 0));
}

}  // namespace
}  // namespace mankai::test
