#pragma once

/// Decayed counts of keys as in time-decaying-counts, in tiers of counters that share their high digits, which only few
/// keys need.
///
/// Tier 0 has a counter of w bits for each cell, tier 1 one for every 2^a of those, and so on: the parent of counter i
/// is counter i >> a of the next tier. A counter that exceeds 2^w - 1 wraps to 0 and carries 1 to its parent. The value
/// of a cell is that of its path: Σ digit_j · 2^(w j), from the bottom to the top, 32 bits in all.
///
///     tier 2: |               3               |               0               | …    w = 4, a = 1
///     tier 1: |       0       |       2       |       1       |       0       | …
///     tier 0: |   7   |   0   |   4   |  15   |   2   |   9   |   0   |   1   | …
///                                 ▲ 3 · 256 + 2 · 16 + 4
///
///     cells: | tier 0: k partitions | tier 1: k partitions | … | zeros |     each tier from a whole word on
///
/// With equally many cells, a key's cells are those of time-decaying-counts. A parent counts the carries of all its
/// children, so a path is never too low. The carries of its siblings make it too high: the price of no pool and no
/// links.
///
/// **Decay** runs from the top down. The target of a counter p is t = λ p + the remainder from its parent. It becomes
/// ⌊t⌋, and the remainder 2^w (t - ⌊t⌋) is added to each of its children. If a child could not hold that, p becomes
/// ⌈t⌉, and 2^w (⌈t⌉ - t) is subtracted from each child, which borrows from its own children if it has less. At the
/// bottom the policy rounds; a borrow that is impossible there is dropped, which rounds up. So the path of the largest
/// value under a parent decays as an integer does, and its neighbors never fall below what they share with it. All
/// computation is exact in units of 2^-32.
///
/// The rule `downwards` subtracts nothing from children: another reading of the paper, which never undercounts either.
/// But a path with two digits hardly decays, since its lower digit must be near 0 before the upper one can be rounded
/// down; docs/filters/time_decaying_tiered_counts.md has an example.
///
/// Source:  [Cheng2005] §1, the "exponential" time-decaying Bloom filter: "a series of basic TBFs as components, each
///          responsible for a small group of bits in a large counter". The paper describes it no further: parents,
///          carry and decay are ours. Partitions and λ as in time-decaying-counts.
/// Formula: with c cells in tier 0, w c Σ_j 2^(-a j) bits: 5.33 per cell with w = 4, a = 2. A path is never below the
///          cell of time-decaying-counts with the floor policy and 32 bits, and with ceil never below the exact count.
/// Cannot:  decay very slowly: λ is at most 1 - 2^-12, or 1, since counters depend on each other and skipped epochs are
///          computed one by one. Separate neighbors: a key with 1e6 insertions raises the 2^a - 1 neighbors of each of
///          its counters to 1e6 less the low digit. Keys with such a neighbor in each of their k partitions are
///          overcounted.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "mankai/base/time.hpp"
#include "mankai/filter/concepts.hpp"
#include "mankai/filter/parts/decayed_cells.hpp"
#include "mankai/filter/parts/decaying_counts.hpp"
#include "mankai/filter/parts/packed_fields.hpp"
#include "mankai/filter/parts/whole_decay.hpp"

namespace mankai {

/// What happens to the remainder when a parent is rounded. The values are part of the image format.
enum class RemainderRule : std::uint8_t {
  both_ways = 0,  ///< added to the children if the parent is rounded down, subtracted from them if up
  downwards = 1,  ///< added to the children if the parent is rounded down, dropped if up
};

/// The name used in specs.
[[nodiscard]] constexpr std::string_view name(RemainderRule rule) noexcept {
  return rule == RemainderRule::both_ways ? "both-ways" : "downwards";
}

/// See the top of this file, and concepts.hpp for common members. Cost: k · 32 / w cache lines per key, of which all
/// but k are nearly always in the cache. `advance` passes over the cells, and per epoch over the counters below each
/// nonzero one, until all are 0 or constant. Threads: any number of readers, or one writer alone: a carry is not
/// atomic.
class TimeDecayingTieredCounts : public DecayingCounts<TimeDecayingTieredCounts> {
 public:
  static constexpr std::uint16_t kKind = 9;
  static constexpr std::string_view kName = "time-decaying-tiered-counts";
  static constexpr Promise kPromise{.no_false_negatives = true, .forgets = true};

  struct Params {
    std::uint64_t lambda_q32;       ///< λ · 2^32
    std::uint64_t epoch_us;         ///< microseconds
    std::uint32_t cells_per_probe;  ///< of tier 0
    std::uint8_t k;                 ///< cells per key
    std::uint8_t width_bits;        ///< w: 4 or 8
    std::uint8_t shrink_bits;       ///< a: at most 8
    std::uint8_t rounding;          ///< 1 DecayPolicy floor, 2 ceil; plus 16 with RemainderRule downwards
  };

  /// What to create: sized for a number of distinct keys at a false-positive rate, or by its cells.
  struct Options {
    std::uint64_t keys = 0;  ///< with counters: 0 for as many as fit at the rate
    double fpr = 0.01;
    std::uint64_t counters = 0;     ///< in tier 0, rounded down to a multiple of k; 0: what the keys need
    std::uint32_t k = 0;            ///< cells per key, at most 64; 0 for ceil(log2(1 / fpr)), with counters 4
    std::uint32_t width_bits = 4;   ///< of a counter: 4 or 8
    std::uint32_t shrink_bits = 2;  ///< 2^shrink_bits counters per parent; at most 8
    Decay decay;
    DecayPolicy policy = DecayPolicy::floor;  ///< or ceil, which never undercounts
    RemainderRule remainder = RemainderRule::both_ways;
    HashSpec hash = HashSpec::random();
    Memory memory = system_memory();
  };

  [[nodiscard]] static Result<TimeDecayingTieredCounts> create(const Options& options);
  [[nodiscard]] static Result<TimeDecayingTieredCounts> from_image(Image source);

  /// Every insert counts, also of a present key.
  void insert(Digest digest) noexcept;
  using DecayingCounts::insert;
  [[nodiscard]] bool may_contain(Digest digest) const noexcept { return smallest(digest) != 0; }
  /// Never too low with ceil, unless saturated.
  [[nodiscard]] DecayedCount estimate(Digest digest) const noexcept {
    const std::uint64_t value = smallest(digest);
    return decayed_count(value, decay(), cut_cells().may_concern(value));
  }
  using DecayingCounts::estimate;
  using DecayingCounts::may_contain;

  [[nodiscard]] Params params() const noexcept { return image().params<Params>(); }
  [[nodiscard]] DecayPolicy policy() const noexcept { return rounds_up_ ? DecayPolicy::ceil : DecayPolicy::floor; }
  [[nodiscard]] RemainderRule remainder() const noexcept {
    return takes_back_ ? RemainderRule::both_ways : RemainderRule::downwards;
  }
  [[nodiscard]] unsigned tier_count() const noexcept { return tier_count_; }
  [[nodiscard]] std::uint64_t tier_counters(unsigned tier) const noexcept { return tiers_[tier].count(); }
  [[nodiscard]] std::uint64_t cell_count() const noexcept { return tiers_[0].count(); }
  [[nodiscard]] std::uint64_t cells_per_probe() const noexcept { return cells_per_probe_; }
  [[nodiscard]] unsigned probes_per_key() const noexcept { return k_; }
  [[nodiscard]] double lines_per_key() const noexcept { return static_cast<double>(k_) * tier_count_; }

 private:
  friend DecayingCounts<TimeDecayingTieredCounts>;
  friend SingleCallFilter<TimeDecayingTieredCounts>;

  static constexpr std::size_t kMaxTiers = 8;

  /// A counter: its tier, its index in its partition, and the partition.
  struct Node {
    unsigned tier;
    std::uint64_t at;
    std::uint32_t probe;
  };
  /// Indices of a counter's children in the tier below.
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
  void decay_cells(std::uint64_t now, std::uint64_t epochs) noexcept;

  void fade_tree(const Node& root, std::uint64_t epochs) noexcept;
  bool fade_once(const Node& node, std::int64_t rest_q32) noexcept;
  [[nodiscard]] bool can_hold(const Node& node, std::uint64_t target_q32) const noexcept;
  [[nodiscard]] bool can_take(const Node& node, std::uint64_t rest_q32) const noexcept;
  [[nodiscard]] std::uint64_t count_nonzero(const Node& node) const noexcept;
  /// Fill of nonzero paths, including those that share a parent with a frequent key.
  [[nodiscard]] PartitionFill partitions() const noexcept;

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

extern template class SingleCallFilter<TimeDecayingTieredCounts>;

static_assert(BatchFilter<TimeDecayingTieredCounts>);
static_assert(DecayedFrequencyFilter<TimeDecayingTieredCounts>);

}  // namespace mankai
