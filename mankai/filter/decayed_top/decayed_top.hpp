#pragma once

/// The hottest keys: decayed counts of all keys, and the names of those with the highest counts, in a bounded image.
///
/// A table counts the keys that seem hottest, one counter each. A sketch has an upper bound for all others, in cells
/// that keys share. The keys with the highest counts of the table have names: their bytes.
///
///     cells: | ledger, a line | table: a line per bucket | sketch: lines | names: directory, arena |
///               hot_table.hpp ──┴──────────────────────────┘               names.hpp
///
/// Nothing decays when time passes: an event at tick t weighs λ^-t, and a query at tick u divides by λ^-u
/// (forward_decay.hpp). A bucket and a line of the sketch have one exponent each, and are halved when a sum does not
/// fit (rescaled_line.hpp). So an epoch costs nothing, and is not rounded.
///
/// An event of a key in the table is added to its count there. Any other event is added to the lower of the key's two
/// cells, and the other is raised to that sum if it is below (conservative update). If the sum exceeds the lowest count
/// of the key's bucket by more than an event, the key enters the table, and the evicted key's cells are raised to its
/// count. So the bound of every key is never too low, and hot keys do not inflate the cells of the sketch.
///
/// A filter with a window counts instead of decaying: its cells are nine panes of the layout above, one per eighth of
/// the window, with λ = 1. A tick is a pane, and advancing clears the panes that leave the window. An event is counted
/// in the pane of its time, and a key's count is the sum over the panes. Shape and seed are equal, so a bucket and a
/// tag stand for the same key in each.
///
/// Strict counts are rounded up. Balanced ones are rounded at random, up with a probability of their fraction, in
/// narrower counters: their error is half as large, and some are below the truth.
///
/// A slot without a name gets one at an event, if its count exceeds the bar: the highest count whose name was dropped
/// for lack of room. So the N names are those of the N hottest keys, wherever they are in the table.
///
/// Source:  [Cormode2009] forward decay; [Estan2002] conservative update; [Roy2016] a table before a sketch. Differs:
///          the sketch decays; a key that leaves the table raises its cells instead of adding to them, which
///          conservative cells allow.
/// Formula: a key outside the table is overestimated if both its cells are shared: at most (1 - (1 - 1/m)^2n)^2 with m
///          cells and n such keys; the error is lower, since only the smaller cell grows.
/// Limits:  lists no key that was only passed as a digest. Late events are rounded up to a unit of their cells, at most
///          an event: half a million of them that weigh nothing raise the mean error of other keys by 8 % in 256 KiB.
///          A window splits the memory nine ways, and errors of panes add up. It moves by a pane: a strict count is
///          that of the window and of what is left of the ninth pane; a balanced one has the estimated share of it.
/// Tried:   docs/dead-ends.md.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/filter/concepts.hpp"
#include "mankai/filter/decayed_top/hot_table.hpp"
#include "mankai/filter/decayed_top/names.hpp"
#include "mankai/filter/parts/forward_decay.hpp"
#include "mankai/filter/parts/single_call_filter.hpp"

namespace mankai {

/// How counts are rounded: strict ones up, never below the truth; balanced ones dithered, with the smallest error. A
/// balanced count may be too low, so a key may be a false negative.
enum class CountRounding : std::uint8_t { strict, balanced };
/// The names used in specs.
inline constexpr std::array<std::string_view, 2> kCountRoundingNames = {"strict", "balanced"};
[[nodiscard]] constexpr std::string_view name(CountRounding rounding) noexcept {
  return kCountRoundingNames[static_cast<std::size_t>(rounding)];
}

/// See the top of this file, and concepts.hpp for common members. Cost: a cache line for a key in the table and two of
/// its name, two more than the first for another key. Threads: const calls are safe together; changes need the filter
/// alone.
class DecayedTop : public SingleCallFilter<DecayedTop> {
 public:
  static constexpr std::uint16_t kKind = 13;
  static constexpr std::string_view kName = "decayed-top";
  /// Of strict counts.
  static constexpr Promise kPromise{.no_false_negatives = true, .forgets = true};

  /// A name has at most so many bytes of a key, fewer if there is little room for names. Keys with a common prefix of
  /// that length remain two keys.
  static constexpr std::size_t kMostKeyBytes = Names::kMostKeyBytes;
  /// Largest `count` of one insert.
  static constexpr std::uint32_t kMostAtOnce = ~std::uint32_t{0};

  /// Panes of a window. One more is partly in it.
  static constexpr std::uint32_t kPanesOfWindow = 8;

  struct Params {
    /// Set in `buckets` of balanced counts, and of a window.
    static constexpr std::uint32_t kBalanced = 1U << 31;
    static constexpr std::uint32_t kWindow = 1U << 30;

    std::uint64_t lambda_q32;
    std::uint64_t epoch_us;
    std::uint32_t buckets;
    std::uint32_t names_lines;

    [[nodiscard]] constexpr bool is_balanced() const noexcept { return (buckets & kBalanced) != 0; }
    [[nodiscard]] constexpr std::uint32_t bucket_count() const noexcept { return buckets & ~(kBalanced | kWindow); }
    [[nodiscard]] constexpr std::uint32_t panes() const noexcept {
      return (buckets & kWindow) != 0 ? kPanesOfWindow + 1 : 1;
    }
  };

  /// What to create: the largest image within `bytes`; or, for `keys` distinct keys in a few half-lives, a sketch with
  /// an overestimate rate of `fpr`, at least 1e-4, and a table. With a window, each pane is as large as that; the rates
  /// add up to `fpr` if a pane has a third of the keys.
  struct Options {
    std::uint64_t keys = 0;
    double fpr = 0.01;
    std::uint64_t bytes = 0;  ///< limit of the whole image; 0: sized by keys
    std::uint32_t names = 0;  ///< room for so many names of 48 bytes; 0: an eighth of the image, 12 KiB if that is more
    CountRounding rounding = CountRounding::strict;
    Decay decay{};               ///< unused with a window
    Duration window{};           ///< counts the last `window`, a multiple of 8 us, instead of decaying; 0: none
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
  /// its decayed rest, or nothing if it is older than the panes of a window. Costs as much as one event; the bound is
  /// about that of `count` single events, or lower. Pre: count >= 1; `digest` is hasher()(key), checked when the key
  /// gets a name; of a longer key, its first kMostKeyBytes + 1 bytes suffice.
  void insert(Digest digest, std::string_view key, Time at, std::uint32_t count = 1) noexcept;
  /// Shape: digests[c], keys[c], times[c].
  void insert(std::span<const Digest> digests, std::span<const std::string_view> keys,
              std::span<const Time> times) noexcept;

  /// Counts a key now by its digest alone: the key gets no name.
  void insert(Digest digest) noexcept { static_cast<void>(observe(digest)); }
  bool observe(Digest digest) noexcept;
  using SingleCallFilter::insert;
  using SingleCallFilter::observe;

  /// Whether the decayed count exceeds 1/64.
  [[nodiscard]] bool may_contain(Digest digest) const noexcept;
  using SingleCallFilter::may_contain;

  /// As of now, the newest event or a later tick.
  [[nodiscard]] DecayedCount estimate(Digest digest) const noexcept;
  /// As of a time, or of now if that is later.
  [[nodiscard]] DecayedCount estimate(Digest digest, Time at) const noexcept;
  using SingleCallFilter::estimate;

  /// The hottest keys with names, hottest first, equal ones sorted by bytes: at most `most` after the first `skip`, as
  /// of a time. Cost: a pass over the names (a window: of all panes, sorted) and a sort of those that are returned.
  /// Throws bad_alloc.
  [[nodiscard]] std::vector<Entry> top(std::size_t most, std::size_t skip = 0, Time at = Time()) const;
  /// All keys with names whose count is at least `min_raw`, in that order.
  [[nodiscard]] std::vector<Entry> above(double min_raw, Time at = Time()) const;

  /// Cost: none, but a pass over table and sketch once per million half-lives. A window clears the new panes, at most
  /// all of them.
  void advance(Tick tick) noexcept;
  [[nodiscard]] Tick tick() const noexcept { return {image().state(kTick)}; }
  [[nodiscard]] Duration epoch() const noexcept { return epoch_; }
  [[nodiscard]] CountRounding rounding() const noexcept { return rounding_; }
  /// Zero without a window.
  [[nodiscard]] Duration window() const noexcept { return pane_count_ == 1 ? Duration() : epoch_ * kPanesOfWindow; }
  /// With a window, λ is 1 and an epoch is a pane.
  [[nodiscard]] Decay decay() const noexcept { return {.lambda_q32 = params().lambda_q32, .epoch = epoch_}; }
  /// Time of the newest event; 1970 before the first one. Events before 1970 count as at 1970.
  [[nodiscard]] Time newest() const noexcept;
  /// Events that arrived after one of a later epoch.
  [[nodiscard]] std::uint64_t late_records() const noexcept { return panes_[0].ledger->late_records; }

  /// Adds the other filter's counts, at the later tick of the two. Keys of both compete for slots and names. Errors:
  /// invalid_argument if size, shape, decay, seed or tag differ; out_of_space for a copy of the other.
  [[nodiscard]] Result<void> merge(const DecayedTop& other);

  void clear() noexcept;
  void relocate(const Mover& mover) noexcept;

  [[nodiscard]] Params params() const noexcept { return image().params<Params>(); }
  /// What the keys are, as numbered by the creator; 0: not stored.
  [[nodiscard]] std::uint64_t keys_tag() const noexcept { return slice_tag(); }
  /// Room for names of 48 bytes, and the number of names; of a pane with the most.
  [[nodiscard]] std::uint64_t names_capacity() const noexcept;
  [[nodiscard]] std::uint64_t names() const noexcept;
  [[nodiscard]] std::uint64_t cell_count() const noexcept;
  [[nodiscard]] unsigned probes_per_key() const noexcept { return kRows; }
  /// A bucket, an entry of the directory, a record; or a bucket and two lines.
  [[nodiscard]] double lines_per_key() const noexcept { return 3; }
  [[nodiscard]] double fill_ratio() const noexcept;
  /// Of sketch and table. With a window, a key counts once per pane.
  [[nodiscard]] double keys_estimate() const noexcept;
  /// An absent key's probability that both its cells are in use, or a tag of its bucket is its own, in any pane.
  [[nodiscard]] double fpr_estimate() const noexcept;

 private:
  /// Cells of a key.
  static constexpr std::uint32_t kRows = 2;
  static constexpr std::size_t kTick = 0;
  static constexpr std::size_t kNewest = 1;
  static constexpr std::size_t kStateWords = 2;

  /// The first line of the cells, or of a pane: state that changes with them and has no place in the header.
  struct Ledger {
    std::uint64_t late_records;  ///< of all panes, in the first one
    Names::State names;
    std::uint64_t bar_count;
    std::int32_t bar_exponent;
    std::uint32_t zero;
    std::int64_t base_octave;
    std::uint64_t draws;  ///< state of dithered rounding
    std::array<std::uint64_t, 2> zeros;
  };
  static_assert(sizeof(Ledger) == kCacheLineBytes);
  /// Where the parts of a pane are in the words; without a window, there is one.
  struct Pane {
    Ledger* ledger = nullptr;
    std::span<std::byte> lines;  ///< of table and sketch
    Names names;

    [[nodiscard]] Scaled bar() const noexcept { return {ledger->bar_count, ledger->bar_exponent}; }
    void raise_bar(Scaled count) const noexcept;
    void clear() noexcept;
  };
  struct Event {
    Pane* pane;  ///< nullptr: older than the window
    Scaled one;
    Scaled all;
  };
  /// The time of a query, which may be after that of the filter.
  struct AsOf {
    ForwardWeight weight;
    std::int64_t octave;
    std::uint64_t new_panes;  ///< empty ones after the newest
    double oldest_share;      ///< that counts, of the oldest pane of a window
  };

  struct Shape;
  [[nodiscard]] static Result<Shape> shape_of(const Options& options);
  DecayedTop(Image source, const Params& params) noexcept;
  void attach_to_words() noexcept;

  template <class Use>
  auto with_table(const Pane& pane, const Use& use) const {
    if (rounding_ == CountRounding::balanced) {
      HotTable<BalancedCounts> table(pane.lines, buckets_, &pane.ledger->draws);
      return use(table);
    }
    HotTable<StrictCounts> table(pane.lines, buckets_, &pane.ledger->draws);
    return use(table);
  }
  [[nodiscard]] std::size_t index_of(std::uint64_t age) const noexcept {
    return newest_ >= age ? newest_ - age : newest_ + pane_count_ - age;
  }
  /// Calls use(pane, share of it that counts), the newest pane first.
  template <class Use>
  void for_each_pane(const AsOf& as, const Use& use) const {
    for (std::uint64_t age = as.new_panes; age < pane_count_; ++age) {
      use(panes_[index_of(age - as.new_panes)], age == kPanesOfWindow ? as.oldest_share : 1);
    }
  }
  [[nodiscard]] std::span<const Pane> panes() const noexcept { return std::span(panes_).first(pane_count_); }

  static Time time_of(std::uint64_t microseconds) noexcept {
    return Time(Duration(static_cast<std::int64_t>(microseconds)));
  }
  [[nodiscard]] AsOf as_of(Time at) const noexcept;
  [[nodiscard]] HotPlace place_of(Digest digest) const noexcept;
  static double value_of(Scaled count, const AsOf& as) noexcept;
  [[nodiscard]] double raw_of(HotPlace place, const AsOf& as) const noexcept;
  [[nodiscard]] DecayedCount count_of(double raw) const noexcept;
  /// 1/64 of an event now.
  [[nodiscard]] Scaled faint() const noexcept;
  [[nodiscard]] double fill_of(const Pane& pane) const noexcept;
  [[nodiscard]] std::uint32_t rank_of(Scaled count) const noexcept;
  [[nodiscard]] std::int64_t now() const noexcept;

  void take_tick(Tick tick) noexcept;
  void rebase(std::int64_t base_octave) noexcept;
  [[nodiscard]] std::int64_t relative(std::int64_t octave) const noexcept;
  [[nodiscard]] Event event_at(std::int64_t at, std::uint32_t count) noexcept;
  template <class Table>
  std::uint32_t add(Table& table, Digest digest, const Event& event) noexcept;
  template <class Table>
  void give_name(Pane& pane, Table& table, std::uint32_t slot, std::string_view key, std::int64_t at) noexcept;

  template <class Table>
  void name_again(Table& table, std::size_t pane, std::array<const DecayedTop*, 2> sources);

  struct Ranked;
  [[nodiscard]] std::vector<Entry> hottest(double least, std::size_t skip, std::size_t most, Time at) const;

  [[nodiscard]] Result<void> check_state() const;
  [[nodiscard]] Result<void> check_pane(const Pane& pane) const;
  [[nodiscard]] std::unexpected<Error> wrong_at(const void* place, const std::string& what) const;

  CountRounding rounding_;
  std::uint32_t buckets_;
  std::uint32_t names_lines_;
  std::uint32_t pane_count_;
  Duration epoch_;
  ForwardDecay decay_;
  std::array<Pane, kPanesOfWindow + 1> panes_;  ///< that of a tick is tick modulo pane_count_
  std::size_t newest_ = 0;                      ///< the newest tick's
  // Cached for the fast path of events.
  std::int64_t epoch_begin_ = 0;  ///< the newest epoch, in microseconds since 1970
  std::int64_t epoch_last_ = 0;   ///< its last microsecond
  ForwardWeight weight_;          ///< of the newest epoch
  std::int32_t octave_ = 0;       ///< the relative one
};

extern template class SingleCallFilter<DecayedTop>;

static_assert(BatchFilter<DecayedTop>);
static_assert(DecayedFrequencyFilter<DecayedTop>);
static_assert(MergeableFilter<DecayedTop>);

}  // namespace mankai
