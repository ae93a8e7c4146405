#include "mankai/filter/cuckoo/cuckoo_table.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/kernel/tuning.hpp"

namespace mankai {
namespace {

using cuckoo::kSlotsPerBucket;

/// Keys whose lines are fetched before any of them is looked at.
constexpr std::size_t kWindow = 32;
/// Buckets that a search for room looks at before it gives up: 256 KiB of the stack. With a quarter of them, 4 of 20
/// tables of 1e7 and 3e7 keys with cores of 8 bits did not reach kLoad; with a half one did not, with all of them each
/// did.
constexpr std::size_t kMostNodes = 16'000;
/// The same after a search has failed, until a slot is freed: each of many keys that are refused takes such a search.
constexpr std::size_t kMostNodesIfFull = 250;
/// The most slots that one class takes with counts.
constexpr unsigned kMostSlots = 4;

/// The least bits that can choose a second bucket.
constexpr int kLeastCore = 2;
/// The digest's bits from here on are a key's extension bits; those below are its core.
constexpr unsigned kFirstExtensionBit = 8;
/// The mask of a pair's extension bits: as many as there can be, of a product's high bits.
constexpr unsigned kMaskShift = 8;

/// Two multipliers for the distance between the buckets of a pair: odd, and without a pattern.
constexpr std::uint64_t kFirstMix = 0x9E3779B97F4A7C15;
constexpr std::uint64_t kLowMix = 0xD1342543DE82EF95;

constexpr std::uint32_t low_bits(std::uint32_t bits) noexcept {
  return static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
}

}  // namespace

CuckooSlot CuckooSlot::widened() const noexcept {
  CuckooSlot wide = *this;
  const std::uint32_t more = bits() - fingerprint - marker - count - tag;
  wide.fingerprint += more;
  wide.extension += extension == 0 ? 0 : more;
  return wide;
}

std::uint32_t CuckooSlot::bits() const noexcept {
  const std::uint32_t least = fingerprint + marker + count + tag;
  const auto* width = std::ranges::find_if(cuckoo::kSlotBits, [least](unsigned bits) { return bits >= least; });
  MANKAI_ASSERT(width != cuckoo::kSlotBits.end());
  return *width;
}

double CuckooTable::fpr_of(const CuckooSlot& slot, std::uint32_t doublings, double load) noexcept {
  // The first half of the slots was taken at the last doubling: each of its entries weighs `doublings` more on average.
  return slot.fpr_at(load + doublings * std::min(load, kLoad / 2));
}

double CuckooSlot::fpr_at(double load) const noexcept {
  // One value of the low eight bits stands for a free slot.
  const double values = std::exp2(fingerprint) * (1 - std::exp2(-static_cast<double>(std::min(core(), 8U))));
  return -std::expm1(2 * kSlotsPerBucket * load * std::log1p(-1 / values));
}

/// An entry apart from its table: its bucket there is `top` and the first of the extension bits, of which `known` are
/// known; `meta` is its count and tag.
struct CuckooTable::Entry {
  std::uint64_t top;
  std::uint64_t extension;
  std::uint32_t known;
  std::uint32_t core;
  std::uint32_t meta;
};

/// What is done to slots of one width.
template <unsigned slot_bits, bool doubles>
class CuckooTable::Code {
 public:
  using Slots = cuckoo::Slots<slot_bits>;
  using Lanes = typename Slots::BucketLanes;
  using LowPlanes = typename Slots::LowPlanes;
  using Bucket = typename Slots::Bucket;
  using LaneSet = std::uint32_t;

  /// A slot of the bucket with this low plane.
  struct Place {
    std::byte* low = nullptr;
    unsigned slot = 0;
  };

  [[gnu::always_inline]] explicit Code(const CuckooTable& table) noexcept
      : table_(table), dead_tag_(table.tag_mask_ == 0 ? 0 : tag_of(table.tick().value)) {}

  [[gnu::always_inline]] [[nodiscard]] Key key(Digest digest) const noexcept {
    const std::uint32_t core = core_of(digest);
    const Pair pair = pair_of(fastrange(digest.value, table_.first_buckets_), core);
    const std::uint64_t extension = digest.value >> kFirstExtensionBit;
    return {.low = {low_at(bucket_at(pair.top, extension)), low_at(bucket_at(pair.other_top, extension ^ pair.mask))},
            .extension = extension,
            .mask = pair.mask,
            .core = core};
  }
  [[gnu::always_inline]] static void fetch(const Key& key) noexcept {
    prefetch_line(key.low[0]);
    prefetch_line(key.low[1]);
  }

  /// For many keys whose lines are there. Reading further planes of each would take longer, for absent keys 1.6 times.
  [[gnu::always_inline]] [[nodiscard]] bool contains(const Key& key) const noexcept {
    if (slot_bits == Slots::kLowBits && is_whole()) {
      return contains_whole({.line = key.low[0], .place = 0}, {.line = key.low[1], .place = 0}, key.core,
                            key.extension);
    }
    return contains_known(key);
  }
  /// The same as a function of its own: a function with the code of all widths would set up registers for each.
  [[gnu::noinline]] [[nodiscard]] bool contains_alone(const Key& key) const noexcept { return contains(key); }
  /// CuckooTable::may_contain for tables of this sort.
  [[nodiscard]] decltype(CuckooTable::ask_) asking() const noexcept { return is_whole() ? ask<true> : ask<false>; }

  void may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept {
    // In cache nothing is gained by a window, and the branches of `contains` cost more than a look at all planes.
    if (Slots::kLowBits == 8 && is_whole() && table_.cells_bytes() <= kernel::kNearBytes) {
      std::ranges::transform(digests, outcomes.begin(), [&](Digest digest) { return table_.may_contain(digest); });
      return;
    }
    std::array<Key, kWindow> keys;
    for (std::size_t start = 0; start < digests.size(); start += kWindow) {
      const std::size_t count = std::min(kWindow, digests.size() - start);
      for (std::size_t i = 0; i < count; ++i) {
        keys[i] = key(digests[start + i]);
        fetch(keys[i]);
      }
      const std::uint64_t moves = table_.moves_.now();
      const Code current(table_);  // with the time that belongs to them
      for (std::size_t i = 0; i < count; ++i) {
        outcomes[start + i] = current.contains(keys[i]);
      }
      if (table_.moves_.now() != moves) {
        for (std::size_t i = 0; i < count; ++i) {
          outcomes[start + i] = outcomes[start + i] || table_.may_contain(keys[i]);
        }
      }
    }
  }

  /// Calls `use(place, value)` for each slot that matches the key, until it returns false.
  template <class Use>
  void for_each_match(const Key& key, const Use& use) const noexcept {
    for_each_match(key, alike_in_pair(key, Slots::load_both(key.low[0], key.low[1])), use);
  }

  [[nodiscard]] KeyCount estimate(const Key& key) const noexcept {
    KeyCount count;
    for_each_match(key, [&](const Place&, std::uint32_t value) {
      count.value += units_of(value);
      count.is_saturated = count.is_saturated || is_stuck(value);
      return true;
    });
    count.is_saturated = count.is_saturated || (is_plain() && count.value >= most_slots(key));
    return count;
  }

  [[nodiscard]] std::uint64_t until(const Key& key) const noexcept {
    std::uint64_t latest = 0;
    for_each_match(key, [&](const Place&, std::uint32_t value) {
      latest = std::max(latest, until_of(value));
      return true;
    });
    return latest;
  }

  bool refresh(const Key& key, std::uint64_t until) const noexcept {
    bool is_in = false;
    for_each_match(key, [&](const Place& place, std::uint32_t value) {
      is_in = true;
      keep_later(place, value, until);
      return true;
    });
    return is_in;
  }

  Added insert(CuckooTable& table, const Key& key, std::uint64_t until, bool may_take_slot) const noexcept {
    const LowPlanes planes = Slots::load_both(key.low[0], key.low[1]);
    const bool is_added = add_to_class(table, key, alike_in_pair(key, planes), until) ||
                          (may_take_slot && take_slot(table, key, planes, until));
    return is_added ? Added::added : Added::full;
  }

  /// See CuckooTable::known_bits.
  [[nodiscard]] std::optional<std::uint32_t> known_bits(const Key& key) const noexcept {
    std::optional<std::uint32_t> most;
    for_each_match(key, [&](const Place&, std::uint32_t value) {
      most = std::max(most.value_or(0), level() + extension_bits(value));
      return true;
    });
    return most;
  }

  Taken erase(CuckooTable& table, const Key& key) const noexcept {
    const LaneSet alike = alike_in_pair(key, Slots::load_both(key.low[0], key.low[1]));
    Place place;
    std::uint32_t value = 0;
    bool has_stuck = false;
    for_each_match(key, alike, [&](const Place& match, std::uint32_t matching) {
      has_stuck = has_stuck || is_stuck(matching);
      if (value == 0 || extension_bits(matching) >= extension_bits(value)) {
        place = match;
        value = matching;
      }
      return true;
    });
    if (value == 0) {
      return {};
    }
    if (has_stuck || (is_plain() && may_be_most(key, alike) && may_stand_for_more(place, value))) {
      return {.result = EraseResult::stuck};
    }
    const Taken taken{.result = EraseResult::erased, .until = tag_mask() == 0 ? 0 : until_of(value)};
    if (table_.slot_.count != 0 && count_of(value) > 1) {
      Slots::set_low(place.low, place.slot, value - (1U << table_.slot_.tag));
    } else {
      table.moves_.add();  // the key may have had a further unit added to a slot that a reader has passed
      Slots::free(place.low, place.slot);
      table.add_taken(-1);
      table.is_full_ = false;
    }
    table.add_units(-1);
    return taken;
  }

  [[nodiscard]] Entry entry_at(const Place& place, std::uint32_t value) const noexcept {
    const std::uint64_t bucket = bucket_of(place.low);
    const std::uint32_t fingerprint = value >> table_.meta_bits_;
    const std::uint64_t beyond = without_marker(fingerprint) >> table_.core_bits_;
    return {.top = bucket >> level(),
            .extension = (bucket & level_mask()) | beyond << level(),
            .known = level() + extension_bits(value),
            .core = fingerprint & table_.core_mask_,
            .meta = value & low_bits(table_.meta_bits_)};
  }
  /// Calls `take(entry)` for every entry, and frees those for which it returns true.
  template <class Take>
  void take_out(CuckooTable& table, const Take& take) const noexcept {
    for_each_slot(table, 0, table.lines(), [&](const Place& place, std::uint32_t value) {
      // The slots of a class that is stuck must stay together.
      if (is_plain() && may_stand_for_more(place, value)) {
        return;
      }
      if (is_free(value) || take(entry_at(place, value))) {
        free_entry(table, place, value);
      }
    });
  }
  /// Puts an entry of another table into a slot of its own; false where there is no room.
  bool put_in(CuckooTable& table, const Entry& entry) const noexcept {
    if (entry.known < level()) {
      return false;  // of a forged image
    }
    const std::uint32_t bits = std::min<std::uint32_t>(entry.known - level(), table_.slot_.extension);
    const Pair pair = pair_of(entry.top, entry.core);
    // Nothing is moved for it: a search for room per entry would take minutes where there is hardly any.
    for (const bool is_second : {false, true}) {
      const std::uint64_t extension = entry.extension ^ (is_second ? pair.mask : 0);
      std::byte* const low = low_at(bucket_at(is_second ? pair.other_top : pair.top, extension));
      if (const unsigned slot = free_slot(low); slot < kSlotsPerBucket) {
        const std::uint32_t value = value_of(entry, extension >> level(), bits);
        fill(table, {.low = low, .slot = slot}, value);
        table.add_units(units_of(value));
        return true;
      }
    }
    return false;
  }
  /// Copies every entry to the same slot of its bucket in a table of a higher level.
  void copy_doubled(CuckooTable& doubled) const noexcept {
    const Code there(doubled);
    std::int64_t slots = 0;
    std::int64_t units = 0;
    for_each_slot(table_, 0, table_.lines(), [&](const Place& place, std::uint32_t value) {
      if (is_free(value)) {
        return;
      }
      const Entry entry = entry_at(place, value);
      const std::uint32_t bits = entry.known - std::min(entry.known, doubled.level());
      const std::uint32_t copy = there.value_of(entry, entry.extension >> doubled.level_, bits);
      Slots::fill(there.low_at(there.bucket_at(entry.top, entry.extension)), place.slot, copy);
      ++slots;
      units += units_of(value);
    });
    doubled.add_taken(slots);
    doubled.add_units(units);
  }

  [[nodiscard]] std::uint64_t live_slots() const noexcept {
    std::uint64_t live = 0;
    for_each_slot(table_, 0, table_.lines(),
                  [&](const Place&, std::uint32_t value) { live += is_free(value) ? 0U : 1U; });
    return live;
  }

  /// Frees what has expired by a generation that is not before this one, but for what expires with it.
  void sweep_until(CuckooTable& table, std::uint64_t tick) const noexcept {
    for_each_slot(table, 0, table.lines(), [&](const Place& place, std::uint32_t value) {
      if (is_dead(value) || until_of(value) < tick) {
        free_entry(table, place, value);
      }
    });
  }
  /// Frees what expired with this generation, in `lines` of the lines that have not been swept. Returns how many it
  /// swept.
  std::uint64_t sweep(CuckooTable& table, std::uint64_t lines) const noexcept {
    const std::uint64_t start = table.image().state(kSweep);
    const std::uint64_t end = std::min(start + std::min(lines, table.lines()), table.lines());
    if (start >= end) {
      return 0;
    }
    for_each_slot(table, start, end, [&](const Place& place, std::uint32_t value) {
      if (is_dead(value)) {
        free_entry(table, place, value);
      }
    });
    table.image().set_state(kSweep, end);
    return end - start;
  }

 private:
  static std::uint32_t tag_of(std::uint64_t generation) noexcept {
    return static_cast<std::uint32_t>(1 + generation % kCuckooTags);
  }

  [[nodiscard]] std::uint32_t level() const noexcept { return doubles ? table_.level_ : 0; }
  [[nodiscard]] std::uint32_t tag_mask() const noexcept { return table_.tag_mask_; }
  [[nodiscard]] bool is_plain() const noexcept { return table_.meta_bits_ == 0; }
  [[nodiscard]] std::uint32_t count_of(std::uint32_t value) const noexcept {
    return value >> table_.slot_.tag & low_bits(table_.slot_.count);
  }
  [[nodiscard]] std::uint32_t units_of(std::uint32_t value) const noexcept {
    return table_.slot_.count == 0 ? 1 : count_of(value);
  }
  [[nodiscard]] std::uint32_t stuck_count() const noexcept { return low_bits(table_.slot_.count); }
  [[nodiscard]] bool is_stuck(std::uint32_t value) const noexcept {
    return table_.slot_.count != 0 && count_of(value) == stuck_count();
  }
  // The bits of an entry's fingerprint above the core, but for the marker. A forged slot may have no marker.
  [[nodiscard]] std::uint32_t extension_bits(std::uint32_t value) const noexcept {
    const auto bits = static_cast<std::uint32_t>(std::bit_width(value >> table_.meta_bits_));
    if (!doubles) {
      return table_.slot_.extension;
    }
    return bits <= table_.core_bits_ ? 0 : bits - 1 - table_.core_bits_;
  }
  [[nodiscard]] std::uint32_t without_marker(std::uint32_t fingerprint) const noexcept {
    return !doubles ? fingerprint : fingerprint ^ std::bit_floor(fingerprint);
  }
  [[nodiscard]] std::uint64_t level_mask() const noexcept { return (std::uint64_t{1} << level()) - 1; }
  [[nodiscard]] bool is_dead(std::uint32_t value) const noexcept { return (value & tag_mask()) == dead_tag_; }
  [[nodiscard]] bool is_free(std::uint32_t value) const noexcept {
    return tag_mask() == 0 ? value == 0 : (value & tag_mask()) == 0 || is_dead(value);
  }
  /// Pre: a live slot with a tag.
  [[nodiscard]] std::uint64_t until_of(std::uint32_t value) const noexcept {
    const std::uint64_t now = table_.tick().value;
    return now + ((value & tag_mask()) - 1 + kCuckooTags - now % kCuckooTags) % kCuckooTags;
  }

  [[gnu::always_inline]] [[nodiscard]] std::uint32_t core_of(Digest digest) const noexcept {
    const auto core = static_cast<std::uint32_t>(digest.value) & table_.core_mask_;
    // The low bits of a fingerprint that is in are not 0, since a slot of 0 is free.
    return core | static_cast<std::uint32_t>((core & 0xFFU) == 0);
  }
  // Both buckets of a key in a table of level 0, and the mask by which their extension bits differ.
  struct Pair {
    std::uint64_t top;
    std::uint64_t other_top;
    std::uint64_t mask;
  };
  // The pair of the other bucket is the same. A pair that is one bucket is one at every level.
  [[gnu::always_inline]] [[nodiscard]] Pair pair_of(std::uint64_t top, std::uint32_t core) const noexcept {
    const std::uint64_t sum = fastrange(core * kFirstMix, table_.first_buckets_);
    const std::uint64_t other = sum - top + (top > sum ? table_.first_buckets_ : 0);
    const std::uint64_t mask = !doubles || other == top ? 0 : (core * kLowMix) >> kMaskShift;
    return {.top = top, .other_top = other, .mask = mask};
  }
  [[gnu::always_inline]] [[nodiscard]] std::uint64_t bucket_at(std::uint64_t top,
                                                               std::uint64_t extension) const noexcept {
    return top << level() | (extension & level_mask());
  }
  [[gnu::always_inline]] [[nodiscard]] std::byte* low_at(std::uint64_t bucket) const noexcept {
    return Slots::low_plane(table_.cells_start(), bucket);
  }
  [[nodiscard]] std::uint64_t bucket_of(const std::byte* low) const noexcept {
    return Slots::bucket_of(table_.cells_start(), low);
  }
  // The fingerprint of a new entry of a key in one of its buckets. Branches on it would be mispredicted.
  [[gnu::always_inline]] [[nodiscard]] std::uint32_t fingerprint_of(const Key& key, bool is_second) const noexcept {
    if (!doubles && table_.slot_.extension == 0) {
      return key.core;
    }
    const std::uint64_t extension = key.extension ^ (key.mask & (0 - std::uint64_t{is_second}));
    return beyond_core(extension >> level(), table_.slot_.extension) | key.core;
  }
  // The slots of a pair that agree with a key in the low planes' part of the core.
  [[gnu::always_inline]] [[nodiscard]] LaneSet alike_of(const Key& key, const LowPlanes& planes) const noexcept {
    return Slots::equal(planes, cuckoo::repeat_low(slot_bits, std::uint64_t{key.core} << table_.meta_bits_),
                        table_.low_core_mask_);
  }
  // The same; a bucket that is both of a pair counts once.
  [[gnu::always_inline]] [[nodiscard]] LaneSet alike_in_pair(const Key& key, const LowPlanes& planes) const noexcept {
    return alike_of(key, planes) & lanes_of_pair(key);
  }
  [[nodiscard]] static LaneSet lanes_of_pair(const Key& key) noexcept {
    return key.low[0] == key.low[1] ? low_bits(kSlotsPerBucket) : low_bits(2 * kSlotsPerBucket);
  }
  [[gnu::always_inline]] [[nodiscard]] static Place place_of(const Key& key, LaneSet lanes) noexcept {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    return {.low = key.low[lane / kSlotsPerBucket], .slot = lane % kSlotsPerBucket};
  }
  // Whether a slot matches a key if their fingerprints are equal.
  [[nodiscard]] bool is_whole() const noexcept { return !doubles && tag_mask() == 0; }
  // Compares everything, without a branch: half of the keys may be in, and one would be mispredicted.
  [[gnu::always_inline]] [[nodiscard]] bool contains_whole(Digest digest) const noexcept {
    const std::uint32_t core = core_of(digest);
    const Pair pair = pair_of(fastrange(digest.value, table_.first_buckets_), core);
    return contains_whole(Slots::bucket_at(table_.cells_start(), pair.top),
                          Slots::bucket_at(table_.cells_start(), pair.other_top), core,
                          digest.value >> kFirstExtensionBit);
  }
  [[gnu::always_inline]] [[nodiscard]] bool contains_whole(const Bucket& first, const Bucket& second,
                                                           std::uint32_t core, std::uint64_t extension) const noexcept {
    std::uint32_t fingerprint = core;
    std::uint64_t low_mask = table_.low_core_mask_;
    if (table_.slot_.extension != 0) {
      fingerprint |= beyond_core(extension, table_.slot_.extension);
      low_mask = cuckoo::repeat_low(slot_bits, std::uint64_t{low_bits(table_.slot_.fingerprint)} << table_.meta_bits_);
    }
    return Slots::is_in_either(first, second, fingerprint << table_.meta_bits_, low_mask);
  }
  // Compares whole slots only where they are alike: each of them knows other bits.
  [[gnu::always_inline]] [[nodiscard]] bool contains_known(const Key& key) const noexcept {
    const LaneSet alike = alike_of(key, Slots::load_both(key.low[0], key.low[1]));
    if (alike == 0) {
      return false;
    }
    const auto lane = static_cast<unsigned>(std::countr_zero(alike));
    const bool is_second = lane >= kSlotsPerBucket;
    const std::uint32_t value = Slots::slot_at(is_second ? key.low[1] : key.low[0], lane % kSlotsPerBucket);
    return is_match(value, fingerprint_of(key, is_second)) ||
           ((alike & (alike - 1)) != 0 && is_any_match(table_, key, alike));
  }
  // Asks again while a writer moves slots or time passes.
  template <bool whole>
  [[nodiscard]] static bool ask(const CuckooTable& table, Digest digest) noexcept {
    const std::uint64_t moves = table.moves_.now();
    const Code code(table);
    const bool is_found = whole ? code.contains_whole(digest) : code.contains_known(code.key(digest));
    // Moves first, since the answer cannot be predicted.
    return table.moves_.now() == moves || is_found ? is_found : table.ask_(table, digest);
  }
  // Apart from its callers, which seldom need it: they keep nothing in memory for it.
  [[gnu::noinline]] [[nodiscard]] static bool is_any_match(const CuckooTable& table, Key key, LaneSet lanes) noexcept {
    bool is_found = false;
    const Code code(table);
    code.for_each_match(key, lanes, [&](const Place&, std::uint32_t) {
      is_found = true;
      return false;
    });
    return is_found;
  }
  template <class Use>
  [[gnu::always_inline]] void for_each_match(const Key& key, LaneSet lanes, const Use& use) const noexcept {
    for (; lanes != 0; lanes &= lanes - 1) {
      const Place place = place_of(key, lanes);
      const std::uint32_t value = Slots::slot_at(place.low, place.slot);
      if (is_match(value, fingerprint_of(key, place.low != key.low[0])) && !use(place, value)) {
        return;
      }
    }
  }
  // A fingerprint that knows `bits` extension bits, without its core.
  [[gnu::always_inline]] [[nodiscard]] std::uint32_t beyond_core(std::uint64_t extension,
                                                                 std::uint32_t bits) const noexcept {
    const std::uint64_t known = extension & low_bits(bits);
    constexpr std::uint64_t kMarker = doubles ? 1 : 0;
    return static_cast<std::uint32_t>((kMarker << bits | known) << table_.core_bits_);
  }
  // The slot of an entry that knows `bits` extension bits after those in the bucket's number.
  [[nodiscard]] std::uint32_t value_of(const Entry& entry, std::uint64_t extension, std::uint32_t bits) const noexcept {
    return (beyond_core(extension, bits) | entry.core) << table_.meta_bits_ | entry.meta;
  }
  // An entry in the other bucket of its pair.
  struct Moved {
    std::byte* low;
    std::uint64_t mask;
  };
  [[nodiscard]] Moved moved(std::uint64_t bucket, std::uint32_t value) const noexcept {
    const Pair pair = pair_of(bucket >> level(), value >> table_.meta_bits_ & table_.core_mask_);
    return {.low = low_at(bucket_at(pair.other_top, bucket ^ pair.mask)), .mask = pair.mask};
  }
  [[nodiscard]] std::uint32_t value_in_other(std::uint32_t value, std::uint64_t mask) const noexcept {
    const auto beyond = static_cast<std::uint32_t>(mask >> level()) & low_bits(extension_bits(value));
    return value ^ beyond << table_.core_bits_ << table_.meta_bits_;
  }
  // One of the keys that an entry stands for, such that all entries that know no more and match it match all of them.
  // Its unknown extension bits are 1, 0, 0, …: the marker is left in, and those entries do not compare it.
  [[nodiscard]] Key key_of(std::byte* low, std::uint32_t value) const noexcept {
    const std::uint64_t bucket = bucket_of(low);
    const Moved other = moved(bucket, value);
    const std::uint64_t beyond = value >> table_.meta_bits_ >> table_.core_bits_;
    return {.low = {low, other.low},
            .extension = (bucket & level_mask()) | beyond << level(),
            .mask = other.mask,
            .core = value >> table_.meta_bits_ & table_.core_mask_};
  }

  // Whether a slot agrees with a fingerprint in all bits that it knows, and has not expired.
  [[gnu::always_inline]] [[nodiscard]] bool is_match(std::uint32_t value, std::uint32_t wanted) const noexcept {
    const std::uint32_t fingerprint = value >> table_.meta_bits_;
    const std::uint32_t known = doubles ? std::bit_floor(fingerprint) - 1 : ~std::uint32_t{0};
    const bool is_equal = ((fingerprint ^ wanted) & known) == 0;
    return tag_mask() == 0 ? is_equal : is_equal && !is_free(value);
  }

  void keep_later(const Place& place, std::uint32_t value, std::uint64_t until) const noexcept {
    if (until_of(value) < until) {
      Slots::set_low(place.low, place.slot, (value & ~tag_mask()) | tag_of(until));
    }
  }

  // Adds a unit to a slot that the class has. False where it needs one more.
  bool add_to_class(CuckooTable& table, const Key& key, LaneSet alike, std::uint64_t until) const noexcept {
    if (is_plain()) {
      return is_stuck_class(key, alike);
    }
    if (alike == 0) {
      return false;
    }
    if (table_.slot_.count == 0) {
      return refresh(key, until);
    }
    bool is_done = false;
    std::optional<Place> last;
    std::uint32_t last_value = 0;
    unsigned slots = 0;
    for_each_match(key, alike, [&](const Place& place, std::uint32_t value) {
      ++slots;
      last = place;
      last_value = value;
      if (is_stuck(value)) {
        is_done = true;
      } else if (count_of(value) + 1 < stuck_count()) {
        last_value = value + (1U << table_.slot_.tag);
        table.add_units(1);
        is_done = true;
      }
      return !is_done;
    });
    if (!last) {
      return false;
    }
    // With expiry a slot that is full sticks at once: that ends when it expires.
    if (!is_done && (slots >= kMostSlots || tag_mask() != 0)) {
      last_value += 1U << table_.slot_.tag;
      table.add_units(1);
      is_done = true;
    }
    if (is_done) {
      if (tag_mask() != 0 && until_of(last_value) < until) {
        last_value = (last_value & ~tag_mask()) | tag_of(until);
      }
      Slots::set_low(last->low, last->slot, last_value);
    }
    return is_done;
  }

  // Slots that a class without counts takes. Where a class takes both of its buckets, two such classes that share one
  // leave no room at any load, and a doubling would seldom part them: there it takes half.
  [[nodiscard]] unsigned most_slots(const Key& key) const noexcept {
    return doubles || key.low[0] == key.low[1] ? kSlotsPerBucket : 2 * kSlotsPerBucket;
  }
  // Whether so many slots are alike. Without a function of popcount, which the oldest processors lack.
  [[nodiscard]] bool may_be_most(const Key& key, LaneSet alike) const noexcept {
    for (unsigned left = most_slots(key); left > 1 && alike != 0; --left) {
      alike &= alike - 1;
    }
    return alike != 0;
  }
  [[nodiscard]] bool is_stuck_class(const Key& key, LaneSet alike) const noexcept {
    unsigned slots = 0;
    if (may_be_most(key, alike)) {
      for_each_match(key, alike, [&](const Place&, std::uint32_t) {
        ++slots;
        return true;
      });
    }
    return slots >= most_slots(key);
  }
  // Whether a slot is one of the most that match some key: that key may have units that were not counted.
  [[nodiscard]] bool may_stand_for_more(const Place& place, std::uint32_t value) const noexcept {
    const Key own = key_of(place.low, value);
    const LowPlanes planes = Slots::load_both(own.low[0], own.low[1]);
    if (!may_be_most(own, alike_in_pair(own, planes))) {
      return false;
    }
    for (LaneSet lanes = lanes_of_pair(own); lanes != 0; lanes &= lanes - 1) {
      const Place other = place_of(own, lanes);
      unsigned slots = 0;
      bool has_own = false;
      for_each_match(key_of(other.low, Slots::slot_at(other.low, other.slot)), [&](const Place& match, std::uint32_t) {
        ++slots;
        has_own = has_own || (match.low == place.low && match.slot == place.slot);
        return true;
      });
      if (has_own && slots >= most_slots(own)) {
        return true;
      }
    }
    return false;
  }

  bool take_slot(CuckooTable& table, const Key& key, const LowPlanes& planes, std::uint64_t until) const noexcept {
    Place room;
    if (const LaneSet free = Slots::free_of(planes); free != 0) {
      room = place_of(key, free);
    } else if (const auto made = make_room(table, key)) {
      room = *made;
    } else {
      return false;
    }
    std::uint32_t value = fingerprint_of(key, room.low != key.low[0]) << table_.meta_bits_;
    value |= table_.slot_.count == 0 ? 0 : 1U << table_.slot_.tag;
    value |= tag_mask() == 0 ? 0 : tag_of(until);
    fill(table, room, value);
    table.add_units(1);
    return true;
  }

  void fill(CuckooTable& table, const Place& place, std::uint32_t value) const noexcept {
    if (tag_mask() != 0) {
      if (const std::uint32_t old = Slots::slot_at(place.low, place.slot); old != 0) {
        free_entry(table, place, old);  // it has expired
      }
    }
    Slots::fill(place.low, place.slot, value);
    table.add_taken(1);
  }

  void free_entry(CuckooTable& table, const Place& place, std::uint32_t value) const noexcept {
    table.is_full_ = false;
    Slots::free(place.low, place.slot);
    table.add_taken(-1);
    table.add_units(-std::int64_t{units_of(value)});
  }

  // The first slot of a bucket that is free or has expired, or kSlotsPerBucket.
  [[gnu::always_inline]] [[nodiscard]] unsigned free_slot(const std::byte* low) const noexcept {
    if (tag_mask() == 0) {
      return Slots::first_free(Slots::load_low(low));
    }
    const Lanes lanes = Slots::read(low);
    unsigned slot = 0;
    while (slot < kSlotsPerBucket && !is_free(lanes[slot])) {
      ++slot;
    }
    return slot;
  }

  /// A bucket that the search has reached: from a slot of its parent, whose entry would move here.
  struct Node {
    std::byte* low;
    std::uint16_t parent;
    std::uint8_t slot;
  };
  using Nodes = std::array<Node, kMostNodes>;

  // Returns a slot of the key's pair that is free or has been freed by moves. Nothing is moved before there is room.
  [[gnu::noinline]] std::optional<Place> make_room(CuckooTable& table, const Key& key) const noexcept {
    Nodes nodes;
    constexpr std::uint16_t kNoParent = 0xFFFF;
    nodes[0] = {.low = key.low[0], .parent = kNoParent, .slot = 0};
    nodes[1] = {.low = key.low[1], .parent = kNoParent, .slot = 0};
    std::size_t count = key.low[0] == key.low[1] ? 1 : 2;
    std::size_t asked = 0;
    std::size_t expanded = 0;
    const std::size_t most = table_.is_full_ ? kMostNodesIfFull : kMostNodes;
    while (true) {
      for (; asked < count; ++asked) {
        if (const unsigned slot = free_slot(nodes[asked].low); slot < kSlotsPerBucket) {
          return move_back(table, nodes, asked, slot);
        }
      }
      if (expanded == count || count >= most) {
        table.is_full_ = true;
        return std::nullopt;
      }
      // The lines of two nodes' children arrive together.
      for (const std::size_t end = std::min(expanded + 2, count); expanded < end; ++expanded) {
        count = expand(nodes, expanded, count);
      }
    }
  }
  // Appends the buckets to which the entries of a full one could move.
  [[gnu::always_inline]] std::size_t expand(Nodes& nodes, std::size_t node, std::size_t count) const noexcept {
    const std::uint64_t bucket = bucket_of(nodes[node].low);
    const Lanes lanes = Slots::read(nodes[node].low);
    for (unsigned slot = 0; slot < kSlotsPerBucket && count < kMostNodes; ++slot) {
      std::byte* const low = moved(bucket, lanes[slot]).low;
      if (!is_on_path(nodes, node, low)) {
        prefetch_line(low);
        nodes[count++] = {
            .low = low, .parent = static_cast<std::uint16_t>(node), .slot = static_cast<std::uint8_t>(slot)};
      }
    }
    return count;
  }

  // A path that crosses itself would move an entry twice.
  static bool is_on_path(const Nodes& nodes, std::size_t node, const std::byte* low) noexcept {
    for (std::size_t at = node; at < kMostNodes; at = nodes[at].parent) {
      if (nodes[at].low == low) {
        return true;
      }
    }
    return false;
  }

  // Moves the entries of a path, from its free end on; the first bucket's slot is free then.
  Place move_back(CuckooTable& table, const Nodes& nodes, std::size_t node, unsigned slot) const noexcept {
    Place room{.low = nodes[node].low, .slot = slot};
    while (nodes[node].parent < kMostNodes) {
      const Place from{.low = nodes[nodes[node].parent].low, .slot = nodes[node].slot};
      const std::uint32_t value = Slots::slot_at(from.low, from.slot);
      fill(table, room, value_in_other(value, moved(bucket_of(from.low), value).mask));
      table.moves_.add();
      Slots::free(from.low, from.slot);
      table.add_taken(-1);
      room = from;
      node = nodes[node].parent;
    }
    return room;
  }

  // Those of the lines from `line` up to `end` that are not 0.
  template <class Use>
  void for_each_slot(const CuckooTable& table, std::uint64_t line, std::uint64_t end, const Use& use) const noexcept {
    const std::uint64_t last = std::min(end * Slots::kPerLine, table.buckets());
    for (std::uint64_t bucket = line * Slots::kPerLine; bucket < last; ++bucket) {
      std::byte* const low = low_at(bucket);
      const Lanes lanes = Slots::read(low);
      for (unsigned slot = 0; slot < kSlotsPerBucket; ++slot) {
        if (lanes[slot] != 0) {
          use(Place{.low = low, .slot = slot}, lanes[slot]);
        }
      }
    }
  }

  const CuckooTable& table_;
  std::uint32_t dead_tag_;
};

template <class Use>
decltype(auto) CuckooTable::with_code(const Use& use) const noexcept {
  const auto with_width = [&]<bool doubles>() {
    switch (slot_bits_) {
      case 8: return use(Code<8, doubles>(*this));
      case 10: return use(Code<10, doubles>(*this));
      case 12: return use(Code<12, doubles>(*this));
      case 14: return use(Code<14, doubles>(*this));
      case 16: return use(Code<16, doubles>(*this));
      case 20: return use(Code<20, doubles>(*this));
      case 24: return use(Code<24, doubles>(*this));
      default: return use(Code<32, doubles>(*this));
    }
  };
  return slot_.marker != 0 ? with_width.template operator()<true>() : with_width.template operator()<false>();
}

CuckooTable::CuckooTable(Image source, const Params& params) noexcept
    : FlatFilter(std::move(source)),
      first_buckets_(params.first_buckets),
      core_mask_(low_bits(std::uint32_t{params.fingerprint_bits} - params.extension_bits)),
      core_bits_(static_cast<std::uint8_t>(params.fingerprint_bits - params.extension_bits)),
      meta_bits_(static_cast<std::uint8_t>(params.count_bits + params.tag_bits)),
      tag_mask_(static_cast<std::uint8_t>(low_bits(params.tag_bits))),
      slot_bits_(params.slot_bits),
      level_(params.level),
      first_level_(params.first_level),
      slot_{.fingerprint = params.fingerprint_bits,
            .count = params.count_bits,
            .tag = params.tag_bits,
            .extension = params.extension_bits,
            .marker = params.marker_bits},
      low_core_mask_(cuckoo::repeat_low(params.slot_bits, std::uint64_t{core_mask_} << meta_bits_)),
      ask_(with_code([](const auto& code) { return code.asking(); })) {}

std::uint64_t CuckooTable::buckets_for(std::uint64_t keys) noexcept {
  return static_cast<std::uint64_t>(std::ceil(static_cast<double>(keys) / (kLoad * kSlotsPerBucket))) + 2;
}

std::uint64_t CuckooTable::cells_bytes_for(std::uint64_t buckets, std::uint32_t slot_bits) noexcept {
  return divide_up(buckets, cuckoo::buckets_per_line(slot_bits)) * kCacheLineBytes;
}

Result<CuckooTable> CuckooTable::create(const Options& options) {
  constexpr std::uint64_t kMostBuckets = std::uint64_t{1} << (kMostLevel + 1);
  if (options.level > kMostLevel || options.first_buckets > kMostBuckets >> options.level) {
    return fail(ErrorCode::invalid_argument,
                "a cuckoo filter of " + std::to_string(options.keys) + " keys is too large");
  }
  const std::uint32_t slot_bits = options.slot.bits();
  MANKAI_ASSIGN(auto image,
                Image::create(kKind,
                              {.capacity_keys = options.keys,
                               .fpr_target = options.fpr,
                               .hash = options.hash,
                               .cells_bytes = cells_bytes_for(options.first_buckets << options.level, slot_bits),
                               .slice_tag = options.slice_tag},
                              options.memory));
  const Params params{.first_buckets = options.first_buckets,
                      .epoch_us = static_cast<std::uint64_t>(options.epoch.count()),
                      .level = static_cast<std::uint8_t>(options.level),
                      .slot_bits = static_cast<std::uint8_t>(slot_bits),
                      .marker_bits = static_cast<std::uint8_t>(options.slot.marker),
                      .count_bits = static_cast<std::uint8_t>(options.slot.count),
                      .tag_bits = static_cast<std::uint8_t>(options.slot.tag),
                      .fingerprint_bits = static_cast<std::uint8_t>(options.slot.fingerprint),
                      .extension_bits = static_cast<std::uint8_t>(options.slot.extension),
                      .first_level = static_cast<std::uint8_t>(options.first_level)};
  image.set_params(params);
  image.set_state(kTick, options.tick.value);
  return CuckooTable(std::move(image), params);
}

Result<CuckooTable> CuckooTable::from_image(Image source) {
  MANKAI_TRY(check_kind(source, kKind, sizeof(Params) / sizeof(std::uint64_t), kStateWords));
  const auto params = source.params<Params>();
  const bool has_width = std::ranges::find(cuckoo::kSlotBits, params.slot_bits) != cuckoo::kSlotBits.end();
  const int most_bits = params.slot_bits - params.count_bits - params.tag_bits - params.marker_bits;
  if (!has_width || (params.count_bits != 0 && params.count_bits != 2 && params.count_bits != 4) ||
      (params.tag_bits != 0 && params.tag_bits != 4) || params.marker_bits > 1 || params.fingerprint_bits > most_bits ||
      params.fingerprint_bits < params.extension_bits + kLeastCore ||
      (params.extension_bits != 0 && params.fingerprint_bits - params.extension_bits > int{kFirstExtensionBit})) {
    return fail(ErrorCode::corrupt, "impossible bits of a slot at offset 81");
  }
  if (params.first_level > params.level || params.level - params.first_level > params.extension_bits ||
      (params.marker_bits == 0 && params.level != 0)) {
    return fail(ErrorCode::corrupt, "impossible levels at offsets 80 and 87");
  }
  const bool has_epoch = params.epoch_us != 0;
  if (has_epoch != (params.tag_bits != 0) || params.epoch_us > static_cast<std::uint64_t>(kLongestDuration.count())) {
    return fail(ErrorCode::corrupt, "generation of " + std::to_string(params.epoch_us) + " microseconds at offset 72");
  }
  // Compared by division: a hostile count must not overflow its way into a match.
  const std::uint64_t most = source.header().cells_bytes / kCacheLineBytes * cuckoo::buckets_per_line(params.slot_bits);
  if (params.level > kMostLevel || params.first_buckets == 0 || params.first_buckets > most >> params.level ||
      cells_bytes_for(params.first_buckets << params.level, params.slot_bits) != source.header().cells_bytes) {
    return fail(ErrorCode::corrupt, std::to_string(params.first_buckets) + " buckets at offset 64, doubled " +
                                        std::to_string(params.level) + " times, do not fill the cells");
  }
  const std::uint64_t slots = (params.first_buckets << params.level) * kSlotsPerBucket;
  if (source.state(kTaken) > slots || source.state(kTick) > kMaxTick ||
      source.state(kSweep) > source.header().cells_bytes / kCacheLineBytes ||
      (!has_epoch && source.state(kSweep) != 0)) {
    return fail(ErrorCode::corrupt, "impossible count of taken slots, tick or place of the sweep from offset 96 on");
  }
  return CuckooTable(std::move(source), params);
}

CuckooTable::Added CuckooTable::insert(Digest digest, std::uint64_t until, bool may_take_slot) noexcept {
  return with_code([&](const auto& code) { return code.insert(*this, code.key(digest), until, may_take_slot); });
}

bool CuckooTable::refresh(Digest digest, std::uint64_t until) noexcept {
  return with_code([&](const auto& code) { return code.refresh(code.key(digest), until); });
}

CuckooTable::Taken CuckooTable::erase(Digest digest) noexcept {
  return with_code([&](const auto& code) { return code.erase(*this, code.key(digest)); });
}

std::optional<std::uint32_t> CuckooTable::known_bits(Digest digest) const noexcept {
  return with_code([&](const auto& code) { return code.known_bits(code.key(digest)); });
}

Result<CuckooTable> CuckooTable::doubled(std::uint32_t times, const Memory& memory) const {
  MANKAI_ASSERT(level() - first_level() + times <= slot_.extension);
  MANKAI_ASSIGN(auto larger, create({.keys = capacity_keys() > kMaxKeysInserted >> times ? kMaxKeysInserted
                                                                                         : capacity_keys() << times,
                                     .fpr = fpr_target(),
                                     .first_buckets = first_buckets_,
                                     .level = level() + times,
                                     .first_level = first_level(),
                                     .slot = slot(),
                                     .epoch = Duration(static_cast<std::int64_t>(params().epoch_us)),
                                     .tick = tick(),
                                     .hash = hash(),
                                     .memory = memory,
                                     .slice_tag = slice_tag()}));
  with_code([&](const auto& code) { code.copy_doubled(larger); });
  return larger;
}

bool CuckooTable::put_in(const Entry& entry) noexcept {
  return with_code([&](const auto& code) { return code.put_in(*this, entry); });
}

void CuckooTable::absorb(CuckooTable& other) noexcept {
  if (other.tick() != tick()) {
    return;  // of a forged image
  }
  other.with_code([&](const auto& there) { there.take_out(other, [&](const Entry& entry) { return put_in(entry); }); });
}

// Asks again while a writer moves slots or time passes, until `is_good(answer)` or nothing happened meanwhile.
template <class Ask, class IsGood>
auto CuckooTable::beside_moves(const Ask& ask, const IsGood& is_good) const noexcept {
  while (true) {
    const std::uint64_t moves = moves_.now();
    const auto answer = with_code(ask);
    // Moves first: a branch on the answer would be mispredicted where half of the keys are in.
    if (moves_.now() == moves || is_good(answer)) {
      return answer;
    }
  }
}

bool CuckooTable::may_contain(const Key& key) const noexcept {
  return beside_moves([&](const auto& code) { return code.contains_alone(key); },
                      [](bool is_found) { return is_found; });
}

void CuckooTable::may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept {
  with_code([&](const auto& code) { code.may_contain(digests, outcomes); });
}

KeyCount CuckooTable::estimate(Digest digest) const noexcept {
  return beside_moves([&](const auto& code) { return code.estimate(code.key(digest)); },
                      [](const KeyCount&) { return false; });
}

std::uint64_t CuckooTable::until(Digest digest) const noexcept {
  MANKAI_ASSERT(slot_.tag != 0);
  return beside_moves([&](const auto& code) { return code.until(code.key(digest)); },
                      [](std::uint64_t) { return false; });
}

CuckooTable::Key CuckooTable::fetched(Digest digest) const noexcept {
  return with_code([&](const auto& code) {
    const Key key = code.key(digest);
    code.fetch(key);
    return key;
  });
}

void CuckooTable::prefetch(Digest digest) const noexcept { static_cast<void>(fetched(digest)); }

void CuckooTable::advance(Tick tick) noexcept {
  const std::uint64_t now = this->tick().value;
  const std::uint64_t to = std::min(tick.value, kMaxTick);
  if (to <= now) {
    return;
  }
  if (slot_.tag != 0) {
    // An empty table is not written to: the first advance of a large one would touch all of its memory.
    if (taken_slots() != 0) {
      with_code([&](const auto& code) {
        to == now + 1 ? static_cast<void>(code.sweep(*this, lines())) : code.sweep_until(*this, to);
      });
    }
    image().set_state(kSweep, 0);
  }
  image().set_state(kTick, to);
  is_full_ = false;
  moves_.add();
}

std::uint64_t CuckooTable::sweep(std::uint64_t lines) noexcept {
  return is_unswept() ? with_code([&](const auto& code) { return code.sweep(*this, lines); }) : 0;
}

std::uint64_t CuckooTable::live_slots() const noexcept {
  return with_code([](const auto& code) { return code.live_slots(); });
}

void CuckooTable::clear() noexcept {
  const std::uint64_t now = tick().value;
  FlatFilter::clear();
  is_full_ = false;
  image().set_state(kTick, now);
}

void CuckooTable::add_taken(std::int64_t slots) noexcept {
  // A forged count stays within what there is.
  const auto before = static_cast<std::int64_t>(taken_slots());
  const auto most = static_cast<std::int64_t>(cell_count());
  image().set_state(kTaken, static_cast<std::uint64_t>(std::clamp<std::int64_t>(before + slots, 0, most)));
}

// A forged count is not driven below 0.
void CuckooTable::add_units(std::int64_t units) noexcept {
  const auto before = static_cast<std::int64_t>(keys_inserted());
  image().set_keys_inserted(static_cast<std::uint64_t>(std::max<std::int64_t>(before + units, 0)));
}

}  // namespace mankai
