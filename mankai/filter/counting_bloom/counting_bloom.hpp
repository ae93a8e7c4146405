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
///          become false negatives. Erase only keys known to be present: from an exact source, or by id
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

/// The name used in specs.
[[nodiscard]] constexpr std::string_view name(CountingLayout layout) noexcept {
  return layout == CountingLayout::blocked       ? "blocked"
         : layout == CountingLayout::partitioned ? "partitioned"
                                                 : "dablooms";
}

/// See the top of this file, and concepts.hpp for common members. Cost: one cache line per key, or k in the other
/// layouts.
class CountingBloom : public FlatFilter<CountingBloom> {
 public:
  static constexpr std::uint16_t kKind = 3;
  static constexpr std::string_view kName = "counting-bloom";
  static constexpr Promise kPromise{.no_false_negatives = true};

  struct Params {
    std::uint64_t size;    ///< blocked: blocks; others: counters of each probe
    std::uint32_t k;       ///< counters per key: 8 when blocked
    std::uint32_t layout;  ///< CountingLayout
  };

  struct Options {
    std::uint64_t keys = 0;
    double fpr = 0.01;
    CountingLayout layout = CountingLayout::blocked;
    std::uint32_t k =
        0;  ///< partitioned: probes per key, at most 64, 0 for ceil(log2(1 / fpr)); others: 0, blocked or 8
    HashSpec hash = HashSpec::random();
    Memory memory = system_memory();
    std::uint64_t slice_tag = 0;  ///< set by a growing filter that contains this one
  };

  /// Counters from another program.
  struct Counters {
    std::span<const std::byte> bytes;  ///< two counters per byte, in the order of the cells
    bool is_high_first = false;        ///< the first of the two is in the upper half
    std::uint64_t keys = 0;            ///< insertions less erasures
  };

  [[nodiscard]] static Result<CountingBloom> create(const Options& options);
  /// Builds a filter from existing counters; those at 15 are stuck. Half a byte after the last counter is ignored.
  /// Errors: as create; invalid_argument if the number of bytes does not match the counters.
  [[nodiscard]] static Result<CountingBloom> from_counters(const Options& options, const Counters& counters);
  [[nodiscard]] static Result<CountingBloom> from_image(Image source);

  /// Every insert counts, also of a present key.
  void insert(Digest digest) noexcept { static_cast<void>(observe(digest)); }
  bool observe(Digest digest) noexcept;
  /// Always true if the key was inserted more often than erased.
  [[nodiscard]] bool may_contain(Digest digest) const noexcept { return ops_->may_contain_one(words_, shape_, digest); }
  /// Number of insertions less removals: never too low, saturated from 15 on.
  [[nodiscard]] KeyCount estimate(Digest digest) const noexcept;
  /// Removes a key once, or refuses with nothing changed if it is certainly absent or all its counters are stuck. Erase
  /// only what was inserted: see Cannot above.
  EraseResult erase(Digest digest) noexcept;
  /// As `erase`, but decrements `keys_inserted` only if the key then seems absent: for counting distinct keys, with
  /// `observe_distinct`.
  EraseResult erase_distinct(Digest digest) noexcept;

  /// Prefetches a key's cache line for a change; only in the blocked layout.
  void prefetch(Digest digest) const noexcept;

  void insert(std::span<const Digest> digests) noexcept;
  void insert(std::span<const std::uint64_t> keys) noexcept;
  void observe(std::span<const Digest> digests, std::span<bool> seen) noexcept;
  /// As `observe`, but counts only absent keys in `keys_inserted`.
  void observe_distinct(std::span<const Digest> digests, std::span<bool> seen) noexcept;
  void may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept;
  void may_contain(std::span<const std::uint64_t> keys, std::span<bool> outcomes) const noexcept;
  void estimate(std::span<const Digest> digests, std::span<KeyCount> counts) const noexcept;
  void erase(std::span<const Digest> digests, std::span<EraseResult> results) noexcept;

  /// As AnyFilter's functions of these names.
  [[nodiscard]] std::uint64_t observe_concurrent(std::span<const Digest> digests, std::span<bool> seen) noexcept;
  [[nodiscard]] std::uint64_t erase_concurrent(std::span<const Digest> digests,
                                               std::span<EraseResult> results) noexcept;
  void count_again(std::uint64_t keys) noexcept;

  [[nodiscard]] Result<void> merge(const CountingBloom& other);

  void relocate(const Mover& mover) noexcept {
    image().relocate(mover);
    words_ = image().words().data();
  }

  /// Insertions less erasures, or distinct keys if they were counted so. Too low after erasures of absent keys, but
  /// never below 0.
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept { return FilterBase::keys_inserted(); }
  /// Counters stuck at 15.
  [[nodiscard]] std::uint64_t saturated_cells() const noexcept { return image().state(kSaturatedCells); }

  [[nodiscard]] Params params() const noexcept { return image().params<Params>(); }
  [[nodiscard]] CountingLayout layout() const noexcept { return layout_; }
  /// A word for the growing filter that contains this one; 0 otherwise. Threads: readers beside one writer.
  [[nodiscard]] std::uint64_t slice_state() const noexcept { return image().state(kSliceState); }
  void set_slice_state(std::uint64_t value) noexcept { image().set_state(kSliceState, value); }
  [[nodiscard]] std::uint64_t cell_count() const noexcept;
  [[nodiscard]] unsigned probes_per_key() const noexcept { return shape_.k; }
  [[nodiscard]] double lines_per_key() const noexcept { return layout_ == CountingLayout::blocked ? 1 : shape_.k; }

  [[nodiscard]] double fill_ratio() const noexcept;
  /// Within about 0.5 % for 1e5 keys, better for more.
  [[nodiscard]] double keys_estimate() const noexcept;
  /// The mean over blocks of the product of each lane's fill, or the product of the partitions' fills.
  [[nodiscard]] double fpr_estimate() const noexcept;
  [[nodiscard]] double fpr_expected(std::uint64_t keys) const noexcept;

 private:
  static constexpr std::size_t kSaturatedCells = 0;
  static constexpr std::size_t kSliceState = 1;
  static constexpr std::size_t kStateWords = 2;

  CountingBloom(Image source, const Params& params) noexcept;

  /// Each lane, or each partition, is an array with one probe per key.
  [[nodiscard]] std::uint64_t cells_per_probe() const noexcept;
  void count_inserted(std::uint64_t keys, std::uint64_t stuck) noexcept;
  void count_erased(std::uint64_t keys) noexcept;
  bool insert_absent(Digest digest) noexcept;
  std::uint64_t refuse_stuck(std::span<const Digest> digests, std::span<EraseResult> results) const noexcept;

  // Adjacent, so that a query loads one cache line of the object.
  std::uint64_t* words_;
  kernel::CountShape shape_;
  CountingLayout layout_;
  const kernel::CountOps* ops_;
};

static_assert(BatchFilter<CountingBloom>);
static_assert(MergeableFilter<CountingBloom>);
static_assert(DeletableFilter<CountingBloom>);
static_assert(FrequencyFilter<CountingBloom>);
static_assert(ConcurrentFilter<CountingBloom>);

}  // namespace mankai
