#pragma once

/// One sub-filter of a cuckoo filter: buckets of four slots, and two buckets for each key.
///
/// A slot holds a fingerprint of f bits, m bits of count and g bits of expiry tag; 0 is a free slot:
///
///     | fingerprint (f) | count (m) | tag (g) |      low bits on the right
///
/// Two keys with equal fingerprints and the same pair of buckets are of one *class*: the table cannot tell them apart.
/// It counts *units*: an insertion adds a unit to the class of its key, an erasure takes one away, and a key is found
/// while its class has one. Moves between the two buckets of a pair do not change a class. So whoever erases only what
/// was inserted never loses a key.
///
///   - without counts, a slot is one unit, and a class that fills all slots of its pair is stuck: nobody knows how many
///     more units it has had, so insertions and erasures leave it as it is.
///   - counts are exact up to 2^m - 2 in a slot; a class takes up to four slots, and the highest count is stuck.
///   - with expiry, a slot is taken until the generation that its tag says; a further unit of its class keeps the later
///     of the two expiries. Without counts a further unit is not counted, and nothing can be erased.
///
/// Buckets are nested: a table of level L has n << L buckets, and the pair of a key there, divided by 2^L, is its pair
/// in the table of level 0, whatever the widths of the fingerprints. cuckoo.hpp says what that is good for.
///
/// Source:  [Fan2014]; counts, nesting and expiry are ours. The search for room is breadth-first as in [Li2014].

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

/// What a slot holds, in bits.
struct CuckooSlot {
  std::uint32_t fingerprint = 0;
  std::uint32_t count = 0;  ///< 0, 2 or 4
  std::uint32_t tag = 0;    ///< 0 or 4

  /// The narrowest slot that the fields fit into, its fingerprint widened to fill it; one of kSlotBits.
  [[nodiscard]] CuckooSlot widened() const noexcept;
  [[nodiscard]] std::uint32_t bits() const noexcept;
  /// The probability that a full table answers yes to an absent key: 8 slots are compared.
  [[nodiscard]] double fpr() const noexcept;

  friend bool operator==(const CuckooSlot&, const CuckooSlot&) = default;
};

/// The generations of expiry tags: a key lives through at most kLifetime of them besides the one it came in.
inline constexpr std::uint64_t kCuckooTags = 15;
inline constexpr std::uint64_t kCuckooLifetime = kCuckooTags - 2;

/// Counts moves of slots, so that a reader who missed a key knows whether to look again. Moves with its table.
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
/// Threads: any number of readers beside one writer, whose moves never hide a key: an entry is copied, then the moves
///          are counted, then the old copy is freed, and a reader who finds nothing looks again if the count changed.
///          A new time counts as a move. `seal`, `to_bytes`, `clear`, `absorb` and moving need the table alone.
class CuckooTable : public FlatFilter<CuckooTable> {
 public:
  static constexpr std::uint16_t kKind = 14;
  /// Share of the slots that are taken at the capacity; the search for room finds it up to 0.96.
  static constexpr double kLoad = 0.955;

  /// Stored in the image.
  struct Params {
    std::uint64_t first_buckets;  ///< of the table of level 0
    std::uint64_t epoch_us;       ///< a generation of expiry; 0 without
    std::uint8_t level;
    std::uint8_t slot_bits;
    std::uint8_t base_bits;  ///< of the fingerprint in the table of level 0: they choose the second bucket
    std::uint8_t count_bits;
    std::uint8_t tag_bits;
    std::uint8_t fingerprint_bits;
    std::array<std::uint8_t, 2> reserved;
  };

  struct Options {
    std::uint64_t keys = 0;
    double fpr = 0;
    std::uint64_t first_buckets = 0;
    std::uint32_t level = 0;
    CuckooSlot slot = {};
    std::uint32_t base_bits = 0;
    Duration epoch{};
    Tick tick{};
    HashSpec hash{};
    Memory memory = system_memory();
    std::uint64_t slice_tag = 0;
  };

  /// What became of an insertion.
  enum class Added : std::uint8_t { added, full };

  /// Errors: invalid_argument for a table that is too large; out_of_space.
  [[nodiscard]] static Result<CuckooTable> create(const Options& options);
  /// Errors: corrupt.
  [[nodiscard]] static Result<CuckooTable> from_image(Image source);

  /// The buckets that hold so many keys, and what they and a line's padding take.
  [[nodiscard]] static std::uint64_t buckets_for(std::uint64_t keys) noexcept;
  [[nodiscard]] static std::uint64_t cells_bytes_for(std::uint64_t buckets, std::uint32_t slot_bits) noexcept;

  /// Adds a unit, which lives until the generation `until` (without expiry: ignored). Changes nothing if it is full.
  [[nodiscard]] Added insert(Digest digest, std::uint64_t until) noexcept;
  /// Raises the expiry of a key that is in, to `until` at least; false if it is not in.
  bool refresh(Digest digest, std::uint64_t until) noexcept;
  /// What `erase` did: a unit of expiry `until` was taken, or nothing.
  struct Taken {
    EraseResult result = EraseResult::absent;
    std::uint64_t until = 0;
  };
  /// Takes a unit of the key's class. Pre: without expiry or with counts.
  Taken erase(Digest digest) noexcept;

  /// Moves the entries of a newer table here, as far as there is room: the buckets of a pair there lie in those of a
  /// pair here, and its fingerprints are cut. Threads: needs both tables alone.
  void absorb(CuckooTable& newer) noexcept;

  [[nodiscard]] bool may_contain(Digest digest) const noexcept;
  void may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept;
  [[nodiscard]] KeyCount estimate(Digest digest) const noexcept;
  /// The latest generation until which the key is found, or 0 where it is not.
  [[nodiscard]] std::uint64_t until(Digest digest) const noexcept;
  void prefetch(Digest digest) const noexcept;

  /// Lets time pass, to a generation that is not before this one. Cost: at most one pass over the cells.
  void advance(Tick tick) noexcept;
  [[nodiscard]] Tick tick() const noexcept { return {image().state(kTick)}; }
  /// Frees expired slots in the next `lines` cache lines, so that `advance` has less to do. Returns how many lines it
  /// read: 0 if all have been since `advance`.
  std::uint64_t sweep(std::uint64_t lines) noexcept;
  void clear() noexcept;
  /// Slots that are taken and have not expired. Cost: a pass over the cells.
  [[nodiscard]] std::uint64_t live_slots() const noexcept;

  [[nodiscard]] Params params() const noexcept { return image().params<Params>(); }
  [[nodiscard]] CuckooSlot slot() const noexcept { return slot_; }
  [[nodiscard]] std::uint64_t buckets() const noexcept { return buckets_; }
  [[nodiscard]] std::uint64_t cell_count() const noexcept { return buckets() * cuckoo::kSlotsPerBucket; }
  /// Slots that are taken, expired ones included until they are swept.
  [[nodiscard]] std::uint64_t taken_slots() const noexcept { return image().state(kTaken); }
  [[nodiscard]] unsigned probes_per_key() const noexcept { return 2 * cuckoo::kSlotsPerBucket; }
  [[nodiscard]] double fill_ratio() const noexcept {
    return static_cast<double>(taken_slots()) / static_cast<double>(cell_count());
  }
  [[nodiscard]] double keys_estimate() const noexcept { return static_cast<double>(taken_slots()); }
  [[nodiscard]] double fpr_estimate() const noexcept { return slot_.fpr() * fill_ratio(); }

  void relocate(const Mover& mover) noexcept {
    image().relocate(mover);
    cells_ = reinterpret_cast<std::byte*>(image().words().data());
  }

 private:
  // The words of the image's state.
  static constexpr std::size_t kTaken = 0;
  static constexpr std::size_t kTick = 1;
  static constexpr std::size_t kSweep = 2;  // the line that is swept next
  static constexpr std::size_t kStateWords = 3;

  CuckooTable(Image source, const Params& params) noexcept;

  template <unsigned slot_bits>
  class Code;
  template <class Use>
  decltype(auto) with_code(const Use& use) const noexcept;

  template <class Ask, class IsGood>
  auto beside_moves(const Ask& ask, const IsGood& is_good) const noexcept;
  void add_taken(std::int64_t slots) noexcept;
  void add_units(std::int64_t units) noexcept;

  // Beside each other, so that a query loads one or two lines of the table's own.
  std::byte* cells_;
  std::uint64_t buckets_;
  std::uint64_t first_buckets_;
  std::uint32_t level_;
  std::uint32_t base_mask_;
  std::uint32_t fingerprint_mask_;
  std::uint32_t slot_bits_;
  std::uint32_t meta_bits_;     ///< of count and tag
  std::uint32_t pattern_mask_;  ///< of the fingerprint within a slot
  std::uint32_t tag_mask_;      ///< 0 without expiry
  CuckooSlot slot_;
  std::uint64_t lines_;
  CuckooMoves moves_;
};

}  // namespace mankai
