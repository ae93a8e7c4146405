#pragma once

/// The counts of a decayed-top: a table of keys that seem hot, before a sketch of all others.
///
///     | buckets, a line each | lines of the sketch (rescaled_line.hpp) |
///
///     strict:   | 8 tags of 16 bits | 8 lower parts of 32 bits | 8 upper parts of 8 bits | exponent | named | 64 bytes
///     balanced: | 10 tags of 16 bits | exponent (22 bits), named (10 bits) | 10 counts of 32 bits |           64 bytes
///
/// A key's bucket and tag stand for the key: its cells derive from them, so that a key that leaves the table finds its
/// cells. Keys of one bucket and tag share a count, which remains an upper bound: of 1000 hot keys in 200 buckets, no
/// two do with a probability of 0.96.
///
/// Weights and exponents are relative to a common octave; see decayed_top.hpp.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mankai/base/bits.hpp"
#include "mankai/filter/decayed_top/rescaled_line.hpp"
#include "mankai/filter/parts/forward_decay.hpp"
#include "mankai/hash/digest.hpp"
#include "mankai/hash/probes.hpp"

namespace mankai {

/// Rounding is up, so a count needs bits below an event's. Zeros are an empty bucket.
struct alignas(kCacheLineBytes) StrictBucket {
  static constexpr std::uint32_t kWays = 8;
  static constexpr int kCountBits = 40;

  std::array<std::uint16_t, kWays> tags;  ///< 0: unused
  std::array<std::uint32_t, kWays> low;
  std::array<std::uint8_t, kWays> high;
  std::int32_t scale;
  std::uint32_t names;

  [[nodiscard]] std::uint64_t count(std::uint32_t way) const noexcept {
    return std::uint64_t{high[way]} << 32 | low[way];
  }
  void set_count(std::uint32_t way, std::uint64_t count) noexcept {
    low[way] = static_cast<std::uint32_t>(count);
    high[way] = static_cast<std::uint8_t>(count >> 32);
  }
  [[nodiscard]] std::int32_t exponent() const noexcept { return scale; }
  void set_exponent(std::int32_t exponent) noexcept { scale = exponent; }
  [[nodiscard]] std::uint32_t named() const noexcept { return names; }
  void set_named(std::uint32_t ways) noexcept { names = ways; }
};

/// Dithered counts are right on the average, however coarse.
struct alignas(kCacheLineBytes) BalancedBucket {
  static constexpr std::uint32_t kWays = 10;
  static constexpr int kCountBits = 32;

  std::array<std::uint16_t, kWays> tags;
  std::uint32_t scale;
  std::array<std::uint32_t, kWays> counts;

  [[nodiscard]] std::uint64_t count(std::uint32_t way) const noexcept { return counts[way]; }
  void set_count(std::uint32_t way, std::uint64_t count) noexcept { counts[way] = static_cast<std::uint32_t>(count); }
  [[nodiscard]] std::int32_t exponent() const noexcept { return static_cast<std::int32_t>(scale) >> kWays; }
  void set_exponent(std::int32_t exponent) noexcept { scale = static_cast<std::uint32_t>(exponent) << kWays | named(); }
  [[nodiscard]] std::uint32_t named() const noexcept { return scale & ((1U << kWays) - 1); }
  void set_named(std::uint32_t ways) noexcept { scale = (scale & ~((1U << kWays) - 1)) | ways; }
};
static_assert(sizeof(StrictBucket) == kCacheLineBytes && sizeof(BalancedBucket) == kCacheLineBytes);

/// Never below the truth: rounds up, in cells of 8 bits.
struct StrictCounts {
  using Bucket = StrictBucket;
  static constexpr bool kDithers = false;
  using Cells = RescaledCells<8, 0, kDithers>;
};

/// The smallest error: dithers, in cells of 4 bits.
struct BalancedCounts {
  using Bucket = BalancedBucket;
  static constexpr bool kDithers = true;
  using Cells = RescaledCells<4, -2, kDithers>;
};

/// What stands for a key.
struct HotPlace {
  std::uint32_t bucket = 0;
  std::uint16_t tag = 0;

  friend auto operator<=>(HotPlace, HotPlace) = default;
};

/// The highest relative octave of a weight: later ones are rebased.
inline constexpr std::int32_t kMostHotOctave = 1 << 20;
/// Exponents of counts are at most so much lower or higher.
inline constexpr std::int32_t kHotExponentMargin = 128;

/// Octaves are relative to a base, with this one for the base itself: so the exponent 0 of empty lines is far below
/// that of any event.
[[nodiscard]] constexpr std::int64_t relative_octave(std::int64_t octave, std::int64_t base) noexcept {
  constexpr std::int64_t kFirstOctave = 64;
  return octave - base + kFirstOctave;
}
/// An event of this weight. The earliest events weigh nothing, as those of the first octave. Pre: the relative octave
/// is at most kMostHotOctave.
[[nodiscard]] constexpr Scaled event_of(const ForwardWeight& weight, std::int64_t relative) noexcept {
  return {.count = weight.up,
          .exponent = static_cast<std::int32_t>(std::max<std::int64_t>(relative, -kMostHotOctave)) -
                      static_cast<std::int32_t>(ForwardDecay::kFactorBits)};
}
/// How many events of this weight a count is. Weights of events are rounded up and this one down, so the quotient of
/// doubles is never too low.
[[nodiscard]] inline double events_in(Scaled count, const ForwardWeight& weight, std::int64_t relative) noexcept {
  constexpr std::int64_t kMostExponent = 4096;
  const std::int64_t exponent = count.exponent - relative + std::int64_t{ForwardDecay::kFactorBits};
  return std::ldexp(static_cast<double>(count.count) / static_cast<double>(weight.down),
                    static_cast<int>(std::clamp(exponent, -kMostExponent, kMostExponent)));
}

/// An exponent after the base was moved by `octaves`. What weighs nothing keeps the lowest one.
[[nodiscard]] constexpr std::int32_t rebased(std::int32_t exponent, std::int64_t octaves) noexcept {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(exponent - octaves, -kMostHotOctave, kMostHotOctave));
}
/// Whether an untrusted exponent is possible.
[[nodiscard]] constexpr bool is_hot_exponent(std::int32_t exponent) noexcept {
  return exponent >= -kMostHotOctave - kHotExponentMargin && exponent <= kMostHotOctave + kHotExponentMargin;
}

/// See the top of this file. A view. `octave` is that of the current weight: an event counts between 2^octave and
/// 2^(octave + 1). Cost: a cache line for a key in the table, two more for another. Threads: const calls are safe
/// together; changes need the table alone.
template <class Mode>
class HotTable {
 public:
  using Bucket = typename Mode::Bucket;
  using Cells = typename Mode::Cells;
  static constexpr std::uint32_t kWays = Bucket::kWays;
  static constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};

  /// Shape: lines[buckets + lines of the sketch], each of 64 bytes. Pre: buckets >= 1, at least a line of the sketch;
  /// `draws` is the state of dithered rounding; both outlive the table.
  HotTable(std::span<std::byte> lines, std::uint32_t buckets, std::uint64_t* draws) noexcept
      : buckets_(reinterpret_cast<Bucket*>(lines.data()), buckets),
        lines_(reinterpret_cast<RescaledLine*>(lines.data()) + buckets, lines.size() / kCacheLineBytes - buckets),
        rounding_(draws) {}

  [[nodiscard]] HotPlace place_of(Digest digest) const noexcept {
    const auto tag = static_cast<std::uint16_t>(digest.value);
    return {.bucket = static_cast<std::uint32_t>(fastrange(probes::remix(digest), buckets_.size())),
            .tag = tag == 0 ? std::uint16_t{1} : tag};
  }
  void prefetch(HotPlace place) const noexcept { prefetch_line(&buckets_[place.bucket]); }
  /// Compares all tags: where to stop is unpredictable.
  [[nodiscard]] std::uint32_t find(HotPlace place) const noexcept {
    const auto& tags = buckets_[place.bucket].tags;
    std::uint16_t matches = 0;  // as wide as a tag, for vectors
    for (std::uint32_t way = 0; way < kWays; ++way) {
      const auto bit = static_cast<std::uint16_t>(1U << way);
      matches = static_cast<std::uint16_t>(matches | (tags[way] == place.tag ? bit : 0));
    }
    return matches == 0 ? kNoSlot : place.bucket * kWays + static_cast<std::uint32_t>(std::countr_zero(matches));
  }
  void prefetch_cells(HotPlace place) const noexcept {
    for (const RescaledLine* const line : cells_of(place).line) {
      prefetch_line(line);
    }
  }
  [[nodiscard]] std::uint32_t slots() const noexcept { return static_cast<std::uint32_t>(buckets_.size()) * kWays; }
  [[nodiscard]] HotPlace place_at(std::uint32_t slot) const noexcept {
    return {.bucket = slot / kWays, .tag = buckets_[slot / kWays].tags[slot % kWays]};
  }
  [[nodiscard]] Scaled count(std::uint32_t slot) const noexcept {
    const Bucket& bucket = buckets_[slot / kWays];
    return {bucket.count(slot % kWays), bucket.exponent()};
  }
  [[nodiscard]] Scaled estimate(HotPlace place) const noexcept {
    const std::uint32_t slot = find(place);
    return slot != kNoSlot ? count(slot) : least(place);
  }
  [[nodiscard]] bool is_named(std::uint32_t slot) const noexcept {
    return (buckets_[slot / kWays].named() >> slot % kWays & 1) != 0;
  }
  void set_named(std::uint32_t slot, bool is_named) noexcept {
    Bucket& bucket = buckets_[slot / kWays];
    const std::uint32_t way = 1U << slot % kWays;
    bucket.set_named(is_named ? bucket.named() | way : bucket.named() & ~way);
  }

  /// Pre: the slot is in use.
  void add_to(std::uint32_t slot, Scaled amount) noexcept {
    Bucket& bucket = buckets_[slot / kWays];
    make_room(bucket, amount.top());
    const std::uint32_t way = slot % kWays;
    std::uint64_t sum = bucket.count(way) + rounding_.scaled(amount.count, amount.exponent - bucket.exponent());
    if (sum > kMostCount) [[unlikely]] {
      halve(bucket, 1);
      sum = bucket.count(way) + rounding_.scaled(amount.count, amount.exponent - bucket.exponent());
    }
    bucket.set_count(way, sum);
  }
  /// Adds to a key that is not in the table. It enters the table if its count exceeds the lowest one of its bucket by
  /// more than an event, which keeps equal keys from taking turns. Returns the slot that it should get (`enter`), or
  /// kNoSlot; then the amount was added to its cells.
  struct Added {
    std::uint32_t slot;
    Scaled sum;
  };
  [[nodiscard]] Added add_to_others(HotPlace place, Scaled amount, Scaled event, int octave) noexcept {
    const Cell cells = cells_of(place);
    for (RescaledLine* const line : cells.line) {
      Cells(rounding_).fit(*line, octave);
    }
    // Fraction bits beyond the finer line's, so that an amount is not rounded before it is added.
    constexpr int kFraction = 16;
    const int unit = std::min(cells.line[0]->exponent(), cells.line[1]->exponent()) - kFraction;
    const Scaled least = least_of(cells);
    const Scaled sum{scaled_up(least.count, least.exponent - unit) + scaled_up(amount.count, amount.exponent - unit),
                     unit};
    Bucket& bucket = buckets_[place.bucket];
    const std::uint32_t coldest = coldest_of(bucket);
    const std::uint32_t slot = place.bucket * kWays + coldest;
    if (bucket.count(coldest) == 0) {
      return {.slot = slot, .sum = sum};
    }
    make_room(bucket, sum.top());  // after a pause its exponent is too low to compare
    if (scaled_up(sum.count, unit - bucket.exponent()) >
        bucket.count(coldest) + scaled_up(event.count, event.exponent - bucket.exponent())) {
      return {.slot = slot, .sum = sum};
    }
    raise(cells, sum, octave);
    return {.slot = kNoSlot, .sum = sum};
  }
  /// Gives the slot to another key, and raises the cells of the one before to its count. Pre: the slot has no name.
  void enter(std::uint32_t slot, std::uint16_t tag, Scaled sum, int octave) noexcept {
    Bucket& bucket = buckets_[slot / kWays];
    const HotPlace evicted = place_at(slot);
    const Scaled its = count(slot);
    if (std::ranges::all_of(bucket.tags, [](std::uint16_t each) { return each == 0; })) {
      bucket.set_exponent(octave - (Bucket::kCountBits - kSpareBits));
    }
    bucket.tags[slot % kWays] = tag;
    bucket.set_count(slot % kWays, 0);
    make_room(bucket, sum.top());
    bucket.set_count(slot % kWays, rounding_.scaled(sum.count, sum.exponent - bucket.exponent()));
    if (evicted.tag != 0) {
      raise(cells_of(evicted), its, octave);
    }
  }

  /// Adds another table of this shape, seed and base; names are dropped. Throws bad_alloc.
  void merge(const HotTable& other, int octave) {
    // A key of one table only adds the other sketch's bound, so the sketches are added after the tables. Then the cells
    // of keys without a slot are raised.
    std::vector<Entry> evicted;
    for (std::uint32_t index = 0; index < buckets_.size(); ++index) {
      merge_bucket(index, other, evicted);
    }
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      Cells(rounding_).add(lines_[i], other.lines_[i], octave);
    }
    for (const Entry& entry : evicted) {
      raise(cells_of(entry.place), entry.count, octave);
    }
  }

  /// Moves the base of all exponents by `octaves`.
  void rebase(std::int64_t octaves) noexcept {
    for (Bucket& bucket : buckets_) {
      bucket.set_exponent(is_zero(bucket.tags) ? 0 : rebased(bucket.exponent(), octaves));
    }
    for (RescaledLine& line : lines_) {
      const bool is_empty = Cells::is_empty(line);
      line.rescale(is_empty ? 0 : rebased(line.exponent(), octaves), is_empty ? 0 : line.doublings());
    }
  }

  /// How many cells of undoubled lines, and slots, have a count above this.
  [[nodiscard]] std::uint64_t cells_above(Scaled least) const noexcept {
    std::uint64_t above = 0;
    for (const RescaledLine& line : lines_) {
      above += Cells::places_above(line, least);
    }
    return above;
  }
  [[nodiscard]] std::uint64_t slots_above(Scaled least) const noexcept {
    std::uint64_t above = 0;
    for (std::uint32_t slot = 0; slot < slots(); ++slot) {
      above += static_cast<std::uint64_t>(least < count(slot));
    }
    return above;
  }
  [[nodiscard]] std::uint64_t cell_count() const noexcept { return lines_.size() * Cells::kPlaces; }

  /// The first line that no table can have, or nullptr. `named` gets the number of slots with a name.
  [[nodiscard]] const void* find_wrong(std::uint64_t& named) const noexcept {
    named = 0;
    for (const Bucket& bucket : buckets_) {
      if (!is_hot_exponent(bucket.exponent()) || !is_possible_bucket(bucket)) {
        return &bucket;
      }
      named += static_cast<std::uint64_t>(std::popcount(bucket.named()));
    }
    const auto wrong = std::ranges::find_if(lines_, [](const RescaledLine& line) {
      return !is_hot_exponent(line.exponent()) || line.doublings() > Cells::kMostDoublings;
    });
    return wrong == lines_.end() ? nullptr : &*wrong;
  }

 private:
  static constexpr std::uint64_t kMostCount = (std::uint64_t{1} << Bucket::kCountBits) - 1;
  /// Of a fresh bucket: its counts can grow to so many octaves above an event before they are halved.
  static constexpr int kSpareBits = 12;
  static constexpr std::size_t kRows = 2;

  struct Cell {
    std::array<RescaledLine*, kRows> line;
    std::array<std::uint32_t, kRows> place;
  };

  // Two lines, different ones if there are two, and a cell in each.
  [[nodiscard]] Cell cells_of(HotPlace place) const noexcept {
    constexpr unsigned kLineBits = 48;
    constexpr unsigned kPlaceBits = 16;
    probes::FieldSequence fields(Digest{std::uint64_t{place.bucket} << 16 | place.tag});
    const auto line = [&] { return fastrange(fields.next(kLineBits) << (64 - kLineBits), lines_.size()); };
    const auto cell = [&] {
      return static_cast<std::uint32_t>(fields.next(kPlaceBits) * Cells::kPlaces >> kPlaceBits);
    };
    const std::uint64_t first = line();
    const std::uint32_t first_cell = cell();
    std::uint64_t second = line();
    second += static_cast<std::uint64_t>(second == first);
    return {.line = {&lines_[first], &lines_[second == lines_.size() ? 0 : second]}, .place = {first_cell, cell()}};
  }
  static Scaled least_of(const Cell& cells) noexcept {
    std::array<Scaled, kRows> counts;
    for (std::size_t row = 0; row < kRows; ++row) {
      counts[row] = {Cells::get(*cells.line[row], cells.place[row]), cells.line[row]->exponent()};
    }
    return counts[1] < counts[0] ? counts[1] : counts[0];
  }
  [[nodiscard]] Scaled least(HotPlace place) const noexcept { return least_of(cells_of(place)); }

  // Conservative update: each cell is at least the sum.
  void raise(const Cell& cells, Scaled sum, int octave) const noexcept {
    const std::uint64_t drawn = rounding_.draw();
    for (std::size_t row = 0; row < kRows; ++row) {
      Cells(rounding_).raise(*cells.line[row], cells.place[row], sum, octave, drawn);
    }
  }

  static std::uint32_t coldest_of(const Bucket& bucket) noexcept {
    constexpr unsigned kWayBits = 4;  // with the way below the count, the minimum needs no branches
    std::uint64_t least = ~std::uint64_t{0};
    for (std::uint32_t way = 0; way < kWays; ++way) {
      least = std::min(least, bucket.count(way) << kWayBits | way);
    }
    return static_cast<std::uint32_t>(least & ((1U << kWayBits) - 1));
  }

  // Makes the bucket so coarse that a count below 2^top has half the range of a count.
  void make_room(Bucket& bucket, int top) const noexcept {
    const int octaves = top - bucket.exponent() - (Bucket::kCountBits - 1);
    if (octaves > 0) [[unlikely]] {
      halve(bucket, octaves);
    }
  }
  void halve(Bucket& bucket, int octaves) const noexcept {
    for (std::uint32_t way = 0; way < kWays; ++way) {
      bucket.set_count(way, rounding_.scaled(bucket.count(way), -octaves));
    }
    bucket.set_exponent(bucket.exponent() + octaves);
  }

  struct Entry {
    HotPlace place;
    Scaled count;
  };

  // Equal counts are ordered by their tags, so that both directions of a merge agree.
  void merge_bucket(std::uint32_t index, const HotTable& other, std::vector<Entry>& evicted) {
    std::array<Entry, 2 * std::size_t{kWays}> entries;
    std::size_t size = 0;
    for (std::uint32_t way = 0; way < kWays; ++way) {
      const HotPlace mine = place_at(index * kWays + way);
      if (mine.tag != 0) {
        entries[size++] = {mine, sum_of(count(index * kWays + way), other.estimate(mine))};
      }
      const HotPlace theirs = other.place_at(index * kWays + way);
      if (theirs.tag != 0 && find(theirs) == kNoSlot) {
        entries[size++] = {theirs, sum_of(other.count(index * kWays + way), least(theirs))};
      }
    }
    std::sort(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(size), [](const Entry& a, const Entry& b) {
      return b.count < a.count || (!(a.count < b.count) && a.place.tag < b.place.tag);
    });
    Bucket& bucket = buckets_[index];
    bucket = {};
    bucket.set_exponent(size == 0 ? 0 : entries[0].count.top() - (Bucket::kCountBits - 1));
    for (std::uint32_t way = 0; way < size; ++way) {
      const Entry& entry = entries[way];
      if (way < kWays) {
        bucket.tags[way] = entry.place.tag;
        bucket.set_count(way, rounding_.scaled(entry.count.count, entry.count.exponent - bucket.exponent()));
      } else {
        evicted.push_back(entry);
      }
    }
  }

  static bool is_possible_bucket(const Bucket& bucket) noexcept {
    if (bucket.named() >> kWays != 0) {
      return false;
    }
    for (std::uint32_t way = 0; way < kWays; ++way) {
      const bool is_named = (bucket.named() >> way & 1) != 0;
      if (bucket.tags[way] == 0 ? bucket.count(way) != 0 || is_named
                                : std::ranges::count(bucket.tags, bucket.tags[way]) != 1) {
        return false;
      }
    }
    return true;
  }

  std::span<Bucket> buckets_;
  std::span<RescaledLine> lines_;
  Rounding<Mode::kDithers> rounding_;
};

}  // namespace mankai
