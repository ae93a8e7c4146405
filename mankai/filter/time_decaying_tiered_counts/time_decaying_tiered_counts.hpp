#pragma once

/// Decayed counts of keys, as time-decaying-counts does, in tiers of counters that share their high
/// digits: only few keys come so often that they need them.
///
/// Tier 0 has a counter of w bits for each cell, tier 1 one for every 2^a of those, and so on: the parent of counter i
/// is counter i >> a of the next tier. A counter that passes 2^w - 1 starts again at 0 and adds 1 to its parent. The
/// value of a cell is that of its path: Σ digit_j · 2^(w j), from the bottom to the top, 32 bits in all.
///
///     tier 2: |               3               |               0               | …    w = 4, a = 1
///     tier 1: |       0       |       2       |       1       |       0       | …
///     tier 0: |   7   |   0   |   4   |  15   |   2   |   9   |   0   |   1   | …
///                                 ▲ 3 · 256 + 2 · 16 + 4
///
///     cells: | tier 0: k partitions | tier 1: k partitions | … | zeros |     each tier from a whole word on
///
/// With as many of them, a key's cells are where time-decaying-counts has them. A parent counts the carries of all its
/// children, so a path is never too low; what it counts of others makes it too high, which is the price for having no
/// pool and no links.
///
/// **Decay** needs no keys. From the top down a counter p that is to become t = λ p + what its own parent leaves it
/// becomes ⌊t⌋, and the rest, 2^w (t - ⌊t⌋), goes to each of its children; where one of them could not hold that, it
/// becomes ⌈t⌉, and 2^w (⌈t⌉ - t) is taken from each of its children, who take it from theirs where they have less. At
/// the bottom the policy rounds, and what cannot be taken there is a gift. So the path of the largest value under a
/// parent fades as a whole number does, and its neighbors no further down than what they share with it. All of it is
/// computed in units of 2^-32, the same everywhere.
///
/// The rule `downwards` takes nothing from the children. It is the reading that we first made of the paper, and strict,
/// too; but a path with two digits hardly fades, since its lower digit must be near 0 before the upper one can be
/// rounded down. 300 with λ = 0.9 is 286 after ten epochs and 149 after thirty, where 102 and 8 are right; with the
/// policy ceil it stays at 298 forever, where 10 is what cannot fade any more (tests).
///
/// Source:  [Cheng2005] §1, the "exponential" time-decaying Bloom filter: "a series of basic TBFs as components, each
///          responsible for a small group of bits in a large counter". It is named there and nowhere described; which
///          counter is whose parent, the carry and the decay are ours. Partitions and λ as in time-decaying-counts.
/// Formula: with c cells in tier 0, w c Σ_j 2^(-a j) bits: 5.33 a cell with w = 4, a = 2. A path is never below what a
///          cell of time-decaying-counts has with the floor policy and 32 bits, nor with ceil below the exact count.
/// Cannot:  fade very slowly: λ is at most 1 - 2^-12, or 1, since epochs that are skipped are computed one by one where
///          counters hang together. Keep neighbors apart: a key that came 1e6 times lifts 2^a - 1 others beside each
///          of its counters to 1e6 less the low digit. Keys with one such neighbor in each of their k partitions are
///          overcounted.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "mankai/base/time.hpp"
#include "mankai/filter/concepts.hpp"
#include "mankai/filter/parts/cut_cells.hpp"
#include "mankai/filter/parts/decayed_cells.hpp"
#include "mankai/filter/parts/flat_filter.hpp"
#include "mankai/filter/parts/packed_fields.hpp"

namespace mankai {

/// What becomes of the difference when a parent is rounded. The values are part of the image format.
enum class RemainderRule : std::uint8_t {
  both_ways = 0,  ///< it goes to the children when the parent is rounded down, and is taken from them when up
  downwards = 1,  ///< it goes to the children when the parent is rounded down, and is a gift when up
};

/// Returns the name used in specs.
[[nodiscard]] std::string_view name(RemainderRule rule) noexcept;

/// See the top of this file. Cost: k · 32 / w cache lines per key, of which all but k are nearly always in the cache.
/// Threads: any number of readers, or one writer alone: a carry is seen in halves.
class TimeDecayingTieredCounts : public FlatFilter<TimeDecayingTieredCounts> {
 public:
  static constexpr std::uint16_t kKind = 9;
  static constexpr std::string_view kName = "time-decaying-tiered-counts";
  static constexpr Promise kPromise{.no_false_negatives = true, .forgets = true};

  /// Stored in the image.
  struct Params {
    std::uint64_t lambda_q32;       ///< λ · 2^32
    std::uint64_t epoch_us;         ///< microseconds
    std::uint32_t cells_per_probe;  ///< of tier 0
    std::uint8_t k;                 ///< cells per key
    std::uint8_t width_bits;        ///< w: 4 or 8
    std::uint8_t shrink_bits;       ///< a: at most 8
    std::uint8_t rounding;          ///< 1 DecayPolicy floor, 2 ceil; plus 16 with RemainderRule downwards
  };

  /// What to create: sized for so many distinct keys at such a false positive rate, or by its cells.
  struct Options {
    std::uint64_t keys = 0;  ///< with counters: 0 for as many as they hold at the rate
    double fpr = 0.01;
    std::uint64_t counters = 0;     ///< so many in tier 0, less what k does not divide; 0: what the keys need
    std::uint32_t k = 0;            ///< cells per key, at most 64; 0 for ceil(log2(1 / fpr)), with counters 4
    std::uint32_t width_bits = 4;   ///< of a counter: 4 or 8
    std::uint32_t shrink_bits = 2;  ///< a parent for 2 to the power of it, at most 8
    Decay decay;
    DecayPolicy policy = DecayPolicy::floor;  ///< or ceil, with which nothing is ever undercounted
    RemainderRule remainder = RemainderRule::both_ways;
    HashSpec hash = HashSpec::random();
    Memory memory = system_memory();
  };

  /// Errors: invalid_argument for an impossible request; out_of_space.
  [[nodiscard]] static Result<TimeDecayingTieredCounts> create(const Options& options);
  /// Takes over an image of this kind. Errors: corrupt; unsupported_version for an unknown policy or rule.
  [[nodiscard]] static Result<TimeDecayingTieredCounts> from_image(Image source);

  /// Goes on to a later tick: every counter fades by as many epochs. An earlier tick changes nothing.
  /// Cost: a pass over the cells; and for each epoch one over the counters below one that is not 0, until it is, or
  /// nothing changes any more.
  void advance(Tick tick) noexcept;
  [[nodiscard]] Tick tick() const noexcept { return {image().state(kTick)}; }
  [[nodiscard]] Duration epoch() const noexcept { return decay().epoch; }
  [[nodiscard]] Decay decay() const noexcept;

  /// Never fails. Every insert counts, also of a key that is in.
  void insert(Digest digest) noexcept;
  /// Inserts, and returns whether anything of the key was left before, as far as the filter can tell.
  bool observe(Digest digest) noexcept;
  /// Returns whether anything of the key may be left.
  [[nodiscard]] bool may_contain(Digest digest) const noexcept { return smallest(digest) != 0; }
  /// Returns the decayed count of the key: with ceil never too little, unless saturated.
  [[nodiscard]] DecayedCount estimate(Digest digest) const noexcept { return count_of(smallest(digest)); }

  /// Batches, in order: the fast path. Shape: digests[c] or keys[c], and an outcome for each; may be empty; must not
  /// overlap. Integer keys are hashed as `hasher()` would.
  void insert(std::span<const Digest> digests) noexcept;
  void insert(std::span<const std::uint64_t> keys) noexcept;
  void observe(std::span<const Digest> digests, std::span<bool> seen) noexcept;
  void may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept;
  void may_contain(std::span<const std::uint64_t> keys, std::span<bool> outcomes) const noexcept;
  void estimate(std::span<const Digest> digests, std::span<DecayedCount> counts) const noexcept;

  /// Forgets every key, and goes on at its tick.
  void clear() noexcept;

  /// How many times a key was inserted.
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept { return FilterBase::keys_inserted(); }
  /// How often a path had no room for one more. Estimates that this may have made too low are saturated, and others as
  /// high, until what was lost has faded (CutCells).
  [[nodiscard]] std::uint64_t saturations() const noexcept { return image().state(kSaturations); }

  [[nodiscard]] Params params() const noexcept { return image().params<Params>(); }
  [[nodiscard]] DecayPolicy policy() const noexcept { return rounds_up_ ? DecayPolicy::ceil : DecayPolicy::floor; }
  [[nodiscard]] RemainderRule remainder() const noexcept {
    return takes_back_ ? RemainderRule::both_ways : RemainderRule::downwards;
  }
  /// Tiers: 32 bits in digits of w.
  [[nodiscard]] unsigned tier_count() const noexcept { return tier_count_; }
  /// Counters of a tier, and the bytes that they take.
  [[nodiscard]] std::uint64_t tier_counters(unsigned tier) const noexcept { return tiers_[tier].count(); }
  /// Those of tier 0.
  [[nodiscard]] std::uint64_t cell_count() const noexcept { return tiers_[0].count(); }
  [[nodiscard]] std::uint64_t cells_per_probe() const noexcept { return cells_per_probe_; }
  [[nodiscard]] unsigned probes_per_key() const noexcept { return k_; }
  /// The cache lines that an operation touches, at most.
  [[nodiscard]] double lines_per_key() const noexcept { return static_cast<double>(k_) * tier_count_; }

  /// Paths that are not 0 over all. Cost: a pass over the cells; also of those below.
  [[nodiscard]] double fill_ratio() const noexcept;
  /// How many distinct keys have not faded to nothing, from the fill: too many by those that share a parent with one
  /// that came often. Infinite when no path is 0.
  [[nodiscard]] double keys_estimate() const noexcept;
  /// The probability that a key that is not in has a count, from the cells as they are: the product of the partitions'
  /// fills.
  [[nodiscard]] double fpr_estimate() const noexcept;
  /// The rate that the formula gives for so many distinct keys none of which came 2^w times.
  [[nodiscard]] double fpr_expected(std::uint64_t keys) const noexcept;

 private:
  // The words of the image's state.
  static constexpr std::size_t kTick = 0;
  static constexpr std::size_t kSaturations = 1;
  static constexpr std::size_t kCutCells = 2;
  static constexpr std::size_t kStateWords = 3;

  static constexpr std::size_t kMaxTiers = 8;

  /// A counter: its tier, its number in its partition, and the partition.
  struct Node {
    unsigned tier;
    std::uint64_t at;
    std::uint32_t probe;
  };
  /// The counters below one, of the tier before.
  struct Children {
    std::uint64_t begin;
    std::uint64_t end;
  };

  TimeDecayingTieredCounts(Image source, const Params& params) noexcept;

  [[nodiscard]] std::uint64_t number(const Node& node) const noexcept {
    return node.probe * per_probe_[node.tier] + node.at;
  }
  [[nodiscard]] std::uint64_t digit(const Node& node) const noexcept { return tiers_[node.tier][number(node)]; }
  [[nodiscard]] Children children_of(const Node& node) const noexcept;
  [[nodiscard]] std::uint64_t largest_digit() const noexcept { return (std::uint64_t{1} << width_bits_) - 1; }

  template <class Visit>
  void for_each_cell(Digest digest, const Visit& visit) const;
  [[nodiscard]] std::uint64_t path_value(const Node& cell) const noexcept;
  bool raise(const Node& cell) noexcept;
  [[nodiscard]] std::uint64_t smallest(Digest digest) const noexcept;
  void prefetch(Digest digest) const noexcept;
  template <class Do>
  void for_each_ahead(std::span<const Digest> digests, const Do& act) const;
  [[nodiscard]] CutCells cut_cells() const noexcept { return CutCells::of_word(image().state(kCutCells)); }
  void set_cut_cells(CutCells cells) noexcept { image().set_state(kCutCells, cells.word()); }
  [[nodiscard]] DecayedCount count_of(std::uint64_t value) const noexcept;

  void fade_tree(const Node& root, std::uint64_t epochs) noexcept;
  bool fade_once(const Node& node, std::int64_t rest_q32) noexcept;
  [[nodiscard]] bool can_hold(const Node& node, std::uint64_t target_q32) const noexcept;
  [[nodiscard]] bool can_take(const Node& node, std::uint64_t rest_q32) const noexcept;
  [[nodiscard]] std::uint64_t count_nonzero(const Node& node) const noexcept;
  [[nodiscard]] std::uint64_t count_nonzero(std::uint32_t probe) const noexcept;

  std::uint64_t lambda_q32_;
  std::uint64_t cells_per_probe_;
  std::uint32_t k_;
  unsigned width_bits_;
  unsigned shrink_bits_;
  unsigned tier_count_;
  bool rounds_up_;
  bool takes_back_;
  std::array<std::uint64_t, kMaxTiers> per_probe_{};
  std::array<PackedFields, kMaxTiers> tiers_;
};

static_assert(BatchFilter<TimeDecayingTieredCounts>);
static_assert(DecayedFrequencyFilter<TimeDecayingTieredCounts>);

}  // namespace mankai
