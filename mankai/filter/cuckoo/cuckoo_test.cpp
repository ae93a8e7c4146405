#include "mankai/filter/cuckoo/cuckoo.hpp"

#include <gtest/gtest.h>
#include <atomic>
#include <memory>
#include <thread>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace mankai {
namespace {

constexpr HashSpec kHash{.kind = HashKind::xxh3, .seed = {7, 0}};

Cuckoo make(Cuckoo::Options options) {
  options.hash = kHash;
  auto made = Cuckoo::create(options);
  EXPECT_TRUE(made) << made.error().detail;
  return std::move(*made);
}

std::vector<Digest> digests(std::uint64_t first, std::size_t count) {
  std::vector<std::uint64_t> keys(count);
  for (std::size_t i = 0; i < count; ++i) {
    keys[i] = first + i;
  }
  std::vector<Digest> made(count);
  Hasher{kHash}(std::span<const std::uint64_t>(keys), made);
  return made;
}

Digest digest(std::uint64_t key) { return digests(key, 1).front(); }

double bits_per_key(const Cuckoo& filter, std::size_t keys) {
  return static_cast<double>(filter.cells_bytes()) * 8 / static_cast<double>(keys);
}

double measured_fpr(const Cuckoo& filter, std::size_t asked) {
  const auto absent = digests(std::uint64_t{1} << 40, asked);
  std::vector<char> answers(asked);
  const std::span outcomes(reinterpret_cast<bool*>(answers.data()), asked);
  filter.may_contain(absent, outcomes);
  return static_cast<double>(std::ranges::count(outcomes, true)) / static_cast<double>(asked);
}

/// The filter beside an exact model: the additions of each key that have neither expired nor been taken out. A removal
/// takes out the one that would expire first.
class Model {
 public:
  Model(Cuckoo filter, std::uint64_t seed) : filter_(std::move(filter)), random_(seed) {}

  Cuckoo& filter() { return filter_; }

  void add(std::uint64_t key) {
    const std::uint64_t until = filter_.tick().value + (filter_.has_time() ? 1 + random_() % (kCuckooLifetime + 1) : 1);
    filter_.insert_until(digest(key), until);
    members_[key].insert(until);
  }
  // Takes a member out that is in.
  void erase_one() {
    if (members_.empty()) {
      return;
    }
    auto chosen = members_.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(random_() % std::min<std::size_t>(members_.size(), 50)));
    const EraseResult result = filter_.erase(digest(chosen->first));
    EXPECT_TRUE(result == EraseResult::erased || result == EraseResult::stuck) << "a member's removal was refused";
    chosen->second.erase(chosen->second.begin());
    if (chosen->second.empty()) {
      members_.erase(chosen);
    }
  }
  void advance(std::uint64_t ticks) {
    const Tick to{filter_.tick().value + ticks};
    filter_.advance(to);
    for (auto& [key, untils] : members_) {
      untils.erase(untils.begin(), untils.upper_bound(to.value));
    }
    std::erase_if(members_, [](const auto& each) { return each.second.empty(); });
  }
  // Returns how many members are not found.
  std::size_t missing() {
    std::size_t missing = 0;
    for (const auto& [key, untils] : members_) {
      missing += filter_.may_contain(digest(key)) ? 0U : 1U;
      checks_ += 1;
    }
    return missing;
  }
  std::uint64_t random() { return random_(); }
  [[nodiscard]] std::size_t checks() const { return checks_; }

 private:
  Cuckoo filter_;
  std::mt19937_64 random_;
  std::unordered_map<std::uint64_t, std::multiset<std::uint64_t>> members_;
  std::size_t checks_ = 0;
};

struct Shape {
  const char* name;
  std::uint32_t counts;
  std::uint32_t growth;
  bool expires;
};

class CuckooMembers : public testing::TestWithParam<Shape> {};

// Fingerprints of 4 bits: every key has many aliases, so that a wrong rule loses members within seconds; each further
// sub-filter has one bit more.
TEST_P(CuckooMembers, NoneIsLostWhenOthersAreAddedRemovedMovedAndExpire) {
  const Shape shape = GetParam();
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Model model(make({.keys = shape.expires ? 40U : 60U,
                      .fpr = 0.01,
                      .growth = shape.growth,
                      .counts = shape.counts,
                      .max_ttl = shape.expires ? Duration(13'000) : Duration::zero(),
                      .fingerprint_bits = 4}),
                seed);
    for (int round = 0; round < 300; ++round) {
      for (int i = 0; i < 40; ++i) {
        model.add(model.random() % 6000);
      }
      for (int i = 0; i < 25 && model.filter().check_erase(); ++i) {
        model.erase_one();
      }
      if (round % 40 == 39) {
        model.filter().compact();
      }
      if (shape.expires && round % 8 == 7) {
        model.advance(1 + model.random() % 2);
      }
      ASSERT_EQ(model.missing(), 0U) << shape.name << ", seed " << seed << ", round " << round;
    }
    EXPECT_GT(model.filter().expansions(), 2U);
    EXPECT_GT(model.checks(), 60'000U);
  }
}

INSTANTIATE_TEST_SUITE_P(shapes, CuckooMembers,
                         testing::Values(Shape{"plain", 0, 2, false}, Shape{"counted", 4, 2, false},
                                         Shape{"tight", 2, 4, false}, Shape{"equal", 4, 1, false},
                                         Shape{"expiring", 0, 2, true}, Shape{"expiring_counted", 2, 2, true}),
                         [](const auto& shape) { return std::string(shape.param.name); });

// A look-up compares all slots at once where their fingerprints are whole; a count looks at each slot that is alike.
TEST(Cuckoo, LookupsAgreeWithCountsInSlotsOfEveryWidth) {
  constexpr std::size_t kKeys = 300;
  const auto asked = digests(0, 30'000);
  const auto outcomes = std::make_unique<bool[]>(asked.size());
  for (const std::uint32_t growth : {0U, 1U, 2U}) {
    for (const std::uint32_t counts : {0U, 2U, 4U}) {
      for (std::uint32_t bits = 4; bits <= 26; ++bits) {
        Cuckoo filter = make({.keys = kKeys, .growth = growth, .counts = counts, .fingerprint_bits = bits});
        filter.insert(std::span(asked).first(kKeys));
        filter.may_contain(asked, std::span(outcomes.get(), asked.size()));
        for (std::size_t i = 0; i < asked.size(); ++i) {
          const bool is_found = filter.may_contain(asked[i]);
          ASSERT_TRUE(is_found || i >= kKeys) << bits << " bits, " << counts << " of count, growth " << growth;
          ASSERT_EQ(is_found, filter.estimate(asked[i]).value != 0) << bits << ' ' << counts << ' ' << growth;
          ASSERT_EQ(is_found, outcomes[i]) << bits << ' ' << counts << ' ' << growth;
        }
      }
    }
  }
}

TEST(Cuckoo, KeepsItsRateAndSize) {
  struct Case {
    std::uint32_t growth;
    std::uint32_t counts;
    double most_bits;
  };
  for (const Case& each : {Case{0, 0, 11.3}, Case{0, 4, 16.9}, Case{2, 0, 15.0}, Case{2, 4, 22.4}}) {
    constexpr std::size_t kKeys = 100'000;
    Cuckoo filter = make({.keys = kKeys, .fpr = 0.01, .growth = each.growth, .counts = each.counts});
    filter.insert(digests(0, kKeys));
    EXPECT_EQ(filter.slice_count(), 1U) << each.growth << each.counts;
    EXPECT_LE(bits_per_key(filter, kKeys), each.most_bits);
    const double measured = measured_fpr(filter, 400'000);
    EXPECT_LE(measured, 0.01);
    const double formula = filter.fpr_estimate();
    EXPECT_NEAR(measured, formula, 5 * std::sqrt(formula / 400'000)) << each.growth << each.counts;
  }
}

TEST(Cuckoo, GrowsWithinItsRate) {
  constexpr std::size_t kKeys = 500'000;
  Cuckoo filter = make({.keys = 1000, .fpr = 0.01, .counts = 0});
  filter.insert(digests(0, kKeys));
  EXPECT_EQ(filter.slice_count(), 2U);
  EXPECT_EQ(filter.expansions(), 10U);
  EXPECT_LE(measured_fpr(filter, 200'000), 0.01);
  const auto all = digests(0, kKeys);
  EXPECT_TRUE(std::ranges::all_of(all, [&](Digest each) { return filter.may_contain(each); }));
}

TEST(Cuckoo, TakesKeysUpToALoadOf95Percent) {
  for (const std::uint64_t keys : {1U, 2U, 5U, 10U, 60U, 300U, 1000U, 20'000U}) {
    for (std::uint64_t start = 0; start < 50; ++start) {
      Cuckoo filter = make({.keys = keys, .fpr = 0.01, .growth = 0, .counts = 0});
      filter.insert(digests(start << 32, keys));
      EXPECT_EQ(filter.slice_count(), 1U) << keys << " keys";
    }
  }
}

TEST(Cuckoo, AFixedFilterRefusesWhatItHasNoRoomFor) {
  Cuckoo filter = make({.keys = 1000, .fpr = 0.01, .growth = 0, .counts = 0});
  std::uint64_t key = 0;
  while (filter.try_insert_until(digest(key), 0)) {
    ++key;
  }
  EXPECT_GE(static_cast<double>(key), 0.94 * static_cast<double>(filter.cell_count()));
  for (std::uint64_t i = 0; i < key; ++i) {
    EXPECT_TRUE(filter.may_contain(digest(i)));
  }
  const Digest absent{0x123456789};
  EXPECT_FALSE(filter.check_room(std::span(&absent, 1)));
  EXPECT_EQ(filter.slice_count(), 1U);
}

// Goal: a filter that has refused keys, and so searches less for room, takes what a copy of it took.
// Method: the copy has not refused any. Both are filled further, from different keys on, since few keys make a
// difference.
TEST(Cuckoo, AFixedFilterThatRefusedKeysTakesWhatACopyTook) {
  constexpr std::uint64_t kKeys = 5000;
  std::size_t differences = 0;
  for (std::uint64_t start = 0; start < 20 * kKeys; start += 2 * kKeys) {
    Cuckoo filter = make({.keys = kKeys, .growth = 0});
    Cuckoo copy = make({.keys = kKeys, .growth = 0});
    for (const Digest each : digests(start, kKeys + kKeys / 16)) {
      if (filter.try_insert_until(each, 0)) {
        ASSERT_TRUE(copy.try_insert_until(each, 0));
      }
    }
    for (const Digest each : digests(start + 2 * kKeys, kKeys / 2)) {
      if (copy.try_insert_until(each, 0) && !filter.try_insert_until(each, 0)) {
        ++differences;
        filter.expect_room();
        ASSERT_TRUE(filter.try_insert_until(each, 0));
      }
    }
    EXPECT_EQ(filter.to_bytes(), copy.to_bytes());
  }
  EXPECT_GT(differences, 0U);
}

// Goal: sub-filters that open because no move makes room are no room for further keys, which would double the rate.
// Method: fingerprints so short that keys have few buckets to move between, until a second sub-filter opens.
TEST(Cuckoo, AFixedFilterIsFullAtItsKeysAlsoIfAKeyOpenedASubFilter) {
  constexpr std::uint64_t kKeys = 1000;
  const auto fill = [](std::uint64_t start) {
    Cuckoo filter = make({.keys = kKeys, .growth = 0, .counts = 0, .fingerprint_bits = 4});
    for (std::uint64_t key = start; filter.check_room(digests(key, 1)); ++key) {
      filter.insert(digest(key));
    }
    return filter;
  };
  Cuckoo filter = fill(0);
  ASSERT_EQ(filter.slice_count(), 2U);
  EXPECT_EQ(filter.keys_inserted(), kKeys);
  EXPECT_EQ(filter.capacity_keys(), kKeys);
  const Cuckoo other = fill(kKeys);
  ASSERT_TRUE(filter.merge(other));
  EXPECT_EQ(filter.capacity_keys(), 2 * kKeys);
  EXPECT_FALSE(filter.check_room(digests(0, 1)));
}

TEST(Cuckoo, RepeatedKeysFitAFullFixedFilterThatCounts) {
  for (const std::uint32_t counts : {0U, 2U}) {
    Cuckoo filter = make({.keys = 200, .fpr = 0.0001, .growth = 0, .counts = counts});
    std::vector<Digest> keys;
    for (std::uint64_t key = 0; key < 200; ++key) {
      keys.push_back(digest(key));
      filter.insert(keys.back());
    }
    EXPECT_EQ(filter.check_room(keys).has_value(), counts != 0);
    keys.push_back(digest(1000));
    EXPECT_FALSE(filter.check_room(keys));
  }
}

TEST(Cuckoo, InsertionsSweepAllSubFilters) {
  Cuckoo filter = make({.keys = 500, .growth = 1, .counts = 2, .max_ttl = Duration(13), .ttl_resolution = Duration(1)});
  for (std::uint64_t key = 0; key < 3000; ++key) {
    filter.insert_until(digest(key), filter.until_of(Time(Duration(1))).value());
  }
  ASSERT_GE(filter.slice_count(), 4U);
  filter.advance(Tick{filter.tick().value + 2});
  EXPECT_FALSE(filter.may_contain(digest(1)));
  EXPECT_GT(filter.taken_slots(), 2000U);
  const std::uint64_t lines = filter.cells_bytes() / kCacheLineBytes;
  for (std::uint64_t i = 0; i < lines / 2 + 1; ++i) {
    filter.insert(digest(5000));
  }
  EXPECT_EQ(filter.taken_slots(), 1U);
}

// Adds and removes keys at a load at which most additions move entries, and advances time.
void write_beside_readers(Cuckoo& filter) {
  constexpr std::uint64_t kOthers = 430;
  constexpr int kRounds = 400;
  for (int round = 0; round < kRounds; ++round) {
    for (std::uint64_t i = 0; i < kOthers; ++i) {
      static_cast<void>(filter.try_insert_until(digest(10'000 + i), filter.latest_until()));
    }
    for (std::uint64_t i = 0; i < kOthers; ++i) {
      filter.erase(digest(10'000 + i));
    }
    if (filter.has_time() && round % 40 == 39) {
      filter.advance(Tick{filter.tick().value + 1});
    }
  }
}

// Returns how many of the members were not found, alone or in a batch.
std::uint64_t missed_members(const Cuckoo& filter, std::span<const Digest> members) {
  const auto outcomes = std::make_unique<bool[]>(members.size());
  filter.may_contain(members, std::span(outcomes.get(), members.size()));
  std::uint64_t missed = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    missed += outcomes[i] && filter.may_contain(members[i]) ? 0U : 1U;
  }
  return missed;
}

// Goal: a reader finds every member while a writer moves entries, opens sub-filters and advances time.
TEST(Cuckoo, ReadersFindEveryMemberBesideAWriter) {
  for (const Cuckoo::Options& options :
       {Cuckoo::Options{.keys = 2000, .growth = 0, .counts = 2},
        Cuckoo::Options{.keys = 2000, .growth = 0, .counts = 0},
        Cuckoo::Options{.keys = 2000, .growth = 0, .counts = 4},
        Cuckoo::Options{
            .keys = 2000, .growth = 0, .counts = 2, .max_ttl = Duration(1300), .ttl_resolution = Duration(100)}}) {
    Cuckoo filter = make(options);
    const std::vector<Digest> members = digests(0, 1500);
    filter.insert(std::span<const Digest>(members));
    std::atomic<bool> is_done = false;
    std::atomic<std::uint64_t> missed = 0;
    const auto read = [&] {
      while (!is_done.load(std::memory_order_relaxed)) {
        missed += missed_members(filter, members);
      }
    };
    {
      const std::jthread one(read);
      const std::jthread other(read);
      write_beside_readers(filter);
      is_done = true;
    }
    EXPECT_EQ(missed, 0U);
  }
}

// Keys that are added again take few slots, so that they do not make a filter grow that is hardly filled.
TEST(Cuckoo, RepeatedKeysDoNotMakeAFilterGrow) {
  for (const std::uint32_t counts : {0U, 2U}) {
    Cuckoo filter = make({.keys = 100'000, .counts = counts});
    const std::size_t before = filter.cells_bytes();
    for (const Digest each : digests(0, 5000)) {
      for (int i = 0; i < 10; ++i) {
        filter.insert(each);
      }
    }
    EXPECT_EQ(filter.cells_bytes(), before) << counts;
  }
}

// Before anything is changed: a journal would have a record that cannot be replayed.
TEST(Cuckoo, AFilterThatCannotGrowFurtherRefusesKeys) {
  Cuckoo filter = make({.keys = 1, .growth = 1, .counts = 0});
  std::uint64_t key = 0;
  Digest next = digest(key);
  while (filter.check_room(std::span(&next, 1))) {
    filter.insert(next);
    next = digest(++key);
  }
  EXPECT_GE(filter.slice_count(), 4000U);
  EXPECT_FALSE(filter.check_room(digests(1U << 20U, 4096)));
  for (std::uint64_t i = 0; i < key; ++i) {
    EXPECT_TRUE(filter.may_contain(digest(i)));
  }
}

TEST(Cuckoo, CountsAndThenSticks) {
  for (const std::uint32_t counts : {0U, 2U, 4U}) {
    Cuckoo filter = make({.keys = 100, .fpr = 0.001, .counts = counts});
    const Digest key = digest(1);
    const std::uint32_t exact = counts == 0 ? 3 : 4 * ((1U << counts) - 2);
    for (std::uint32_t i = 1; i <= exact; ++i) {
      filter.insert(key);
      EXPECT_EQ(filter.estimate(key), (KeyCount{.value = i})) << counts;
    }
    for (std::uint32_t i = exact; i > 1; --i) {
      EXPECT_EQ(filter.erase(key), EraseResult::erased);
      EXPECT_TRUE(filter.may_contain(key));
    }
    EXPECT_EQ(filter.erase(key), EraseResult::erased);
    EXPECT_FALSE(filter.may_contain(key));
    EXPECT_EQ(filter.erase(key), EraseResult::absent);
    for (std::uint32_t i = 0; i < 100; ++i) {
      filter.insert(key);
    }
    EXPECT_TRUE(filter.estimate(key).is_saturated);
    EXPECT_EQ(filter.erase(key), EraseResult::stuck);
    EXPECT_TRUE(filter.may_contain(key));
    EXPECT_EQ(filter.slice_count(), 1U);
  }
}

TEST(Cuckoo, ACountIsALowerBoundWhereKeysExpireAndAreNotCounted) {
  Cuckoo filter = make({.keys = 100, .fpr = 0.001, .counts = 0, .max_ttl = Duration(13)});
  EXPECT_EQ(filter.estimate(digest(1)), KeyCount{});
  for (int i = 0; i < 3; ++i) {
    filter.insert(digest(1));
    EXPECT_EQ(filter.estimate(digest(1)), (KeyCount{.value = 1, .is_saturated = true}));
  }
}

// An erasure of an absent key takes a unit at the false positive rate, once each, and says so.
TEST(Cuckoo, ErasesOfAbsentKeysAreRefusedExceptAtTheRate) {
  constexpr std::size_t kKeys = 100'000;
  Cuckoo filter = make({.keys = kKeys, .fpr = 0.01, .growth = 0, .counts = 4});
  filter.insert(digests(0, kKeys));
  const double rate = filter.fpr_estimate();
  const auto absent = digests(std::uint64_t{1} << 40, 1'000'000);
  std::vector<EraseResult> results(absent.size());
  filter.erase(absent, results);
  const auto erased = static_cast<double>(std::ranges::count(results, EraseResult::erased));
  const double expected = rate * static_cast<double>(absent.size());
  EXPECT_LE(erased, expected + 3 * std::sqrt(expected));
  EXPECT_EQ(static_cast<double>(filter.keys_inserted()), static_cast<double>(kKeys) - erased);
}

TEST(Cuckoo, KeysLiveForTheirTimeAndOneGenerationMoreAtMost) {
  constexpr Duration kTtl = std::chrono::seconds(13);
  Cuckoo filter = make({.keys = 2000, .fpr = 0.0001, .growth = 0, .counts = 0, .max_ttl = kTtl});
  const Duration generation = filter.epoch();
  EXPECT_EQ(generation, std::chrono::seconds(1));
  const Time start{Duration(100'300'000)};
  filter.advance(tick_of(start, generation));
  for (std::uint64_t key = 0; key < 1300; ++key) {
    const auto until = filter.until_of(start + Duration(10'000 * static_cast<std::int64_t>(key + 1)));
    ASSERT_TRUE(until) << until.error().detail;
    filter.insert_until(digest(key), *until);
  }
  std::size_t late = 0;
  for (Time now = start; now < start + kTtl + 2 * generation; now += Duration(50'000)) {
    filter.advance(tick_of(now, generation));
    for (std::uint64_t key = 0; key < 1300; ++key) {
      const Time expiry = start + Duration(10'000 * static_cast<std::int64_t>(key + 1));
      const bool is_in = filter.may_contain(digest(key));
      if (now < expiry) {
        ASSERT_TRUE(is_in) << key;
        EXPECT_GE(filter.expiry(digest(key)), expiry);
      } else if (now >= expiry + generation) {
        late += is_in ? 1U : 0U;
      }
    }
  }
  EXPECT_LE(late, 100U);  // false positives, at 1e-4
  EXPECT_FALSE(filter.until_of(start));
  EXPECT_FALSE(filter.until_of(start + 3 * kTtl));
}

// 64 KiB that remember a window of events, each for its time.
TEST(Cuckoo, ExpiredSlotsAreUsedAgain) {
  constexpr std::uint64_t kWindow = 29'000;
  constexpr std::uint64_t kGeneration = kWindow / kCuckooLifetime + 1;
  Cuckoo filter = make({.keys = 31'200, .fpr = 0.002, .growth = 0, .counts = 0, .max_ttl = Duration(kCuckooLifetime)});
  EXPECT_LE(filter.cells_bytes(), 65'536U);
  for (std::uint64_t event = 0; event < 300'000; ++event) {
    if (event % kGeneration == 0) {
      filter.advance({event / kGeneration});
    }
    ASSERT_TRUE(filter.try_insert_until(digest(event), filter.tick().value + kCuckooLifetime + 1)) << event;
    if (event >= kWindow && event % 7 == 0) {
      ASSERT_TRUE(filter.may_contain(digest(event - kWindow)));
    }
  }
  EXPECT_EQ(filter.slice_count(), 1U);
}

TEST(Cuckoo, SkippingTicksEqualsTakingEach) {
  const Cuckoo::Options options{.keys = 500, .fpr = 0.01, .counts = 2, .max_ttl = Duration(13)};
  for (const std::uint64_t skipped : {1U, 2U, 5U, 13U, 14U, 15U, 40U}) {
    Cuckoo steps = make(options);
    Cuckoo leap = make(options);
    for (Cuckoo* filter : {&steps, &leap}) {
      for (std::uint64_t key = 0; key < 900; ++key) {
        filter->insert_until(digest(key), filter->tick().value + 1 + key % 14);
      }
    }
    for (std::uint64_t i = 1; i <= skipped; ++i) {
      steps.advance({i});
    }
    leap.advance({skipped});
    EXPECT_EQ(steps.to_bytes(), leap.to_bytes()) << skipped;
  }
}

TEST(Cuckoo, CompactionDropsSubFiltersThatAreEmptied) {
  for (const std::uint32_t counts : {0U, 4U}) {
    Cuckoo filter = make({.keys = 500, .fpr = 0.01, .growth = 1, .counts = counts});
    filter.insert(digests(0, 5000));
    const std::size_t before = filter.slice_count();
    std::vector<EraseResult> results(4900);
    filter.erase(digests(100, 4900), results);
    EXPECT_EQ(std::ranges::count(results, EraseResult::erased), 4900);
    filter.compact();
    EXPECT_LT(filter.slice_count(), before);
    EXPECT_LE(filter.slice_count(), 2U);
    EXPECT_EQ(filter.keys_inserted(), 100U);
    for (std::uint64_t key = 0; key < 100; ++key) {
      EXPECT_TRUE(filter.may_contain(digest(key)));
    }
    filter.insert(digests(10'000, 1000));
    EXPECT_EQ(filter.keys_inserted(), 1100U);
  }
}

// Sub-filters with different times, as no writer makes them: nothing but that image suffers.
TEST(Cuckoo, AForgedTimeOfASubFilterDoesNoHarm) {
  Cuckoo filter = make({.keys = 50, .fpr = 0.01, .growth = 1, .max_ttl = Duration(13)});
  filter.advance({100});
  filter.insert(digests(0, 500));
  const std::vector<std::byte> image = filter.to_bytes();
  Region region = Region::allocate(system_memory(), image.size()).value();
  const std::span<std::byte> bytes = region.bytes();
  std::ranges::copy(image, bytes.begin());
  std::vector<Image> slices = slices_in(bytes).value();
  ASSERT_GE(slices.size(), 3U);
  constexpr std::size_t kTick = 1;
  slices[1].set_state(kTick, 103);
  std::vector<std::span<const std::byte>> sealed;
  for (Image& slice : slices) {
    sealed.push_back(slice.seal());
  }
  ImageHeader outer;
  std::memcpy(&outer, bytes.data(), sizeof(outer));
  seal_outer(outer, sealed);
  std::memcpy(bytes.data(), &outer, sizeof(outer));
  Cuckoo forged = Cuckoo::from_bytes(bytes).value();
  forged.compact();
  forged.insert(digests(1000, 100));
  forged.advance({104});
  forged.compact();
  EXPECT_TRUE(forged.may_contain(digest(1000)));
}

TEST(Cuckoo, TheLongestTimeToLiveIsRoundedUpToItsResolution) {
  const Cuckoo filter = make({.keys = 50, .fpr = 0.01, .max_ttl = Duration(70), .ttl_resolution = Duration(20)});
  EXPECT_EQ(filter.max_ttl(), Duration(80));
  EXPECT_TRUE(filter.until_of(Time(Duration(79))));
  EXPECT_FALSE(filter.until_of(Time(Duration(100))));
  for (const Duration resolution : {Duration(5), Duration(71), Duration(-1)}) {
    EXPECT_FALSE(Cuckoo::create({.keys = 50, .max_ttl = Duration(70), .ttl_resolution = resolution}));
  }
}

TEST(Cuckoo, RatesOutOfReachAreRefused) {
  EXPECT_FALSE(Cuckoo::create({.keys = 50, .fpr = 1e-12}));
  EXPECT_FALSE(Cuckoo::create({.keys = 50, .fpr = 1e-9, .growth = 0}));
  EXPECT_TRUE(Cuckoo::create({.keys = 50, .fpr = 1e-6}));
}

TEST(Cuckoo, MergeTakesOverEveryKeyAndItsCount) {
  Cuckoo mine = make({.keys = 100, .fpr = 0.01});
  Cuckoo theirs = make({.keys = 100, .fpr = 0.01});
  mine.insert(digests(0, 500));
  theirs.insert(digests(400, 2000));
  ASSERT_TRUE(mine.merge(theirs));
  for (std::uint64_t key = 0; key < 2400; ++key) {
    EXPECT_GE(mine.estimate(digest(key)).value, key >= 400 && key < 500 ? 2U : 1U);
  }
  for (std::uint64_t key = 400; key < 2400; ++key) {
    EXPECT_EQ(mine.erase(digest(key)), EraseResult::erased);
  }
  for (std::uint64_t key = 0; key < 500; ++key) {
    EXPECT_TRUE(mine.may_contain(digest(key)));
  }
  mine.insert(digests(5000, 3000));
  for (std::size_t i = 1; i < mine.slice_count(); ++i) {
    EXPECT_GE(mine.slice(i).slice_tag(), mine.slice(i - 1).slice_tag());
  }
}

}  // namespace
}  // namespace mankai
