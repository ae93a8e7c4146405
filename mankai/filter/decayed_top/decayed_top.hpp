#pragma once

/// The hottest keys: decayed counts of all keys, and the names of those with the highest counts, in a bounded image.
///
/// Two structures share the work. A table holds the keys that seem hottest, with their bytes and a counter of their
/// own; a sketch holds an upper bound for all other keys, in cells that keys share. Both decay by λ at the start of
/// every epoch.
///
///     cells: | ledger, a line | k partitions of cells_per_probe cells of 32 bits | buckets of 448 bytes | arena |
///
/// Buckets and arena are the table (key_table.hpp).
///
/// An event of a key in the table is added to its score only. For any other key it is added to the smallest of the
/// key's k cells, and cells below that sum are raised to it (conservative update); the key enters the table when this
/// bound exceeds the lowest score of the 16 slots of its bucket. The evicted key's cells are raised to its score. So
/// the bound of every key, in the table or not, is never too low, and hot keys, which would inflate the cells that they
/// share, are not in the sketch.
///
/// Cells hold multiples of 2^-F up to 2^(32-F), scores hold multiples of 2^-28 up to 2^34. Decay rounds up. F is such
/// that what never decays, 2^-F / (1 - λ), is at most 1/64.
///
/// An event before the current epoch is late and counts λ^age, rounded up. In the table that is a multiple of 2^-28, so
/// a million negligible events add at most 1/256. In the sketch it is a multiple of 2^-F, which adds up; but a key
/// whose bound exceeds the lowest score of its bucket is in the table from then on. So late events do not raise a key
/// above hotter keys that are listed.
///
/// Source:  [Estan2002] conservative update; [Roy2016] a table before a sketch. Differs: both decay; a key that leaves
///          the table raises its cells instead of adding to them, which conservative cells allow; keys keep their
///          bytes. [Cheng2005] for decaying cells; theirs round down.
/// Formula: a key outside the table is overestimated if all its cells are shared: at most (1 - (1 -
///          1/cells_per_probe)^n)^k for n such keys; the error is lower, since only the smallest cells grow.
/// Cannot:  list a key that was not hot enough at its last event, or name a key that was only passed as a digest.
/// Tried:   scores as coarse as cells: half a million events of three years ago ranked above a thousand of today, as
///          each counted 2^-13. One shared remainder for the late events of all keys, added to every bound: then the
///          late events of one key raise all. Ignoring what counts less than about 2^-40: then a count can be too low.
///          Writing every event to the sketch as well: 48 instead of 34 ns per event on Zipf 1.2 (2e6 events of 3e5
///          keys, 256 KiB), and estimates of keys outside the table are 3 % higher. A table of more or less than a
///          quarter: at 256 KiB on Zipf 1.0, an eighth finds 80 % of the top 500, a quarter 99 %, half all of them,
///          while the mean excess over all keys grows from 4.2 to 5.1 to 8.3; the top 100 are found by each.

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

/// See the top of this file. Cost: two to four lines for a key in the table, k more for another; no allocation.
/// Threads: const calls beside each other; changes need the filter alone.
class DecayedTop : public SingleCallFilter<DecayedTop> {
 public:
  static constexpr std::uint16_t kKind = 13;
  static constexpr std::string_view kName = "decayed-top";
  static constexpr Promise kPromise{.no_false_negatives = true, .forgets = true};

  /// No more of a key's bytes is kept, and less where the arena is small; two keys with one beginning stay two.
  static constexpr std::size_t kMostKeyBytes = KeyTable::kMostKeyBytes;
  /// The most events of a key that are counted at once.
  static constexpr std::uint32_t kMostAtOnce = ~std::uint32_t{0};

  /// Stored in the image.
  struct Params {
    std::uint64_t lambda_q32;
    std::uint64_t epoch_us;
    std::uint32_t buckets;
    std::uint8_t k;
    std::uint8_t fraction_bits;
    std::uint8_t key_units;   ///< room in the arena, a candidate, in units of 8 bytes
    std::uint8_t score_bits;  ///< scores are in units of 2^-score_bits: 28
  };

  /// What to create: as large an image as `bytes`, or a sketch for `keys` distinct keys in a few half-lives at the rate
  /// `fpr` of overestimates, and a table beside it.
  struct Options {
    std::uint64_t keys = 0;
    double fpr = 0.01;
    std::uint64_t bytes = 0;       ///< the whole image is at most so large; 0: sized by keys
    std::uint32_t candidates = 0;  ///< keys in the table; 0: so many that they take a quarter of the cells
    std::uint32_t k = 0;           ///< cells per key, at most 64; 0 for 4
    std::uint32_t key_bytes = 0;   ///< room for a key's bytes, on the average; 0 for 48
    Decay decay{};
    std::uint64_t keys_tag = 0;  ///< says what the keys are, such as paths or hosts, as the caller numbers it
    HashSpec hash = HashSpec::random();
    Memory memory = system_memory();
  };

  /// One of the hottest keys. The key's bytes are the filter's: they stand until it is changed.
  struct Entry {
    std::string_view key;
    DecayedCount count;
    Time last_seen;
    bool is_cut = false;  ///< the key is longer; these are its first bytes
  };

  /// Errors: invalid_argument for an impossible request; out_of_space.
  [[nodiscard]] static Result<DecayedTop> create(const Options& options);
  /// Returns the size of the image that create would make. Errors: invalid_argument, as create's.
  [[nodiscard]] static Result<std::uint64_t> image_bytes_of(const Options& options);
  /// Takes over an image of this kind. Errors: corrupt.
  [[nodiscard]] static Result<DecayedTop> from_image(Image source);

  /// Counts a key `count` times, at a time: later than the filter's epoch advances it, earlier counts for what is left
  /// of it. As many single events, at the cost of one: in a sketch full of others it says no more, and may say less.
  /// Pre: `digest` is hasher()(key), checked when the key enters the table; of a key of more than kMostKeyBytes one
  /// byte more than that will do. count >= 1.
  void insert(Digest digest, std::string_view key, Time at, std::uint32_t count = 1) noexcept;
  /// Batch, in order. Shape: digests[c], keys[c], times[c].
  void insert(std::span<const Digest> digests, std::span<const std::string_view> keys,
              std::span<const Time> times) noexcept;

  /// Counts a key now, without its bytes: it is counted, but never enters the table.
  void insert(Digest digest) noexcept { static_cast<void>(observe(digest)); }
  /// As insert; returns whether the key had been seen before, as far as the filter can tell.
  bool observe(Digest digest) noexcept;
  using SingleCallFilter::insert;
  using SingleCallFilter::observe;

  /// Whether more is left of a key than what never fades, at most 1/64.
  [[nodiscard]] bool may_contain(Digest digest) const noexcept { return sketch_.is_left(units_of(bound_of(digest))); }
  using SingleCallFilter::may_contain;

  /// The decayed count of a key at the filter's tick: never too little, unless it says that it is saturated.
  [[nodiscard]] DecayedCount estimate(Digest digest) const noexcept { return count_of(bound_of(digest)); }
  using SingleCallFilter::estimate;

  /// The hottest keys of the table, at most `most` behind the first `skip`, hottest first, equal ones by their bytes.
  /// Cost: a pass over the table and a sort of those that are returned. Throws bad_alloc.
  [[nodiscard]] std::vector<Entry> top(std::size_t most, std::size_t skip = 0) const;
  /// All keys of the table whose count is at least `min_raw`, in the same order.
  [[nodiscard]] std::vector<Entry> above(double min_raw) const;

  /// Fades everything, once for each epoch since the filter's. Cost: a pass over sketch and table.
  void advance(Tick tick) noexcept;
  /// As advance, but many epochs at once: what is left is rounded up a few times instead of at each of them. So counts
  /// are still never too low, at most 1e-4 of themselves above those that advance leaves, and often below them, but not
  /// the same to the last bit: where two filters must be alike, both leap from one tick to the other. Cost: at most
  /// eight passes over sketch and table, however long the time.
  void leap(Tick tick) noexcept;
  [[nodiscard]] Tick tick() const noexcept { return {image().state(kTick)}; }
  [[nodiscard]] Duration epoch() const noexcept { return epoch_; }
  [[nodiscard]] Decay decay() const noexcept { return {.lambda_q32 = sketch_.shape().lambda_q32, .epoch = epoch_}; }
  /// The time of the newest event; 1970 before the first one. Events before 1970 are taken as of 1970.
  [[nodiscard]] Time newest() const noexcept;
  /// Events that came after one of a later epoch.
  [[nodiscard]] std::uint64_t late_records() const noexcept { return ledger_->late_records; }
  /// How often a cell could not hold what was added to it. Estimates that this may have made too low are saturated, as
  /// in time-decaying-counts; scores hold far more and are cut never.
  [[nodiscard]] std::uint64_t saturations() const noexcept { return image().state(kSaturations); }

  /// Adds the other filter's counts, at the later tick of the two. Keys of both tables compete for the places.
  /// Errors: invalid_argument when size, shape, decay or seed differ, or the tags of both; out_of_space for a copy of
  /// the other.
  [[nodiscard]] Result<void> merge(const DecayedTop& other);

  /// Forgets every key; the tick stays.
  void clear() noexcept;
  /// Lets the image be moved in memory. Threads: needs the filter alone.
  void relocate(const Mover& mover) noexcept;

  [[nodiscard]] Params params() const noexcept { return image().params<Params>(); }
  /// What the keys are, as whoever created the filter numbers it; 0: not stored.
  [[nodiscard]] std::uint64_t keys_tag() const noexcept { return slice_tag(); }
  /// Keys that the table has room for, and how many are in it.
  [[nodiscard]] std::uint64_t candidates_capacity() const noexcept { return table_.slots(); }
  [[nodiscard]] std::uint64_t candidates() const noexcept { return table_.count(); }
  /// Cells of the sketch.
  [[nodiscard]] std::uint64_t cell_count() const noexcept { return sketch_.cell_count(); }
  [[nodiscard]] unsigned probes_per_key() const noexcept { return sketch_.shape().k; }
  /// The digests, scores and times of a bucket, and the sketch's cells.
  [[nodiscard]] double lines_per_key() const noexcept { return 4.0 + probes_per_key(); }
  /// The sketch's cells that are not 0 over all. Cost: a pass over the sketch.
  [[nodiscard]] double fill_ratio() const noexcept { return sketch_.partitions().ratio(); }
  /// How many distinct keys are in the sketch and the table, from the fill. Infinite when no cell is 0.
  [[nodiscard]] double keys_estimate() const noexcept {
    return sketch_.partitions().keys() + static_cast<double>(candidates());
  }
  /// The probability that a key that never came is answered yes: the product of the partitions' fills.
  [[nodiscard]] double fpr_estimate() const noexcept { return sketch_.partitions().product(); }

 private:
  // The words of the image's state.
  static constexpr std::size_t kTick = 0;
  static constexpr std::size_t kSaturations = 1;
  static constexpr std::size_t kNewest = 2;
  static constexpr std::size_t kStateWords = 3;

  /// The first line of the cells: what changes with them and has no place in the header.
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
  // What a sketch's units are as a score, and back, rounded up.
  [[nodiscard]] std::uint64_t score_of(std::uint64_t units) const noexcept;
  [[nodiscard]] std::uint64_t units_of(std::uint64_t score) const noexcept;
  [[nodiscard]] std::int64_t now() const noexcept;

  // Events: what one counts for, and where it goes.
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
  // Known from the image, kept so that an event does not have to find it out.
  std::int64_t epoch_begin_ = 0;  ///< the newest epoch, in microseconds since 1970
  std::int64_t epoch_last_ = 0;   ///< its last microsecond
};

extern template class SingleCallFilter<DecayedTop>;

static_assert(BatchFilter<DecayedTop>);
static_assert(DecayedFrequencyFilter<DecayedTop>);
static_assert(MergeableFilter<DecayedTop>);

}  // namespace mankai
