#pragma once

/// Decayed counts of keys: an insertion counts 1, λ an epoch later, λ² after two, and so on.
///
/// A counting filter whose cells are all multiplied by λ at the end of every epoch. An insertion adds to each of the
/// key's k cells, one per partition; the smallest is the estimate. The caller passes the time (`advance`).
///
///     cells: | partition 0: cells_per_probe cells of 8, 16 or 32 bits | partition 1 | … | partition k - 1 | zeros |
///
/// A cell saturates at its largest value. Saturations are counted, and estimates that may be too low are reported as
/// saturated.
///
/// DecayPolicy defines how products with λ are rounded. `fixed-point`, the default, keeps F fraction bits and rounds
/// up: never too low while no cell saturates. F is such that at most 1/64 of a count, 2^-F / (1 - λ), never decays;
/// `create` fails if the cells are too narrow. `floor` is the paper's integers. `ceil` is never too low, but whole
/// counts below 1 / (1 - λ) never decay. `stochastic` is unbiased per cell, with draws that depend only on seed, tick
/// and cell; the smallest of k such cells is slightly too low on average.
///
/// Source:  [Cheng2005] the basic time-decaying Bloom filter. Differs: partitions instead of one array, in which a
///          key's hashes may coincide with undefined effect; λ is a multiple of 2^-32, rounded up; cells saturate,
///          while the text does not define overflow of its 16 bits. Claim 1 there, that a count is never too low, is
///          false for its integers: with floor a cell loses up to 1 per epoch, 1 / (1 - λ) in all (tests).
/// Formula: raw = Σ λ^age, rate = (1 - λ) · raw. False positives (1 - (1 - 1/cells_per_probe)^n)^k with n distinct keys
///          whose counts have not decayed to 0 or, rounded up, to the value that never decays.
/// Cannot:  list its keys (decayed-top does), remove a key, or separate the counts of colliding keys.
/// Tried:   `minimum` as the default rule: it counts fewer collisions, but its cells depend on the order of keys, and
///          the paper has `all`.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "mankai/base/time.hpp"
#include "mankai/filter/concepts.hpp"
#include "mankai/filter/parts/decayed_cells.hpp"
#include "mankai/filter/parts/decaying_counts.hpp"

namespace mankai {

/// See the top of this file, and concepts.hpp for common members. Cost: k cache lines per key; `advance` one pass over
/// the cells for any number of epochs.
class TimeDecayingCounts : public DecayingCounts<TimeDecayingCounts> {
 public:
  static constexpr std::uint16_t kKind = 7;
  static constexpr std::string_view kName = "time-decaying-counts";
  static constexpr Promise kPromise{.no_false_negatives = true, .forgets = true};

  struct Params {
    std::uint64_t lambda_q32;    ///< λ · 2^32
    std::uint64_t epoch_us;      ///< microseconds
    std::uint8_t k;              ///< cells per key
    std::uint8_t width_bits;     ///< of a cell: 8, 16, 32
    std::uint8_t policy;         ///< DecayPolicy
    std::uint8_t rule;           ///< IncrementRule
    std::uint8_t fraction_bits;  ///< a count of 1 adds 2^fraction_bits to a cell
    std::uint8_t is_forced;      ///< accepted although more than 1/64 never decays (fixed-point)
    std::uint16_t reserved;      ///< zero
  };

  /// What to create: sized for a number of distinct keys at a false-positive rate, or by its bytes.
  struct Options {
    std::uint64_t keys = 0;  ///< with bytes: 0 for as many as fit at the rate
    double fpr = 0.01;
    std::uint64_t bytes = 0;       ///< largest size of the cells, at least 64; 0: what the keys need
    std::uint32_t k = 0;           ///< cells per key, at most 64; 0 for ceil(log2(1 / fpr)), with bytes 4
    Decay decay{};                 ///< required
    std::uint32_t width_bits = 0;  ///< 8, 16, 32; 0 for 32 with fixed_point and 16 else
    DecayPolicy policy = DecayPolicy::fixed_point;
    IncrementRule rule = IncrementRule::all;
    std::optional<std::uint32_t> fraction_bits =
        std::nullopt;     ///< fixed_point: instead of the fewest possible (fraction_bits_for)
    bool forced = false;  ///< fixed_point: accept a shape in which more than 1/64 never decays
    HashSpec hash = HashSpec::random();
    Memory memory = system_memory();
  };

  [[nodiscard]] static Result<TimeDecayingCounts> create(const Options& options);
  [[nodiscard]] static Result<TimeDecayingCounts> from_image(Image source);

  /// Every insert counts, also of a present key.
  void insert(Digest digest) noexcept { static_cast<void>(observe(digest)); }
  /// Equals `times` insertions.
  void insert(Digest digest, std::uint32_t times) noexcept;
  /// Inserts an event of an earlier tick with its decayed count, rounded by the policy. A tick after the filter's
  /// counts as the current one: advance first.
  void insert_late(Digest digest, Tick at) noexcept;
  bool observe(Digest digest) noexcept;
  /// Whether the count exceeds the part that never decays: at most 1/64 with fixed_point. Always true after an insert
  /// with ceil.
  [[nodiscard]] bool may_contain(Digest digest) const noexcept { return cells_.is_left(cells_.smallest(digest)); }
  /// Never too low with fixed_point and ceil, unless saturated.
  [[nodiscard]] DecayedCount estimate(Digest digest) const noexcept { return count_of(cells_.smallest(digest)); }

  void insert(std::span<const Digest> digests) noexcept;
  void observe(std::span<const Digest> digests, std::span<bool> seen) noexcept;
  void may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept;
  using DecayingCounts::insert;
  using DecayingCounts::may_contain;
  void estimate(std::span<const Digest> digests, std::span<DecayedCount> counts) const noexcept;

  /// Adds the other filter's counts, both decayed to the later tick, to which this filter advances. Throws bad_alloc,
  /// with only the tick changed, if the other filter's tick is earlier and its cells cannot be copied.
  [[nodiscard]] Result<void> merge(const TimeDecayingCounts& other);

  [[nodiscard]] Params params() const noexcept { return image().params<Params>(); }
  [[nodiscard]] DecayPolicy policy() const noexcept { return cells_.shape().policy; }
  [[nodiscard]] IncrementRule rule() const noexcept { return cells_.shape().rule; }
  [[nodiscard]] unsigned width_bits() const noexcept { return cells_.shape().width_bits; }
  [[nodiscard]] unsigned fraction_bits() const noexcept { return cells_.shape().fraction_bits; }
  /// The largest count that a key can have.
  [[nodiscard]] double largest_count() const noexcept { return cells_.count_of(cells_.largest()); }
  /// The largest count that never decays: 0 with floor and stochastic, and if λ is 0; infinite if λ is 1.
  [[nodiscard]] double stuck_count() const noexcept;
  [[nodiscard]] std::uint64_t cell_count() const noexcept { return cells_.cell_count(); }
  [[nodiscard]] std::uint64_t cells_per_probe() const noexcept { return cells_.shape().cells_per_probe; }
  [[nodiscard]] unsigned probes_per_key() const noexcept { return cells_.shape().k; }
  [[nodiscard]] double lines_per_key() const noexcept { return cells_.shape().k; }

 private:
  friend DecayingCounts;

  TimeDecayingCounts(Image source, const DecayedShape& shape) noexcept;

  [[nodiscard]] DecayedCount count_of(std::uint32_t units) const noexcept;
  void count_inserted(std::uint64_t keys, std::uint64_t cut, std::uint64_t units) noexcept;
  void decay_cells(std::uint64_t now, std::uint64_t epochs) noexcept {
    cells_.decay(now + 1, epochs);
    set_cut_cells(cells_.decayed(cut_cells(), epochs));
  }
  [[nodiscard]] PartitionFill partitions() const noexcept { return cells_.partitions(); }
  std::uint64_t merge_cells(const TimeDecayingCounts& other, std::uint64_t epochs_behind);

  DecayedCells cells_;
};

static_assert(BatchFilter<TimeDecayingCounts>);
static_assert(MergeableFilter<TimeDecayingCounts>);
static_assert(DecayedFrequencyFilter<TimeDecayingCounts>);

}  // namespace mankai
