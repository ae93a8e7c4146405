#pragma once

/// A Bloom filter of 4-bit counters instead of bits, from which keys can be removed.
///
/// Inserting a key increments each of its counters, erasing it decrements them; the key may be present if none of them
/// is 0. A counter that reaches 15 is stuck: its true count is unknown, so it never changes again. Overflow therefore
/// costs a little false-positive rate and never a member. Stuck counters are counted.
///
/// Three layouts:
///   - `blocked` (default): a key's counters are in one cache line. The line of 512 bits has eight lanes of sixteen
///     counters; a key has one in each. Block and lane fields are blocked-bloom's; the upper four of a field's six bits
///     select the counter, so its lowest bit is the field with its lower two bits cleared.
///
///         block: | lane 0: 16 × 4 bits | lane 1 | lane 2 | lane 3 | lane 4 | lane 5 | lane 6 | lane 7 |
///                      ▲ one counter per key in each lane
///
///   - `partitioned`: the classic shape. k partitions of counters, each with one of the key's, anywhere in memory:
///
///         cells: | partition 0: size counters | partition 1 | … | partition k - 1 | zeros up to a whole line |
///
///   - `dablooms`: partitions, sized and addressed as in [Dablooms2012], for importing its files counter by counter
///     (store/dablooms_import.hpp). Its batches are single calls, and its rate is slightly above the target: use
///     another layout for new filters.
///
/// A key's counters are distinct in every layout, so the smallest of them is an upper bound of its count.
///
/// Source:  [Fan2000] counting Bloom filters, 4 bits per counter; the partitioned layout is that of [Dablooms2012].
///          Differs: there a counter that overflowed is decremented later, and erase does not test first: both cause
///          false negatives. Here a counter sticks, and erase is refused if one of the key's counters is 0.
/// Formula: blocked f(n) = Σ_j P[Binomial(n, 1/blocks) = j] · (1 - (15/16)^j)^8, partitioned (1 - (1 - 1/size)^n)^k,
///          n distinct keys. 45.7 and 38.4 bits per key at 1 %.
/// Cannot:  tell a false positive from a member. Erasing a false positive decrements counters of other keys, which may
///          become false negatives. Erase only what is known to have been inserted: from an exact source, or by number
///          (scalable-counting-bloom). Counts of 15 or more are not distinguished, and such keys are never removed.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "mankai/filter/concepts.hpp"
#include "mankai/filter/parts/flat_filter.hpp"
#include "mankai/kernel/count_ops.hpp"

namespace mankai {

/// Where a key's counters are. The values are part of the image format.
enum class CountingLayout : std::uint8_t { blocked = 0, partitioned = 1, dablooms = 2 };

/// Returns the name used in specs.
[[nodiscard]] std::string_view name(CountingLayout layout) noexcept;

/// See the top of this file. Cost: one cache line per key, or k in the other layouts.
/// Threads: any number of readers beside one writer. `seal`, `clear`, `merge` and moving need the filter alone.
class CountingBloom : public FlatFilter<CountingBloom> {
 public:
  static constexpr std::uint16_t kKind = 3;
  static constexpr std::string_view kName = "counting-bloom";
  static constexpr Promise kPromise{.no_false_negatives = true};

  /// Stored in the image.
  struct Params {
    std::uint64_t size;    ///< blocked: blocks; others: counters of each probe
    std::uint32_t k;       ///< counters per key: 8 when blocked
    std::uint32_t layout;  ///< CountingLayout
  };

  /// What to create: sized for so many distinct keys at such a false positive rate.
  struct Options {
    std::uint64_t keys = 0;
    double fpr = 0.01;
    CountingLayout layout = CountingLayout::blocked;
    std::uint32_t k =
        0;  ///< partitioned: probes per key, at most 64, 0 for ceil(log2(1 / fpr)); others: 0, blocked or 8
    HashSpec hash = HashSpec::random();
    Memory memory = system_memory();
    std::uint64_t slice_tag = 0;  ///< of a slice of a growing filter: what that one wants to know; else 0
  };

  /// Counters that another program kept.
  struct Counters {
    std::span<const std::byte> bytes;  ///< two counters in each, in the order of the cells
    bool is_high_first = false;        ///< the first of the two is the upper half
    std::uint64_t keys = 0;            ///< insertions less erasures
  };

  /// Errors: invalid_argument for an impossible request; out_of_space.
  [[nodiscard]] static Result<CountingBloom> create(const Options& options);
  /// Makes such a filter of counters that there are; those that are 15 are stuck from now on. Half a byte behind the
  /// last one is left out. Errors: as create; invalid_argument when there are not as many bytes as the counters take.
  [[nodiscard]] static Result<CountingBloom> from_counters(const Options& options, const Counters& counters);
  /// Takes over an image of this kind. Errors: corrupt; unsupported_version for an unknown layout.
  [[nodiscard]] static Result<CountingBloom> from_image(Image source);

  /// Never fails; past the capacity the false positive rate rises. Every insert counts, also of a key that is in.
  void insert(Digest digest) noexcept { static_cast<void>(observe(digest)); }
  /// Inserts, and returns whether the key was in before, as far as the filter can tell.
  bool observe(Digest digest) noexcept;
  /// Returns whether the key may be in: always true if it was inserted more often than erased.
  [[nodiscard]] bool may_contain(Digest digest) const noexcept { return ops_->may_contain_one(words_, shape_, digest); }
  /// Returns how often the key is in: never too little, and saturated from 15 on.
  [[nodiscard]] KeyCount estimate(Digest digest) const noexcept;
  /// Takes a key out once, or refuses and changes nothing if it is certainly not in. Erase only what was inserted: see
  /// the top of this file. A key whose counters are all stuck remains, and is said to be stuck.
  EraseResult erase(Digest digest) noexcept;
  /// As `erase`, but `keys_inserted` goes down only when the key seems to be in no more: for who counts distinct keys,
  /// with `observe_distinct`.
  EraseResult erase_distinct(Digest digest) noexcept;

  /// Asks for a key's line ahead of a change to it, where it is one: what is done until then is done while it comes.
  void prefetch(Digest digest) const noexcept;

  /// Batches, in order: the fast path. Shape: digests[c] or keys[c], and an outcome for each; may be empty; must not
  /// overlap. Integer keys are hashed in the same pass, as `hasher()` would.
  void insert(std::span<const Digest> digests) noexcept;
  void insert(std::span<const std::uint64_t> keys) noexcept;
  void observe(std::span<const Digest> digests, std::span<bool> seen) noexcept;
  /// As `observe`, but `keys_inserted` goes up only for keys that were not seen before.
  void observe_distinct(std::span<const Digest> digests, std::span<bool> seen) noexcept;
  void may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept;
  void may_contain(std::span<const std::uint64_t> keys, std::span<bool> outcomes) const noexcept;
  void estimate(std::span<const Digest> digests, std::span<KeyCount> counts) const noexcept;
  void erase(std::span<const Digest> digests, std::span<EraseResult> results) noexcept;

  /// Adds the other filter's keys, each as often as it is in there. Errors: invalid_argument when size, shape or seed
  /// differ.
  [[nodiscard]] Result<void> merge(const CountingBloom& other);

  /// Lets the image be moved in memory. Threads: needs the filter alone.
  void relocate(const Mover& mover) noexcept {
    image().relocate(mover);
    words_ = image().words().data();
  }

  /// Insertions less erasures: keys, each as often as it is in, or distinct ones where they were counted so. After
  /// erasures of absent keys it may be too small, but not below 0.
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept { return FilterBase::keys_inserted(); }
  /// How many counters are stuck at 15. Each answers yes forever; where it matters, make the filter anew.
  [[nodiscard]] std::uint64_t saturated_cells() const noexcept { return image().state(kSaturatedCells); }

  [[nodiscard]] Params params() const noexcept { return image().params<Params>(); }
  [[nodiscard]] CountingLayout layout() const noexcept { return layout_; }
  /// A word that a growing filter around this one may keep here; 0 for a filter on its own. Threads: readers beside one
  /// writer.
  [[nodiscard]] std::uint64_t slice_state() const noexcept { return image().state(kSliceState); }
  void set_slice_state(std::uint64_t value) noexcept { image().set_state(kSliceState, value); }
  /// Counters, without the zeros behind the last.
  [[nodiscard]] std::uint64_t cell_count() const noexcept;
  [[nodiscard]] unsigned probes_per_key() const noexcept { return shape_.k; }
  /// The cache lines that an operation touches, at most.
  [[nodiscard]] double lines_per_key() const noexcept { return layout_ == CountingLayout::blocked ? 1 : shape_.k; }

  /// Counters that are not 0 over all. Cost: a pass over the cells.
  [[nodiscard]] double fill_ratio() const noexcept;
  /// How many distinct keys are in, from the fill; within about 0.5 % for 1e5 keys and better for more. Infinite when
  /// no counter is 0. Cost: a pass over the cells.
  [[nodiscard]] double keys_estimate() const noexcept;
  /// The probability that a key that is not in is answered yes, from the cells as they are: the mean over blocks of the
  /// product of each lane's fill, or the product of the partitions' fills. Cost: a pass over the cells.
  [[nodiscard]] double fpr_estimate() const noexcept;
  /// The rate that the formula gives for so many distinct keys.
  [[nodiscard]] double fpr_expected(std::uint64_t keys) const noexcept;

 private:
  // The words of the image's state.
  static constexpr std::size_t kSaturatedCells = 0;
  static constexpr std::size_t kSliceState = 1;
  static constexpr std::size_t kStateWords = 2;

  CountingBloom(Image source, const Params& params) noexcept;

  /// Each lane, or each partition, is an array of its own with one probe a key.
  [[nodiscard]] std::uint64_t cells_per_probe() const noexcept;
  void count_inserted(std::uint64_t keys, std::uint64_t stuck) noexcept;
  void count_erased(std::uint64_t keys) noexcept;
  std::uint64_t refuse_stuck(std::span<const Digest> digests, std::span<EraseResult> results) const noexcept;

  // Kept beside each other, so that a query loads one line of the filter's own.
  std::uint64_t* words_;
  kernel::CountShape shape_;
  CountingLayout layout_;
  const kernel::CountOps* ops_;
};

static_assert(BatchFilter<CountingBloom>);
static_assert(MergeableFilter<CountingBloom>);
static_assert(DeletableFilter<CountingBloom>);
static_assert(FrequencyFilter<CountingBloom>);

}  // namespace mankai
