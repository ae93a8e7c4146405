#pragma once

/// The hottest keys: decayed counts of all keys, and the names of those with the highest counts, in a bounded image.
///
/// A table holds the keys that seem hottest, with their bytes and a counter each. A sketch holds an upper bound for all
/// other keys, in cells that keys share. Both decay by λ at the start of every epoch.
///
///     cells: | ledger, a line | k partitions of cells_per_probe cells of 32 bits | table (key_table.hpp) |
///
///
/// An event of a key in the table is added to its score only. Any other event is added to the smallest of the key's k
/// cells, and cells below that sum are raised to it (conservative update). The key enters the table when this bound
/// exceeds the lowest score of the 16 slots of its bucket; the evicted key's cells are raised to its score. So the
/// bound of every key is never too low, and hot keys do not inflate the cells of the sketch.
///
/// Cells hold multiples of 2^-F up to 2^(32-F), scores hold multiples of 2^-28 up to 2^34. Decay rounds up. F is such
/// that what never decays, 2^-F / (1 - λ), is at most 1/64.
///
/// An event before the current epoch is late and counts λ^age, rounded up to 2^-28 in the table and 2^-F in the sketch.
/// Even if the latter add up, late events do not raise a key above hotter keys: a key whose bound exceeds the lowest
/// score of its bucket enters the table.
///
/// Source:  [Estan2002] conservative update; [Roy2016] a table before a sketch. Differs: both decay; a key that leaves
///          the table raises its cells instead of adding to them, which conservative cells allow; keys keep their
///          bytes. [Cheng2005] for decaying cells; theirs round down.
/// Formula: a key outside the table is overestimated if all its cells are shared: at most (1 - (1 -
///          1/cells_per_probe)^n)^k for n such keys; the error is lower, since only the smallest cells grow.
/// Cannot:  list a key that was not hot enough at its last event, or name a key that was only passed as a digest.
/// Tried:   scores as coarse as cells: half a million three-year-old events ranked above a thousand of today, as each
///          counted 2^-13. One shared remainder for the late events of all keys, added to every bound: the late events
///          of one key then raise all. Ignoring what counts less than about 2^-40: counts can then be too low. Writing
///          every event to the sketch as well: 48 instead of 34 ns per event on Zipf 1.2 (2e6 events of 3e5 keys, 256
///          KiB), and estimates of keys outside the table are 3 % higher. Other sizes of the table:
///          docs/filters/decayed_top.md.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/filter/concepts.hpp"
#include "mankai/filter/decayed_top/key_table.hpp"
#include "mankai/filter/parts/decayed_cells.hpp"
#include "mankai/filter/parts/single_call_filter.hpp"

namespace mankai {

/// See the top of this file, and concepts.hpp for common members. Cost: two to four cache lines for a key in the table,
/// k more for another. Threads: const calls are safe together; changes need the filter alone.
class DecayedTop : public SingleCallFilter<DecayedTop> {
 public:
  static constexpr std::uint16_t kKind = 13;
  static constexpr std::string_view kName = "decayed-top";
  static constexpr Promise kPromise{.no_false_negatives = true, .forgets = true};

  /// The table keeps at most so many bytes of a key, fewer if the arena is small. Keys with a common prefix of that
  /// length remain two keys.
  static constexpr std::size_t kMostKeyBytes = KeyTable::kMostKeyBytes;
  /// Largest `count` of one insert.
  static constexpr std::uint32_t kMostAtOnce = ~std::uint32_t{0};

  struct Params {
    std::uint64_t lambda_q32;
    std::uint64_t epoch_us;
    std::uint32_t buckets;
    std::uint8_t k;
    std::uint8_t fraction_bits;
    std::uint8_t key_units;   ///< arena bytes per candidate, in units of 8 bytes
    std::uint8_t score_bits;  ///< 28: scores are in units of 2^-score_bits
  };

  /// What to create: the largest image within `bytes`; or, for `keys` distinct keys in a few half-lives, a sketch with
  /// an overestimate rate of `fpr`, and a table.
  struct Options {
    std::uint64_t keys = 0;
    double fpr = 0.01;
    std::uint64_t bytes = 0;       ///< limit of the whole image; 0: sized by keys
    std::uint32_t candidates = 0;  ///< keys in the table; 0: as many as fit in a quarter of the cells' bytes
    std::uint32_t k = 0;           ///< cells per key, at most 64; 0 for 4
    std::uint32_t key_bytes = 0;   ///< mean room for a key's bytes; 0 for 48
    Decay decay{};
    std::uint64_t keys_tag = 0;  ///< what the keys are, such as paths or hosts, numbered by the caller
    HashSpec hash = HashSpec::random();
    Memory memory = system_memory();
  };

  /// One of the hottest keys. `key` points into the filter: valid until the filter is changed.
  struct Entry {
    std::string_view key;
    DecayedCount count;
    Time last_seen;
    bool is_cut = false;  ///< `key` is only a prefix of the key
  };

  [[nodiscard]] static Result<DecayedTop> create(const Options& options);
  /// Size of the image that create would make. Errors: invalid_argument, as create's.
  [[nodiscard]] static Result<std::uint64_t> image_bytes_of(const Options& options);
  [[nodiscard]] static Result<DecayedTop> from_image(Image source);

  /// Counts a key `count` times at a time. A time after the filter's epoch advances the filter; an earlier event counts
  /// its decayed rest. Costs as much as one event; in the sketch the bound is at most that of `count` single events.
  /// Pre: count >= 1; `digest` is hasher()(key), checked when the key enters the table; of a longer key, its first
  /// kMostKeyBytes + 1 bytes suffice.
  void insert(Digest digest, std::string_view key, Time at, std::uint32_t count = 1) noexcept;
  /// Shape: digests[c], keys[c], times[c].
  void insert(std::span<const Digest> digests, std::span<const std::string_view> keys,
              std::span<const Time> times) noexcept;

  /// Counts a key now by its digest alone: the key never enters the table.
  void insert(Digest digest) noexcept { static_cast<void>(observe(digest)); }
  bool observe(Digest digest) noexcept;
  using SingleCallFilter::insert;
  using SingleCallFilter::observe;

  /// Whether the decayed count exceeds the part that never decays, at most 1/64.
  [[nodiscard]] bool may_contain(Digest digest) const noexcept { return sketch_.is_left(units_of(bound_of(digest))); }
  using SingleCallFilter::may_contain;

  [[nodiscard]] DecayedCount estimate(Digest digest) const noexcept { return count_of(bound_of(digest)); }
  using SingleCallFilter::estimate;

  /// The hottest keys of the table, hottest first, equal ones sorted by bytes: at most `most` after the first `skip`.
  /// Cost: a pass over the table and a sort of those that are returned. Throws bad_alloc.
  [[nodiscard]] std::vector<Entry> top(std::size_t most, std::size_t skip = 0) const;
  /// All keys of the table whose count is at least `min_raw`, in that order.
  [[nodiscard]] std::vector<Entry> above(double min_raw) const;

  /// Cost: a pass over sketch and table.
  void advance(Tick tick) noexcept;
  /// As advance, but rounds up a few times instead of once per epoch. Counts are never too low, and at most 1e-4 of
  /// themselves higher than after `advance`, but not bit for bit the same: filters that must be equal must `leap`
  /// between the same ticks. Cost: at most eight passes over sketch and table, however long the time.
  void leap(Tick tick) noexcept;
  [[nodiscard]] Tick tick() const noexcept { return {image().state(kTick)}; }
  [[nodiscard]] Duration epoch() const noexcept { return epoch_; }
  [[nodiscard]] Decay decay() const noexcept { return {.lambda_q32 = sketch_.shape().lambda_q32, .epoch = epoch_}; }
  /// Time of the newest event; 1970 before the first one. Events before 1970 count as at 1970.
  [[nodiscard]] Time newest() const noexcept;
  /// Events that arrived after one of a later epoch.
  [[nodiscard]] std::uint64_t late_records() const noexcept { return ledger_->late_records; }
  /// How often a cell could not hold what was added to it. Estimates that this may have made too low are saturated, as
  /// in time-decaying-counts. Scores never saturate in practice.
  [[nodiscard]] std::uint64_t saturations() const noexcept { return image().state(kSaturations); }

  /// Adds the other filter's counts, at the later tick of the two. Keys of both tables compete for its slots. Errors:
  /// invalid_argument if size, shape, decay, seed or tag differ; out_of_space for a copy of the other.
  [[nodiscard]] Result<void> merge(const DecayedTop& other);

  void clear() noexcept;
  void relocate(const Mover& mover) noexcept;

  [[nodiscard]] Params params() const noexcept { return image().params<Params>(); }
  /// What the keys are, as numbered by the creator; 0: not stored.
  [[nodiscard]] std::uint64_t keys_tag() const noexcept { return slice_tag(); }
  /// Slots of the table, and those in use.
  [[nodiscard]] std::uint64_t candidates_capacity() const noexcept { return table_.slots(); }
  [[nodiscard]] std::uint64_t candidates() const noexcept { return table_.count(); }
  [[nodiscard]] std::uint64_t cell_count() const noexcept { return sketch_.cell_count(); }
  [[nodiscard]] unsigned probes_per_key() const noexcept { return sketch_.shape().k; }
  /// The digests, scores and times of a bucket, and the sketch's cells.
  [[nodiscard]] double lines_per_key() const noexcept { return 4.0 + probes_per_key(); }
  [[nodiscard]] double fill_ratio() const noexcept { return sketch_.partitions().ratio(); }
  /// Of sketch and table.
  [[nodiscard]] double keys_estimate() const noexcept {
    return sketch_.partitions().keys() + static_cast<double>(candidates());
  }
  /// The product of the partitions' fills.
  [[nodiscard]] double fpr_estimate() const noexcept { return sketch_.partitions().product(); }

 private:
  static constexpr std::size_t kTick = 0;
  static constexpr std::size_t kSaturations = 1;
  static constexpr std::size_t kNewest = 2;
  static constexpr std::size_t kStateWords = 3;

  /// The first line of the cells: state that changes with them and has no place in the header.
  struct Ledger {
    std::uint64_t late_records;
    KeyTable::State table;
    CutCells cut;  ///< of the sketch
    std::array<std::uint64_t, 4> zeros;
  };
  static_assert(sizeof(Ledger) == kCacheLineBytes);
  struct Shape;

  [[nodiscard]] static Result<Shape> shape_of(const Options& options);
  DecayedTop(Image source, const Shape& shape) noexcept;

  [[nodiscard]] std::uint64_t bound_of(Digest digest) const noexcept;
  [[nodiscard]] DecayedCount count_of(std::uint64_t score) const noexcept;
  // Converts units of the sketch to a score and back, rounded up.
  [[nodiscard]] std::uint64_t score_of(std::uint64_t units) const noexcept;
  [[nodiscard]] std::uint64_t units_of(std::uint64_t score) const noexcept;
  [[nodiscard]] std::int64_t now() const noexcept;

  [[nodiscard]] std::uint64_t score_at(std::int64_t at, std::uint32_t count) noexcept;
  void take_tick(Tick tick) noexcept;
  void scale(std::uint64_t factor_q32) noexcept;
  void add_to_score(std::uint64_t& score, std::uint64_t more) noexcept;
  bool add_to_candidate(Digest digest, std::uint64_t score, std::int64_t at) noexcept;
  void add_to_sketch(Digest digest, std::uint64_t units) noexcept;
  void count_saturations(std::uint64_t cut, std::uint64_t units) noexcept;
  void enter(std::uint32_t slot, const KeyTable::Candidate& candidate) noexcept;
  void add_to_others(Digest digest, std::string_view key, std::uint64_t score, std::int64_t at) noexcept;
  void raise(Digest digest, std::uint64_t bound) noexcept;

  void add_theirs(std::uint32_t slot, const DecayedTop& other) noexcept;
  [[nodiscard]] std::vector<Entry> hottest(std::uint64_t least_score, std::size_t skip, std::size_t most) const;

  [[nodiscard]] Result<void> check_state() const;
  [[nodiscard]] std::unexpected<Error> wrong_at(const void* place, const std::string& what) const;

  Ledger* ledger_;
  DecayedCells sketch_;
  KeyTable table_;
  Duration epoch_;
  // Cached from the image for the fast path of events.
  std::int64_t epoch_begin_ = 0;  ///< the newest epoch, in microseconds since 1970
  std::int64_t epoch_last_ = 0;   ///< its last microsecond
};

extern template class SingleCallFilter<DecayedTop>;

static_assert(BatchFilter<DecayedTop>);
static_assert(DecayedFrequencyFilter<DecayedTop>);
static_assert(MergeableFilter<DecayedTop>);

}  // namespace mankai
