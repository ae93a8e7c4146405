#pragma once

/// One sub-filter of a cuckoo filter: buckets of four slots, and two buckets for each key.
///
/// A slot holds a fingerprint of f bits, m bits of count and g bits of expiry tag; 0 is a free slot:
///
///     | fingerprint (f) | count (m) | tag (g) |      low bits on the right
///
/// Two keys with equal fingerprints and the same pair of buckets are of one *class*: the table cannot distinguish them.
/// It counts *units*: an insertion adds a unit to the class of its key, a removal removes one, and a key is found while
/// its class has a unit. Moves between the two buckets of a pair do not change a class. So if only inserted keys are
/// removed, no key is lost.
///
///   - Without counts, a slot is one unit. A class that takes 8 slots (4 if the table can be doubled) is stuck: further
///     units were not counted, so insertions and removals do not change it.
///   - Counts are exact up to 2^m - 2 in a slot; a class has up to four slots, and the highest count is stuck.
///   - With expiry, a slot is taken until the generation of its tag; a further unit of its class keeps the later of the
///     two expiries. Without counts a further unit is not counted, and nothing can be removed.
///
/// A table whose slots have a marker can be doubled. Its level says how often it has been: a table of level L has n <<
/// L buckets, and a bucket's number is a number below n followed by the first L extension bits of the key. A
/// fingerprint has a core, which never changes and chooses the second bucket, and the extension bits that follow those
/// L:
///
///     | 1 | extension (up to e) | core (c) |      the 1 ends the bits that are known
///
/// A doubling moves the next extension bit of every entry from its fingerprint to its bucket, so older entries know
/// fewer bits, and are false positives more often. Of two entries that match a key, the one with fewer known bits
/// matches every key that the other one matches. So `erase` takes the one with the most: if it was another key's, that
/// key is still found by the entry that remains. In its second bucket, an entry has other extension bits: those of the
/// key, combined with a mask that the core gives.
///
/// Source:  [Fan2014]; doubling after [Dayan2023]; counts, expiry and the second bucket's mask are ours. The search for
/// room is breadth-first as in [Li2014].

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "mankai/base/time.hpp"
#include "mankai/filter/concepts.hpp"
#include "mankai/filter/cuckoo/slots.hpp"
#include "mankai/filter/parts/flat_filter.hpp"

namespace mankai {

/// The fields of a slot, in bits.
struct CuckooSlot {
  std::uint32_t fingerprint = 0;
  std::uint32_t count = 0;      ///< 0, 2 or 4
  std::uint32_t tag = 0;        ///< 0 or 4
  std::uint32_t extension = 0;  ///< bits of the fingerprint that doublings may take, or that smaller tables lack
  std::uint32_t marker = 0;     ///< 1 if doublings take them: one bit more marks the end of those that are known

  /// The same fields with fingerprint and extension widened to fill the slot, whose width is one of kSlotBits.
  [[nodiscard]] CuckooSlot widened() const noexcept;
  [[nodiscard]] std::uint32_t bits() const noexcept;
  [[nodiscard]] std::uint32_t core() const noexcept { return fingerprint - extension; }
  /// The false-positive rate of a table all of whose slots are taken by new entries: 8 slots are compared. An entry
  /// that has been doubled d times weighs as much as 2^d new ones.
  [[nodiscard]] double fpr() const noexcept { return fpr_at(1); }
  /// The same at a load: new entries per slot.
  [[nodiscard]] double fpr_at(double load) const noexcept;

  friend bool operator==(const CuckooSlot&, const CuckooSlot&) = default;
};

/// The most bits of a fingerprint.
inline constexpr std::uint32_t kMostCuckooFingerprint = 28;
/// Number of expiry tags; a key lives for at most kCuckooLifetime generations after the one in which it was added.
inline constexpr std::uint64_t kCuckooTags = 15;
inline constexpr std::uint64_t kCuckooLifetime = kCuckooTags - 2;

/// Counts moves and removals of slots: a reader that did not find a key looks again if the count has changed. Moves
/// with its table.
class CuckooMoves {
 public:
  CuckooMoves() noexcept = default;
  CuckooMoves(CuckooMoves&& other) noexcept : moves_(other.now()) {}
  CuckooMoves& operator=(CuckooMoves&& other) noexcept {
    moves_.store(other.now(), std::memory_order_relaxed);
    return *this;
  }
  CuckooMoves(const CuckooMoves&) = delete;
  CuckooMoves& operator=(const CuckooMoves&) = delete;
  ~CuckooMoves() = default;

  [[nodiscard]] std::uint64_t now() const noexcept { return moves_.load(std::memory_order_acquire); }
  void add() noexcept { moves_.store(moves_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

 private:
  std::atomic<std::uint64_t> moves_ = 0;
};

/// See the top of this file. Cost: two cache lines per key.
/// Threads: any number of readers beside one writer, whose moves never hide a key: the writer copies an entry, counts
///          the move, then frees the old copy; a reader that finds nothing looks again if the count has changed. An
///          advance counts as a move. `seal`, `to_bytes`, `clear`, `absorb` and moving need the table alone.
class CuckooTable : public FlatFilter<CuckooTable> {
 public:
  static constexpr std::uint16_t kKind = 14;
  /// Share of the slots that are taken at the capacity: the search for room finds that many.
  static constexpr double kLoad = 0.955;
  static constexpr std::uint32_t kMostLevel = 44;

  /// Stored in the image.
  struct Params {
    std::uint64_t first_buckets;  ///< of the table of level 0
    std::uint64_t epoch_us;       ///< a generation of expiry; 0 without
    std::uint8_t level;
    std::uint8_t slot_bits;
    std::uint8_t marker_bits;
    std::uint8_t count_bits;
    std::uint8_t tag_bits;
    std::uint8_t fingerprint_bits;
    std::uint8_t extension_bits;
    std::uint8_t first_level;  ///< at which the table was created
  };

  struct Options {
    std::uint64_t keys = 0;
    double fpr = 0;
    std::uint64_t first_buckets = 0;
    std::uint32_t level = 0;  ///< 0 without marker
    std::uint32_t first_level = 0;
    CuckooSlot slot = {};
    Duration epoch{};
    Tick tick{};
    HashSpec hash{};
    Memory memory = system_memory();
    std::uint64_t slice_tag = 0;
  };

  /// Result of an insertion.
  enum class Added : std::uint8_t { added, full };

  /// Errors: invalid_argument for a table that is too large; out_of_space.
  [[nodiscard]] static Result<CuckooTable> create(const Options& options);
  /// Errors: corrupt.
  [[nodiscard]] static Result<CuckooTable> from_image(Image source);

  /// The buckets for this many keys, and their size with the padding of lines.
  [[nodiscard]] static std::uint64_t buckets_for(std::uint64_t keys) noexcept;
  [[nodiscard]] static std::uint64_t cells_bytes_for(std::uint64_t buckets, std::uint32_t slot_bits) noexcept;

  /// Adds a unit that lives until the generation `until` (ignored without expiry). Changes nothing if the table is
  /// full, or if the key needs a slot and may not take one. Stack: 256 KiB.
  [[nodiscard]] Added insert(Digest digest, std::uint64_t until, bool may_take_slot) noexcept;
  /// Lets the next insertion search for room as widely as if none had failed before.
  void expect_room() noexcept { is_full_ = false; }
  /// As FilterBase's. From here on this table and one opened from its image search for room alike: a store that
  /// replays its journal after a crash makes the same table.
  [[nodiscard]] std::span<const std::byte> seal() noexcept {
    expect_room();
    return FlatFilter::seal();
  }
  /// Raises the expiry of a present key to at least `until`; returns false for an absent one.
  bool refresh(Digest digest, std::uint64_t until) noexcept;
  /// Result of `erase`, and the expiry of the removed unit.
  struct Taken {
    EraseResult result = EraseResult::absent;
    std::uint64_t until = 0;
  };
  /// Removes a unit of the entry with the most known bits. Pre: without expiry or with counts.
  Taken erase(Digest digest) noexcept;
  /// The extension bits, those in the bucket's number included, of the entry with the most that matches; nothing for an
  /// absent key.
  [[nodiscard]] std::optional<std::uint32_t> known_bits(Digest digest) const noexcept;

  /// Makes a table with the same entries, but for expired ones, that is doubled `times` more. Pre: no more doublings
  /// since the first level than there are extension bits. Cost: a pass over the cells. Errors: out_of_space.
  [[nodiscard]] Result<CuckooTable> doubled(std::uint32_t times, const Memory& memory) const;
  [[nodiscard]] std::uint32_t level() const noexcept { return level_; }
  [[nodiscard]] std::uint32_t first_level() const noexcept { return first_level_; }

  /// Moves the entries of another table here while there is room; they keep as many bits as there are here. Pre: every
  /// entry there knows the bits that this table may take. Threads: needs both tables alone.
  void absorb(CuckooTable& other) noexcept;

  /// Where a key is looked for.
  struct Key {
    std::array<std::byte*, 2> low;  ///< the low planes of its buckets
    std::uint64_t extension;        ///< its extension bits, from the first one on
    std::uint64_t mask;             ///< by which they differ in its second bucket
    std::uint32_t core;
  };
  /// Fetches the lines of a key. Valid until the table changes its size.
  [[nodiscard]] Key fetched(Digest digest) const noexcept;

  [[nodiscard]] bool may_contain(Digest digest) const noexcept { return ask_(*this, digest); }
  [[nodiscard]] bool may_contain(const Key& key) const noexcept;
  void may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept;
  [[nodiscard]] KeyCount estimate(Digest digest) const noexcept;
  /// The latest generation until which the key is found; 0 for an absent key.
  [[nodiscard]] std::uint64_t until(Digest digest) const noexcept;
  void prefetch(Digest digest) const noexcept;

  /// Advances to a generation; an earlier one changes nothing. Cost: at most one pass over the cells.
  void advance(Tick tick) noexcept;
  [[nodiscard]] Tick tick() const noexcept { return {image().state(kTick)}; }
  /// Frees expired slots in the next `lines` cache lines, so that `advance` has less to do. Returns how many lines it
  /// read: 0 if all have been since `advance`.
  std::uint64_t sweep(std::uint64_t lines) noexcept;
  /// Whether there are lines for `sweep`.
  [[nodiscard]] bool is_unswept() const noexcept {
    return slot_.tag != 0 && taken_slots() != 0 && image().state(kSweep) != lines();
  }
  void clear() noexcept;
  /// Slots that are taken and have not expired. Cost: a pass over the cells.
  [[nodiscard]] std::uint64_t live_slots() const noexcept;

  [[nodiscard]] Params params() const noexcept { return image().params<Params>(); }
  [[nodiscard]] CuckooSlot slot() const noexcept {
    return {.fingerprint = slot_.fingerprint,
            .count = slot_.count,
            .tag = slot_.tag,
            .extension = slot_.extension,
            .marker = slot_.marker};
  }
  [[nodiscard]] std::uint64_t buckets() const noexcept { return first_buckets_ << level_; }
  [[nodiscard]] std::uint64_t cell_count() const noexcept { return buckets() * cuckoo::kSlotsPerBucket; }
  /// Slots that are taken, expired ones included until they are swept.
  [[nodiscard]] std::uint64_t taken_slots() const noexcept { return image().state(kTaken); }
  [[nodiscard]] unsigned probes_per_key() const noexcept { return 2 * cuckoo::kSlotsPerBucket; }
  [[nodiscard]] double fill_ratio() const noexcept {
    return static_cast<double>(taken_slots()) / static_cast<double>(cell_count());
  }
  [[nodiscard]] double keys_estimate() const noexcept { return static_cast<double>(taken_slots()); }
  [[nodiscard]] double fpr_estimate() const noexcept { return fpr_of(slot(), level() - first_level(), fill_ratio()); }
  /// The rate of a table that was filled to its capacity before each of its doublings.
  [[nodiscard]] static double fpr_of(const CuckooSlot& slot, std::uint32_t doublings, double load) noexcept;

  void relocate(const Mover& mover) noexcept { image().relocate(mover); }

 private:
  // The words of the image's state.
  static constexpr std::size_t kTaken = 0;
  static constexpr std::size_t kTick = 1;
  static constexpr std::size_t kSweep = 2;  // the line that is swept next
  static constexpr std::size_t kStateWords = 3;

  CuckooTable(Image source, const Params& params) noexcept;

  struct Entry;
  template <unsigned slot_bits, bool doubles>
  class Code;
  template <class Use>
  decltype(auto) with_code(const Use& use) const noexcept;

  template <class Ask, class IsGood>
  auto beside_moves(const Ask& ask, const IsGood& is_good) const noexcept;
  bool put_in(const Entry& entry) noexcept;
  void add_taken(std::int64_t slots) noexcept;
  void add_units(std::int64_t units) noexcept;

  [[nodiscard]] std::byte* cells_start() const noexcept { return const_cast<std::byte*>(cells().data()); }
  [[nodiscard]] std::uint64_t lines() const noexcept { return cells_bytes() / kCacheLineBytes; }

  /// A CuckooSlot in few bytes.
  struct Slot {
    std::uint8_t fingerprint;
    std::uint8_t count;
    std::uint8_t tag;
    std::uint8_t extension;
    std::uint8_t marker;
  };

  // What a query needs of the header, in few bytes: most of a small filter's memory is its objects.
  std::uint64_t first_buckets_;
  std::uint32_t core_mask_;
  std::uint8_t core_bits_;
  std::uint8_t meta_bits_;  ///< of count and tag
  std::uint8_t tag_mask_;   ///< 0 without expiry
  std::uint8_t slot_bits_;
  std::uint8_t level_;
  std::uint8_t first_level_;
  Slot slot_;
  /// A search for room has failed, and nothing was freed since. Not in the image.
  bool is_full_ = false;
  std::uint64_t low_core_mask_;  ///< the bits of the core in all lanes of the low planes
  bool (*ask_)(const CuckooTable& table, Digest digest) noexcept;  ///< may_contain for tables of this sort
  CuckooMoves moves_;
};

}  // namespace mankai
