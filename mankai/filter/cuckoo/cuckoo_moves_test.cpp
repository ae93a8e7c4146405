// Lookups beside moves: one member is moved between its two buckets all the time, or added to the one and then removed
// from the other, while another thread looks it up. A lookup that reads the one bucket before the member arrives there
// and the other one after it has left finds it only because moves and removals are counted.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mankai/filter/cuckoo/cuckoo_table.hpp"
#include "tests/support/sampled.hpp"

namespace mankai {
namespace {

constexpr int kSlots = cuckoo::kSlotsPerBucket;
constexpr std::uint64_t kPairSlots = std::uint64_t{2} * cuckoo::kSlotsPerBucket;

// Two cache lines of buckets.
CuckooTable make_table(const CuckooSlot& slot) {
  auto made = CuckooTable::create(
      {.keys = 1, .fpr = 0.01, .first_buckets = 2 * cuckoo::buckets_per_line(slot.bits()), .slot = slot});
  EXPECT_TRUE(made) << made.error().detail;
  return std::move(*made);
}

bool insert(CuckooTable& table, Digest digest, int times = 1) {
  bool is_added = true;
  for (int i = 0; i < times; ++i) {
    is_added = is_added && table.insert(digest, 0, true) == CuckooTable::Added::added;
  }
  return is_added;
}

// The cache lines that are not all 0.
std::int64_t lines_in_use(const CuckooTable& table) {
  const std::vector<std::byte> image = table.to_bytes();
  const auto cells = std::span(image).subspan(sizeof(ImageHeader), table.cells_bytes());
  std::int64_t lines = 0;
  for (std::size_t line = 0; line < cells.size(); line += kCacheLineBytes) {
    const auto bytes = cells.subspan(line, kCacheLineBytes);
    lines += std::ranges::count(bytes, std::byte{0}) == std::ssize(bytes) ? 0 : 1;
  }
  return lines;
}

struct Keys {
  Digest member;
  /// For each bucket of the member two keys that can be nowhere else, so that they are never moved.
  std::array<std::vector<Digest>, 2> fixed;
};

// Found by what a table does with them: a key that is added often fills its buckets. In a table that can be doubled it
// takes four slots only; its buckets are those of a table without markers.
Keys find_keys(CuckooSlot slot) {
  slot.marker = 0;
  std::mt19937_64 random(1);
  std::optional<Digest> member;
  Keys keys{};
  while (keys.fixed[0].size() < 2 || keys.fixed[1].size() < 2) {
    const Digest key{random()};
    CuckooTable table = make_table(slot);
    EXPECT_TRUE(insert(table, key, 2 * kSlots));
    if (!member) {
      const bool is_member = table.taken_slots() == kPairSlots && lines_in_use(table) == 2;
      member = is_member ? std::optional(key) : std::nullopt;
    } else if (table.taken_slots() == kSlots && insert(table, *member, kSlots) && !insert(table, *member)) {
      // The member goes to its first bucket while there is room.
      CuckooTable other = make_table(slot);
      const bool is_first = insert(other, *member) && insert(other, key) && lines_in_use(other) == 1;
      keys.fixed[is_first ? 0 : 1].push_back(key);
    }
  }
  keys.member = *member;
  return keys;
}

/// A member, and other keys in all but one slot of its two buckets, which are in different cache lines. A key that
/// needs that slot's bucket moves the member.
class Crossing {
 public:
  explicit Crossing(const CuckooSlot& slot) : keys_(find_keys(slot)), table_(make_table(slot)) {
    for (const auto& fixed : keys_.fixed) {
      EXPECT_TRUE(insert(table_, fixed[0], kSlots - 1));
    }
    EXPECT_TRUE(insert(table_, keys_.member));
  }

  [[nodiscard]] const CuckooTable& table() const noexcept { return table_; }
  [[nodiscard]] Digest member() const noexcept { return keys_.member; }

  // Moves the member to its second bucket and back. Returns whether there was room.
  bool move_twice() { return push_out_of(0) && push_out_of(1); }
  // Moves the member to its second bucket, adds it to the first one and removes it from the second.
  bool move_and_renew() { return push_out_of(0) && insert(table_, keys_.member) && erase(keys_.member); }

 private:
  bool push_out_of(std::size_t bucket) {
    const Digest pusher = keys_.fixed[bucket][1];
    return insert(table_, pusher) && erase(pusher);
  }
  bool erase(Digest digest) { return table_.erase(digest).result == EraseResult::erased; }

  Keys keys_;
  CuckooTable table_;
};

// Asks beside `change()`, for as long as it takes to see each of the bugs that the test is for also on a machine that
// is busy. Returns how often `is_found()` was false.
template <class Change, class IsFound>
std::uint64_t misses_beside(const Change& change, const IsFound& is_found) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kTime = std::chrono::milliseconds(test::kIsSampled ? 100 : 700);
  std::atomic<bool> has_always_changed = true;
  std::uint64_t missed = 0;
  {
    const std::jthread writer([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        has_always_changed = change() && has_always_changed;
      }
    });
    for (const auto end = Clock::now() + kTime; Clock::now() < end;) {
      for (int i = 0; i < 1000; ++i) {
        missed += is_found() ? 0U : 1U;
      }
    }
  }
  EXPECT_TRUE(has_always_changed);
  return missed;
}

class CuckooBesideMoves : public testing::TestWithParam<CuckooSlot> {};

// Returns how often a batch of two did not find the member beside `change()`.
template <class Change>
std::uint64_t misses_of_batches(const Crossing& crossing, const Change& change) {
  const std::array<Digest, 2> batch = {crossing.member(), crossing.member()};
  std::array<bool, 2> outcomes{};
  return misses_beside(change, [&] {
    crossing.table().may_contain(batch, outcomes);
    return outcomes[0] && outcomes[1];
  });
}
template <class Change>
std::uint64_t misses_of_single_calls(const Crossing& crossing, const Change& change) {
  return misses_beside(change, [&] { return crossing.table().may_contain(crossing.member()); });
}

TEST_P(CuckooBesideMoves, AMemberThatMovesIsFound) {
  Crossing crossing(GetParam());
  const auto change = [&] { return crossing.move_twice(); };
  EXPECT_EQ(misses_of_single_calls(crossing, change), 0U);
  EXPECT_EQ(misses_of_batches(crossing, change), 0U);
}

TEST_P(CuckooBesideMoves, AMemberThatIsAddedBeforeItIsRemovedIsFound) {
  Crossing crossing(GetParam());
  const auto change = [&] { return crossing.move_and_renew(); };
  EXPECT_EQ(misses_of_single_calls(crossing, change), 0U);
  EXPECT_EQ(misses_of_batches(crossing, change), 0U);
}

// Slots of one plane of bits, of several, and with fingerprints of which parts are compared.
INSTANTIATE_TEST_SUITE_P(slots, CuckooBesideMoves,
                         testing::Values(CuckooSlot{.fingerprint = 8}, CuckooSlot{.fingerprint = 14},
                                         CuckooSlot{.fingerprint = 11, .extension = 3, .marker = 1}),
                         [](const auto& slot) {
                           return std::to_string(slot.param.fingerprint) + (slot.param.marker != 0 ? "_doubles" : "");
                         });

}  // namespace
}  // namespace mankai
