#pragma once

/// A cuckoo filter that counts, grows and expires: keys can be removed at a third of the memory of a counting Bloom
/// filter, and each key may have a time to live of its own.
///
/// Growth: a full sub-filter (cuckoo_table.hpp) is doubled, so that most filters have one, and a lookup reads two cache
///         lines. A doubling takes a bit from every fingerprint. When the oldest entries have none left, a second
///         sub-filter of the same size opens and is doubled in its turn. Of all entries that match a key, the one with
///         the most known bits matches the fewest keys: `erase` takes that one, wherever it is. If it was another
///         key's, every other entry that matches the erased key matches the other key too, so that one is still found.
///         If the buckets of sub-filters were unrelated, members would be lost whatever the order of removal.
///
/// Expiry: a generation lasts `max_ttl / 13`, and a key lives until one of the next 14 begins: never less than its time
///         to live, and at most one generation longer. A key that was added several times lives as long as the addition
///         that expires last; a removal removes the addition that would expire first. The removed unit may have been
///         another key's, so every other slot that matches the key gets at least that unit's expiry.
///
/// Formula: rate of a sub-filter at its capacity 7.64 / 2^f without growth, and 7.64 (d / 2 + 1) / 2^(8 + e) after d
///          doublings with e extension bits. The first two sub-filters have a third of the rate each, and every further
///          one half of what is left: the whole stays below the target.
///          Bits per key at capacity and 1 %: 11.2 fixed, 14.9 growing; 13.4 and 16.8 with two bits of count, 14.9 and
///          22.4 with four. A doubled filter has half of its slots free.
/// Cannot:  distinguish a false positive from a member: removing an absent key removes a unit of some member at the
///          false-positive rate. If an insertion is skipped because the key is found (add-if-absent), the key has no
///          unit of its own, and removing it may remove the key that it was mistaken for.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "mankai/filter/concepts.hpp"
#include "mankai/filter/cuckoo/cuckoo_table.hpp"
#include "mankai/filter/parts/growing_filter.hpp"

namespace mankai {

/// See the top of this file. Cost: two cache lines per sub-filter for a miss. An insertion that doubles a sub-filter
///          copies it, and has both in memory meanwhile.
/// Threads: `may_contain`, `estimate` and `expiry` beside one writer, moves and time included. Insertions into a
///          filter that grows, `to_bytes`, `merge`, `compact`, `clear` and moving need the filter alone.
class Cuckoo : public GrowingFilter<Cuckoo, CuckooTable> {
 public:
  static constexpr std::uint16_t kKind = CuckooTable::kKind;
  static constexpr std::string_view kName = "cuckoo";
  static constexpr Promise kPromise{.no_false_negatives = true, .forgets = true};

  /// Stored in the image.
  struct Params {
    std::uint64_t first_buckets;
    std::uint64_t epoch_us;  ///< 0: keys do not expire
    std::uint8_t growth;     ///< 1 more than the binary logarithm of the factor; 0: it does not grow
    std::uint8_t lifetime;   ///< generations of the longest time to live; 0: keys do not expire
    std::uint8_t core_bits;  ///< of a fingerprint, those that no doubling takes
    std::uint8_t count_bits;
    std::uint8_t tag_bits;
    std::uint8_t fingerprint_bits;  ///< of the first sub-filter, each further one has one more; 0: as the rate needs
    std::array<std::uint8_t, 2> reserved;
  };

  /// What to create.
  struct Options {
    std::uint64_t keys = 0;  ///< of the first sub-filter
    double fpr = 0.01;
    std::uint32_t growth = 2;   ///< by which the capacity grows: a power of 2; 1: by that of `keys`; 0: it is fixed
    std::uint32_t counts = 2;   ///< bits of count: 0, 2 or 4. With expiry 0 counts nothing and cannot erase
    Duration max_ttl{};         ///< the longest time to live; 0: keys do not expire
    Duration ttl_resolution{};  ///< a generation; 0: max_ttl / 13
    /// Of the first sub-filter, 4 to 28, and one more in each further one; 0: as the rate needs. For tests: short ones
    /// make keys collide.
    std::uint32_t fingerprint_bits = 0;
    HashSpec hash = HashSpec::random();
    Memory memory = system_memory();
  };

  /// Errors: invalid_argument for an impossible request; out_of_space.
  [[nodiscard]] static Result<Cuckoo> create(const Options& options);
  /// Makes an empty filter that merges with this one, at the same time. Errors: out_of_space.
  [[nodiscard]] Result<Cuckoo> create_like(const Memory& memory = system_memory()) const;

  [[nodiscard]] Params params() const noexcept { return kind_params<Params>(); }

  /// Adds a unit of a key with the longest time to live. A fixed filter also accepts keys beyond its capacity
  /// (check_room). Errors: std::bad_alloc if a sub-filter cannot be created; then no key has changed.
  void insert(Digest digest) { insert_until(digest, latest_until()); }
  [[nodiscard]] bool may_contain(Digest digest) const noexcept {
    return slice_count() == 1 ? slices()[0].may_contain(digest) : may_contain_in_slices(digest);
  }
  /// Inserts, and returns whether the key was found before.
  bool observe(Digest digest);
  /// Adds a unit of a key that lives until a generation. Pre: until_of returned it, and tick() has not changed since.
  void insert_until(Digest digest, std::uint64_t until);
  /// As insert_until, but returns false, with nothing changed, if the filter is fixed and has no room.
  [[nodiscard]] bool try_insert_until(Digest digest, std::uint64_t until);
  /// Before insertions that another copy of this filter accepted: a fixed filter that has refused keys takes them, too.
  void expect_room() noexcept;
  /// Removes a unit. Returns `stuck` for a filter with expiry and without counts: see check_erase.
  EraseResult erase(Digest digest) noexcept;
  /// Returns the units of the key and of the keys that it is mistaken for.
  [[nodiscard]] KeyCount estimate(Digest digest) const noexcept;
  /// Returns when the key expires if the filter does not change; nothing for an absent key. Pre: has_time().
  [[nodiscard]] std::optional<Time> expiry(Digest digest) const noexcept;
  void prefetch(Digest digest) const noexcept { slices().back().prefetch(digest); }
  /// For callers with work of their own per key, who call it before each: fetches the lines of the next keys, a window
  /// at a time. Pre: at < digests.size().
  void prefetch_ahead(std::span<const Digest> digests, std::size_t at) const noexcept;

  using GrowingFilter::insert;
  using GrowingFilter::may_contain;
  /// Batches, in order: the fast path. Shape: digests[c] or keys[c], outcomes[c]; may be empty; must not overlap.
  /// After std::bad_alloc the keys before the one that got no memory are inserted.
  void insert(std::span<const Digest> digests);
  void insert_until(std::span<const Digest> digests, std::span<const std::uint64_t> until);
  void observe(std::span<const Digest> digests, std::span<bool> seen);
  void erase(std::span<const Digest> digests, std::span<EraseResult> results) noexcept;
  void estimate(std::span<const Digest> digests, std::span<KeyCount> counts) const noexcept;

  /// Whether keys expire.
  [[nodiscard]] bool has_time() const noexcept { return params().epoch_us != 0; }
  /// Advances time. Cost: at most one pass over the cells; less if insertions have swept them.
  void advance(Tick tick) noexcept;
  [[nodiscard]] Tick tick() const noexcept { return slices()[0].tick(); }
  /// A generation; without expiry the longest possible duration, so that time never advances.
  [[nodiscard]] Duration epoch() const noexcept;
  /// The generation of a filter with this time to live; `resolution` as in Options.
  [[nodiscard]] static Duration generation_for(Duration max_ttl, Duration resolution) noexcept;
  [[nodiscard]] Duration max_ttl() const noexcept { return epoch() * std::int64_t{params().lifetime}; }
  /// Returns the generation until which a key must live to expire at a time. Errors: invalid_argument without expiry,
  /// for a time in the past, and beyond the longest time to live.
  [[nodiscard]] Result<std::uint64_t> until_of(Time expiry) const;
  /// The generation until which a key lives that is added now with the longest time to live.
  [[nodiscard]] std::uint64_t latest_until() const noexcept { return tick().value + params().lifetime + 1; }
  /// Whether a generation may be an argument of insert_until.
  [[nodiscard]] bool is_until(std::uint64_t until) const noexcept {
    return has_time() && until > tick().value && until <= latest_until();
  }

  /// Errors: out_of_space for a fixed filter without room for these keys, and for one with growth 1 that may need more
  /// sub-filters than there can be. Cost: if it is nearly full, a pass over the cells.
  [[nodiscard]] Result<void> check_room(std::span<const Digest> digests) const;
  /// Errors: invalid_argument for a filter with expiry and without counts.
  [[nodiscard]] Result<void> check_erase() const;

  /// Copies the other filter's sub-filters into this one. The rates add up. Errors: invalid_argument if seeds, growth
  /// or time differ, or there would be too many sub-filters; out_of_space. Errors change nothing.
  [[nodiscard]] Result<void> merge(const Cuckoo& other);
  /// Moves keys to older sub-filters with room and drops empty ones. Does not shrink a sub-filter, unless the filter is
  /// empty. Cost: a pass over the cells. Threads: needs the filter alone.
  void compact() noexcept;
  /// Removes all keys, and all sub-filters but the first, which is as small again as it was created, unless there is no
  /// memory for that.
  void clear() noexcept;

  /// Room of the sub-filters. A fixed filter has no more because one opened for a key for which no move made room:
  /// filled, that sub-filter would double the rate.
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept {
    const bool grows = growth_factor() != 0;
    return sum([grows](const CuckooTable& table) {
      return grows || table.slice_tag() == 0 ? table.capacity_keys() : 0;  // those of a merged filter have tag 0
    });
  }
  /// 0 for a filter that does not grow.
  [[nodiscard]] std::uint32_t growth_factor() const noexcept;
  /// How often the filter has grown.
  [[nodiscard]] std::uint64_t expansions() const noexcept;
  [[nodiscard]] CuckooSlot slot() const noexcept { return slices()[0].slot(); }
  [[nodiscard]] std::uint64_t taken_slots() const noexcept {
    return sum([](const CuckooTable& table) { return table.taken_slots(); });
  }
  [[nodiscard]] unsigned probes_per_key() const noexcept {
    return static_cast<unsigned>(slice_count()) * slices()[0].probes_per_key();
  }
  [[nodiscard]] double lines_per_key() const noexcept { return 2 * static_cast<double>(slice_count()); }
  /// The false-positive rate of the formula for this many distinct keys in a filter grown from empty.
  [[nodiscard]] double fpr_expected(std::uint64_t keys) const noexcept;

  /// Size of the first sub-filter of a request.
  struct Size {
    CuckooSlot slot;
    std::uint64_t cells_bytes;
    double load;  ///< share of its slots that the keys take
  };
  /// Errors: invalid_argument for an impossible request.
  [[nodiscard]] static Result<Size> size_of(const Options& options);

 private:
  friend class GrowingFilter<Cuckoo, CuckooTable>;
  using GrowingFilter::GrowingFilter;

  static Result<void> check_header(const ImageHeader& header);
  static Result<void> check_slice(const ImageHeader& outer, const CuckooTable& slice, std::size_t index);

  // See check_erase.
  [[nodiscard]] bool can_erase() const noexcept { return !has_time() || slot().count != 0; }
  [[nodiscard]] bool may_contain_in_slices(Digest digest) const noexcept;
  [[nodiscard]] bool insert_in_slices(Digest digest, std::uint64_t until) noexcept;
  [[nodiscard]] std::uint64_t live_slots() const noexcept {
    return sum([](const CuckooTable& table) { return table.live_slots(); });
  }
  void sweep() noexcept;
  void grow_once();
  void sort_slices() noexcept;
};

static_assert(BatchFilter<Cuckoo>);
static_assert(MergeableFilter<Cuckoo>);
static_assert(DeletableFilter<Cuckoo>);
static_assert(FrequencyFilter<Cuckoo>);
static_assert(DecayingFilter<Cuckoo>);

}  // namespace mankai
