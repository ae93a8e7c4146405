#pragma once

/// Decayed counts of keys: every time counts 1 when it comes, λ an epoch later, λ² after two, and so on.
///
/// A counting filter whose cells are all multiplied by λ whenever an epoch ends. A key adds to each of its k cells; the
/// smallest of them is the estimate. It gets the time (`advance`), and what is inserted belongs to the epoch that it
/// stands at.
///
///     cells: | partition 0: cells_per_probe cells of 8, 16 or 32 bits | partition 1 | … | partition k - 1 | zeros |
///
/// A key has one cell in each partition and never meets one twice. A cell that would grow beyond its largest value
/// keeps that; it is counted, and estimates that it may have made too low say so.
///
/// What a product with a fraction becomes is a choice (DecayPolicy). `fixed-point`, the default, keeps F bits of it and
/// rounds up: a strict count, which is never too low while no cell was at its largest value. Rounding up keeps a little
/// of everything forever, 2^-F / (1 - λ) of a count; F is such that this is at most 1/64, and what cannot be had in
/// the cells' width is refused. `floor` is what the paper's integers do; `ceil` is strict, but in whole numbers, of
/// which those below 1 / (1 - λ) never fade; `stochastic` is right in the mean of a cell, by draws that depend on
/// nothing but seed, tick and cell; the smallest of k such cells is a little too low in the mean.
///
/// Source:  [Cheng2005] the basic time-decaying Bloom filter. Differs: partitions, where there one array is shared; a
///          key's hashes may coincide there, and the text does not say whether the cell is then raised twice. λ is a
///          multiple of 2^-32, rounded up. Claim 1 there, that a count is never too low, is false for the integers it
///          is made of: with floor a cell loses up to 1 an epoch, 1 / (1 - λ) in all (tests). Cells there have 16 bits
///          and the text leaves open what happens beyond; here they saturate.
/// Formula: raw = Σ λ^age, rate = (1 - λ) · raw. False positives (1 - (1 - 1/cells_per_probe)^n)^k with n distinct keys
///          that are left: have not faded to nothing, or, rounded up, to what never fades.
/// Cannot:  list its keys (decayed-top does), take a key out, or tell a count of others' from a key's own.
/// Tried:   `minimum` as the default rule: fewer collisions are counted, but its cells depend on the order of keys, and
///          the paper has `all`.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "mankai/base/time.hpp"
#include "mankai/filter/concepts.hpp"
#include "mankai/filter/parts/cut_cells.hpp"
#include "mankai/filter/parts/decayed_cells.hpp"
#include "mankai/filter/parts/flat_filter.hpp"

namespace mankai {

/// See the top of this file. Cost: k cache lines per key; `advance` a pass over the cells.
/// Threads: any number of readers beside one writer. `advance`, `seal`, `clear`, `merge` and moving need the filter
/// alone.
class TimeDecayingCounts : public FlatFilter<TimeDecayingCounts> {
 public:
  static constexpr std::uint16_t kKind = 7;
  static constexpr std::string_view kName = "time-decaying-counts";
  static constexpr Promise kPromise{.no_false_negatives = true, .forgets = true};

  /// Stored in the image.
  struct Params {
    std::uint64_t lambda_q32;    ///< λ · 2^32
    std::uint64_t epoch_us;      ///< microseconds
    std::uint8_t k;              ///< cells per key
    std::uint8_t width_bits;     ///< of a cell: 8, 16, 32
    std::uint8_t policy;         ///< DecayPolicy
    std::uint8_t rule;           ///< IncrementRule
    std::uint8_t fraction_bits;  ///< of a cell: what a count of 1 adds is 2 to the power of it
    std::uint8_t is_forced;      ///< fixed-point, and what stays forever is more than 1/64
    std::uint16_t reserved;      ///< zero
  };

  /// What to create: sized for so many distinct keys at such a false positive rate, or by its bytes.
  struct Options {
    std::uint64_t keys = 0;  ///< with bytes: 0 for as many as they hold at the rate
    double fpr = 0.01;
    std::uint64_t bytes = 0;       ///< at most so many bytes of cells, at least 64; 0: what the keys need
    std::uint32_t k = 0;           ///< cells per key, at most 64; 0 for ceil(log2(1 / fpr)), with bytes 4
    Decay decay{};                 ///< must be given
    std::uint32_t width_bits = 0;  ///< 8, 16, 32; 0 for 32 with fixed_point and 16 else
    DecayPolicy policy = DecayPolicy::fixed_point;
    IncrementRule rule = IncrementRule::all;
    std::optional<std::uint32_t> fraction_bits =
        std::nullopt;     ///< fixed_point: not as few as do (fraction_bits_for), but so many
    bool forced = false;  ///< fixed_point: also where more than 1/64 would stay forever
    HashSpec hash = HashSpec::random();
    Memory memory = system_memory();
  };

  /// Errors: invalid_argument for an impossible request; out_of_space.
  [[nodiscard]] static Result<TimeDecayingCounts> create(const Options& options);
  /// Takes over an image of this kind. Errors: corrupt; unsupported_version for an unknown policy or rule.
  [[nodiscard]] static Result<TimeDecayingCounts> from_image(Image source);

  /// Goes on to a later tick: every cell fades by as many epochs. An earlier tick changes nothing.
  /// Cost: one pass over the cells, however many epochs (DecayOps). Threads: needs the filter alone.
  void advance(Tick tick) noexcept;
  [[nodiscard]] Tick tick() const noexcept { return {image().state(kTick)}; }
  [[nodiscard]] Duration epoch() const noexcept { return decay().epoch; }
  [[nodiscard]] Decay decay() const noexcept;

  /// Never fails. Every insert counts, also of a key that is in.
  void insert(Digest digest) noexcept { static_cast<void>(observe(digest)); }
  /// The same as so many insertions.
  void insert(Digest digest, std::uint32_t times) noexcept;
  /// Inserts what came at an earlier tick: it counts as it would by now, rounded by the policy, so a strict count
  /// remains one. A tick that has not begun counts as this one: advance first.
  void insert_late(Digest digest, Tick at) noexcept;
  /// Inserts, and returns whether anything of the key was left before, as far as the filter can tell.
  bool observe(Digest digest) noexcept;
  /// Returns whether the key may be left: whether its count is above what never fades, with fixed_point at most 1/64.
  /// With ceil a key never leaves.
  [[nodiscard]] bool may_contain(Digest digest) const noexcept { return cells_.is_left(cells_.smallest(digest)); }
  /// Returns the decayed count of the key: with fixed_point and ceil never too little, unless saturated.
  [[nodiscard]] DecayedCount estimate(Digest digest) const noexcept { return count_of(cells_.smallest(digest)); }

  /// Batches, in order: the fast path. Shape: digests[c] or keys[c], and an outcome for each; may be empty; must not
  /// overlap. Integer keys are hashed as `hasher()` would.
  void insert(std::span<const Digest> digests) noexcept;
  void insert(std::span<const std::uint64_t> keys) noexcept;
  void observe(std::span<const Digest> digests, std::span<bool> seen) noexcept;
  void may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept;
  void may_contain(std::span<const std::uint64_t> keys, std::span<bool> outcomes) const noexcept;
  void estimate(std::span<const Digest> digests, std::span<DecayedCount> counts) const noexcept;

  /// Adds the other filter's counts. Whichever is behind in time is taken as it would be at the other's tick; this one
  /// advances. Errors: invalid_argument when size, shape, decay or seed differ. Throws bad_alloc, having changed
  /// nothing but the tick, when the other is behind and its cells cannot be copied.
  [[nodiscard]] Result<void> merge(const TimeDecayingCounts& other);

  /// Forgets every key, and goes on at its tick.
  void clear() noexcept;

  /// How many times a key was inserted.
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept { return FilterBase::keys_inserted(); }
  /// How often a cell could not hold what was added to it. Estimates that this may have made too low are saturated, and
  /// others as high, until what was lost has faded (CutCells).
  [[nodiscard]] std::uint64_t saturations() const noexcept { return image().state(kSaturations); }

  [[nodiscard]] Params params() const noexcept { return image().params<Params>(); }
  [[nodiscard]] DecayPolicy policy() const noexcept { return cells_.shape().policy; }
  [[nodiscard]] IncrementRule rule() const noexcept { return cells_.shape().rule; }
  [[nodiscard]] unsigned width_bits() const noexcept { return cells_.shape().width_bits; }
  [[nodiscard]] unsigned fraction_bits() const noexcept { return cells_.shape().fraction_bits; }
  /// The largest count of a key.
  [[nodiscard]] double largest_count() const noexcept { return cells_.count_of(cells_.largest()); }
  /// The largest count that never fades: 0 with floor and stochastic, and where λ is 0; infinite where λ is 1.
  [[nodiscard]] double stuck_count() const noexcept;
  /// Without the zeros behind the last.
  [[nodiscard]] std::uint64_t cell_count() const noexcept { return cells_.cell_count(); }
  [[nodiscard]] std::uint64_t cells_per_probe() const noexcept { return cells_.shape().cells_per_probe; }
  [[nodiscard]] unsigned probes_per_key() const noexcept { return cells_.shape().k; }
  /// The cache lines that an operation touches, at most.
  [[nodiscard]] double lines_per_key() const noexcept { return cells_.shape().k; }

  /// Cells that are not 0 over all. Cost: a pass over the cells.
  [[nodiscard]] double fill_ratio() const noexcept;
  /// How many distinct keys are left (may_contain), from the fill. Infinite when no cell is 0. Cost: a pass over the
  /// cells.
  [[nodiscard]] double keys_estimate() const noexcept;
  /// The probability that a key that is not in has a count, from the cells as they are: the product of the partitions'
  /// fills. Cost: a pass over the cells.
  [[nodiscard]] double fpr_estimate() const noexcept;
  /// The rate that the formula gives for so many distinct keys.
  [[nodiscard]] double fpr_expected(std::uint64_t keys) const noexcept;

 private:
  // The words of the image's state.
  static constexpr std::size_t kTick = 0;
  static constexpr std::size_t kSaturations = 1;
  static constexpr std::size_t kCutCells = 2;
  static constexpr std::size_t kStateWords = 3;

  TimeDecayingCounts(Image source, const DecayedShape& shape) noexcept;

  [[nodiscard]] static Result<TimeDecayingCounts> checked(Image source);
  [[nodiscard]] DecayedCount count_of(std::uint32_t units) const noexcept;
  void count_inserted(std::uint64_t keys, std::uint64_t cut, std::uint64_t units) noexcept;
  [[nodiscard]] CutCells cut_cells() const noexcept { return CutCells::of_word(image().state(kCutCells)); }
  void set_cut_cells(CutCells cells) noexcept { image().set_state(kCutCells, cells.word()); }
  [[nodiscard]] Result<void> check_cuts() const;
  std::uint64_t merge_cells(const TimeDecayingCounts& other, std::uint64_t epochs_behind);

  DecayedCells cells_;
};

static_assert(BatchFilter<TimeDecayingCounts>);
static_assert(MergeableFilter<TimeDecayingCounts>);
static_assert(DecayedFrequencyFilter<TimeDecayingCounts>);

}  // namespace mankai
