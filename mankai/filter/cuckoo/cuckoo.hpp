#pragma once

/// A cuckoo filter that counts, grows and expires: keys can be taken out again at a third of the memory of a counting
/// Bloom filter, and each key may have a time to live of its own.
///
/// Sub-filters (cuckoo_table.hpp) of c, 2c, 4c … keys. Insertions go to the newest; when it finds no room for a key, to
/// an older one that has room again, and else it opens the next one. Their buckets are nested, so that an entry of a
/// larger one is one of every smaller one, too, seen through fewer bits. Erasing therefore takes from the newest
/// sub-filter that has the key: if that unit was another key's, that key agrees with this one on all of these bits, and
/// so on those of the sub-filter in which this key's own unit stays behind; it is found there. Sub-filters with
/// unrelated buckets lose members, in whichever order one erases.
///
/// Expiry: a generation lasts `max_ttl / 13`, and a key lives until one of the next 14 begins: never less than its time
///         to live, and one generation longer at most. A key that was added several times lives as long as the addition
///         that expires last; erasing it takes out the addition that would expire first. The unit that is taken may
///         have been another key's, so whatever else matches the key is made to live as long as that unit.
///
/// Formula: rate of a sub-filter at its capacity 7.64 / 2^f. The rate of a growing filter is split evenly over 17
///          sub-filters, and halved for each that follows them: the whole stays below the target.
///          Bits per key at 1 %: 11.2 fixed, 14.9 growing; 14.9 and 16.8 with two bits of count, 14.9 and 22.3 with
///          four.
/// Cannot:  tell a false positive from a member: erasing an absent key takes a unit of some member's at the false
///          positive rate. An insertion that is skipped because the key is found (add-if-absent) is not one: erasing
///          the key then may take out the one that it was mistaken for.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "mankai/filter/concepts.hpp"
#include "mankai/filter/cuckoo/cuckoo_table.hpp"
#include "mankai/filter/parts/growing_filter.hpp"

namespace mankai {

/// See the top of this file. Cost: two cache lines per sub-filter for a miss.
/// Threads: `may_contain`, `estimate` and `expiry` beside one writer, moves, growth and time included. `to_bytes`,
///          `merge`, `compact`, `clear` and moving need the filter alone.
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
    std::uint8_t base_bits;
    std::uint8_t count_bits;
    std::uint8_t tag_bits;
    std::uint8_t fingerprint_bits;  ///< of the first sub-filter, each further one has one more; 0: as the rate needs
    std::array<std::uint8_t, 2> reserved;
  };

  /// What to create.
  struct Options {
    std::uint64_t keys = 0;  ///< of the first sub-filter
    double fpr = 0.01;
    std::uint32_t growth = 2;   ///< each sub-filter's keys over those of the one before: a power of 2; 0: it is fixed
    std::uint32_t counts = 2;   ///< bits of count: 0, 2 or 4. With expiry 0 or 2: 0 counts nothing and cannot erase
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

  [[nodiscard]] Params params() const noexcept { return params_in<Params>(header()); }

  /// Adds a unit of a key; it lives for the longest time to live. A fixed filter takes keys beyond its capacity, too
  /// (check_room). Errors: std::bad_alloc where a sub-filter cannot be made, which leaves the filter as it was.
  void insert(Digest digest) { insert_until(digest, latest_until()); }
  [[nodiscard]] bool may_contain(Digest digest) const noexcept;
  /// Inserts, and returns whether the key was found before.
  bool observe(Digest digest);
  /// Adds a unit of a key that lives until a generation. Pre: until_of gave it, and tick() is what it was then.
  void insert_until(Digest digest, std::uint64_t until);
  /// As insert_until, unless the filter is fixed and its one sub-filter has no room: returns false, nothing is changed.
  [[nodiscard]] bool try_insert_until(Digest digest, std::uint64_t until);
  /// Takes a unit out. Without counts, a filter with expiry answers `stuck`: see check_erase.
  EraseResult erase(Digest digest) noexcept;
  /// How many units the key has, and those of keys that it is mistaken for.
  [[nodiscard]] KeyCount estimate(Digest digest) const noexcept;
  /// The moment until which the key is found at most, if nothing else is done; nothing for a key that is not found.
  /// Pre: has_time().
  [[nodiscard]] std::optional<Time> expiry(Digest digest) const noexcept;
  void prefetch(Digest digest) const noexcept { slices().back().prefetch(digest); }

  using GrowingFilter::insert;
  using GrowingFilter::may_contain;
  /// Batches, in order: the fast path. Shape: digests[c] or keys[c], outcomes[c]; may be empty; must not overlap.
  /// After std::bad_alloc the keys before the one that found no room are in.
  void insert(std::span<const Digest> digests);
  void insert_until(std::span<const Digest> digests, std::span<const std::uint64_t> until);
  void observe(std::span<const Digest> digests, std::span<bool> seen);
  void erase(std::span<const Digest> digests, std::span<EraseResult> results) noexcept;
  void estimate(std::span<const Digest> digests, std::span<KeyCount> counts) const noexcept;

  /// Whether keys expire.
  [[nodiscard]] bool has_time() const noexcept { return params().epoch_us != 0; }
  /// Lets time pass. Cost: at most one pass over the cells.
  void advance(Tick tick) noexcept;
  [[nodiscard]] Tick tick() const noexcept { return slices()[0].tick(); }
  /// A generation; without expiry the longest duration there is, so that time stands still.
  [[nodiscard]] Duration epoch() const noexcept;
  /// The generation of a filter with so long a time to live; `resolution` as in Options.
  [[nodiscard]] static Duration generation_for(Duration max_ttl, Duration resolution) noexcept;
  [[nodiscard]] Duration max_ttl() const noexcept { return epoch() * std::int64_t{params().lifetime}; }
  /// The generation until which a key must live that expires at a time. Errors: invalid_argument without expiry, for a
  /// time that has come, and beyond the longest time to live.
  [[nodiscard]] Result<std::uint64_t> until_of(Time expiry) const;
  /// The generation until which a key lives that is added now for the longest time to live.
  [[nodiscard]] std::uint64_t latest_until() const noexcept { return tick().value + params().lifetime + 1; }
  /// Whether a generation may be an argument of insert_until.
  [[nodiscard]] bool is_until(std::uint64_t until) const noexcept {
    return has_time() && until > tick().value && until <= latest_until();
  }

  /// Errors: out_of_space for a fixed filter that has no room for so many keys more.
  [[nodiscard]] Result<void> check_room(std::size_t keys) const;
  /// Errors: invalid_argument for a filter with expiry and without counts.
  [[nodiscard]] Result<void> check_erase() const;

  /// Takes over the other filter's sub-filters. The rates add up. Errors: invalid_argument when seeds, growth or time
  /// differ, or there would be too many sub-filters; out_of_space, which leaves both as they were.
  [[nodiscard]] Result<void> merge(const Cuckoo& other);
  /// Moves keys to older sub-filters, as far as these have room, and drops those that are empty. Cost: a pass over the
  /// cells, and a search for room per key. Threads: needs the filter alone.
  void compact() noexcept;
  /// Forgets every key and all sub-filters but the first.
  void clear() noexcept;

  /// 0 for a filter that does not grow.
  [[nodiscard]] std::uint32_t growth_factor() const noexcept;
  [[nodiscard]] CuckooSlot slot() const noexcept { return slices()[0].slot(); }
  [[nodiscard]] std::uint64_t taken_slots() const noexcept {
    return sum([](const CuckooTable& table) { return table.taken_slots(); });
  }
  [[nodiscard]] unsigned probes_per_key() const noexcept {
    return static_cast<unsigned>(slice_count()) * slices()[0].probes_per_key();
  }
  [[nodiscard]] double lines_per_key() const noexcept { return 2 * static_cast<double>(slice_count()); }
  /// The rate that the formula gives for so many distinct keys in a filter grown from empty.
  [[nodiscard]] double fpr_expected(std::uint64_t keys) const noexcept;

  /// What the first sub-filter of a request takes.
  struct Size {
    CuckooSlot slot;
    std::uint64_t cells_bytes;
    double load;  ///< share of its slots that so many keys take
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
  [[nodiscard]] bool insert_in_slices(Digest digest, std::uint64_t until) noexcept;
  [[nodiscard]] std::uint64_t live_slots() const noexcept {
    return sum([](const CuckooTable& table) { return table.live_slots(); });
  }
  void sweep() noexcept;
  void open_slice();
  void sort_slices() noexcept;
};

static_assert(BatchFilter<Cuckoo>);
static_assert(MergeableFilter<Cuckoo>);
static_assert(DeletableFilter<Cuckoo>);
static_assert(FrequencyFilter<Cuckoo>);
static_assert(DecayingFilter<Cuckoo>);

}  // namespace mankai
