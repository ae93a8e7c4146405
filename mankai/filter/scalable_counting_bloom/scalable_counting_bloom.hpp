#pragma once

/// A counting Bloom filter that grows, and from which keys are removed by id.
///
/// Sub-filters (slices) are counting filters, each larger and stricter than the one before, as in scalable-bloom.
/// Removing a key requires its slice: if another slice answers yes, the counters there belong to other keys. So every
/// key has an id, such as its time of insertion or a sequence number, every slice owns a range of ids, and the same id
/// removes the key. Ids need be neither unique nor dense, and should not decrease by much.
///
///     slice 0: ids 0 ‥ 6312     slice 1: ids 6312 ‥ 20108     slice 2: ids 20109 ‥      (the newest: no upper bound)
///                       └── equal ids continue to count: the boundary id may be in both
///
/// Insert:  the key goes into the newest slice whose first id is at most the key's. If that is the newest of all and
///          full, a new slice opens with this id as its first. A key with an older id goes into an older slice, which
///          accepts up to twice its capacity; its rate rises, and `overfilled_slices` counts it. Beyond that a new
///          slice with the same first id opens and owns the range from then on. So ids in any order scale;
///          docs/filters/scalable_counting_bloom.md has the rates.
/// Erase:   candidates are the slices whose range has the id; without an id, all of them. The key is removed if exactly
///          one of them may hold it; otherwise nothing changes, and the result is absent or ambiguous. Ambiguity is
///          rare: two slices that share a boundary id, or overlap after a merge or late ids, must both answer yes. Only
///          a key that was inserted twice under one id, on both sides of a boundary, is certainly in both, and stays
///          ambiguous.
/// Count:   every insert counts, also of a present key (counting-bloom): it must be removed as often.
/// Oldest:  callers without ids change the filter only by `observe_in_oldest` and `erase_from_oldest`: a key is counted
///          in the oldest slice that may hold it, and in the newest if none does. Counting a key in a slice that
///          already answers yes creates no new false positive. So answers of slices before the newest only change from
///          yes to no, and all of a key's counts are in the oldest slice that may hold it. No answer is ambiguous, and
///          repeated keys use no capacity: slices count distinct keys.
/// Source:  [Dablooms2012], grown after [Almeida2007]. The faithful mode is the partitioned layout with growth 1.
///          Differs: dablooms opens a filter only for an id above the greatest so far, removes without a test,
///          decrements counters that overflowed, and grows by constant steps; docs/filters/scalable_counting_bloom.md
///          has the effects.
/// Formula: rates as in growth.hpp, slices' as counting-bloom's.
/// Cannot:  detect absent keys better than counting-bloom: erasing a key that was not inserted corrupts the slice of
///          its id at that slice's false-positive rate.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "mankai/filter/concepts.hpp"
#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "mankai/filter/parts/growing_filter.hpp"
#include "mankai/filter/parts/growth.hpp"

namespace mankai {

/// See the top of this file, and concepts.hpp for common members. Cost: one cache line per slice for a miss, newest
/// slice first; one for an insert and for an erase by id.
class ScalableCountingBloom : public GrowingFilter<ScalableCountingBloom, CountingBloom> {
 public:
  static constexpr std::uint16_t kKind = 5;
  static constexpr std::string_view kName = "scalable-counting-bloom";
  static constexpr Promise kPromise{.no_false_negatives = true};
  /// kMaxId + 1 marks the end of a range.
  static constexpr std::uint64_t kMaxId = ~std::uint64_t{0} - 1;

  struct Params {
    std::uint64_t tightening_bits;  ///< of a double
    std::uint32_t growth_factor;
    std::uint16_t bound;   ///< FprBound
    std::uint16_t layout;  ///< CountingLayout of the slices
    std::uint64_t first_id;
  };

  struct Options {
    std::uint64_t keys = 0;  ///< capacity of the first slice
    double fpr = 0.01;
    Growth growth = {};
    CountingLayout layout = CountingLayout::blocked;
    std::uint64_t first_id = 0;  ///< inserting a lower id fails; at most kMaxId
    HashSpec hash = HashSpec::random();
    Memory memory = system_memory();
  };

  [[nodiscard]] static Result<ScalableCountingBloom> create(const Options& options);
  /// Assembles a filter from slices in the order in which they were opened. Each is for `options.keys` times a power of
  /// the growth, with the options' layout and hash. Its slice_tag is its first id, its slice_state its last id + 1. A
  /// slice may be stricter than growth makes it. Errors: invalid_argument for slices that the filter cannot have;
  /// out_of_space.
  [[nodiscard]] static Result<ScalableCountingBloom> from_slices(const Options& options,
                                                                 std::vector<CountingBloom> slices);
  [[nodiscard]] Result<ScalableCountingBloom> create_like(const Memory& memory = system_memory()) const;

  [[nodiscard]] Params params() const noexcept { return kind_params<Params>(); }
  [[nodiscard]] Growth growth() const noexcept;
  [[nodiscard]] CountingLayout layout() const noexcept { return static_cast<CountingLayout>(params().layout); }

  /// Errors: invalid_argument for an id below every slice's first or above kMaxId.
  [[nodiscard]] Result<void> check_id(std::uint64_t id) const {
    return first_id() <= id && id <= kMaxId ? Result<void>() : refuse_id(id);
  }
  /// Errors: invalid_argument, as check_id; std::bad_alloc if a slice cannot be allocated. Both leave the filter
  /// unchanged. Beyond the last possible slice the false-positive rate rises instead.
  [[nodiscard]] Result<void> insert(Digest digest, std::uint64_t id);
  /// Inserts under `next_id()`. Errors: std::bad_alloc, as above.
  void insert(Digest digest);
  bool observe(Digest digest);
  /// The sum over slices: never too low; saturated if one slice's count is.
  [[nodiscard]] KeyCount estimate(Digest digest) const noexcept;
  /// Removes a key once from the slice that owns its id, or refuses (see Erase above).
  EraseResult erase(Digest digest, std::uint64_t id) noexcept;
  /// Removes a key from the only slice that may hold it, whatever its id was; refuses if several may.
  EraseResult erase(Digest digest) noexcept;

  /// Removes a key once from the oldest slice that may hold it (see Oldest above). Erasing an absent key corrupts that
  /// slice at its false-positive rate.
  EraseResult erase_from_oldest(Digest digest) noexcept;

  /// Prefetches a key's cache line in the slice that owns the id.
  void prefetch(Digest digest, std::uint64_t id) const noexcept;

  /// After std::bad_alloc the keys before the failing one have been inserted.
  void insert(std::span<const Digest> digests);
  using GrowingFilter::insert;
  /// Returns how many keys were refused for their ids; inserts the others. Fastest if neighbors share a slice.
  [[nodiscard]] std::size_t insert(std::span<const Digest> digests, std::span<const std::uint64_t> ids);
  void observe(std::span<const Digest> digests, std::span<bool> seen);
  /// Counts each key in the oldest slice that may hold it, else in the newest (see Oldest above). `seen` also covers
  /// earlier keys of the same batch.
  void observe_in_oldest(std::span<const Digest> digests, std::span<bool> seen);
  void estimate(std::span<const Digest> digests, std::span<KeyCount> counts) const noexcept;
  void erase(std::span<const Digest> digests, std::span<EraseResult> results) noexcept;
  void erase(std::span<const Digest> digests, std::span<const std::uint64_t> ids,
             std::span<EraseResult> results) noexcept;

  /// Adopts the other filter's slices that have any ids, with their ids; the slice of the highest generation with room
  /// becomes the newest. Where ranges overlap, an erase queries each. The rates add up: at most twice the target.
  /// Errors: invalid_argument if seeds, growth or first ids differ, or there would be too many slices; out_of_space,
  /// with both unchanged.
  [[nodiscard]] Result<void> merge(const ScalableCountingBloom& other);
  /// Removes all keys, ids and slices but the first. Does not free the image that the filter was opened from.
  void clear() noexcept;

  [[nodiscard]] std::uint64_t first_id() const noexcept { return params().first_id; }
  /// The id given to the next key without one: max_id() + 1, or the first id; never beyond kMaxId.
  [[nodiscard]] std::uint64_t next_id() const noexcept;
  /// How many keys with ids from the newest slice's first on can be inserted before the next slice is allocated.
  [[nodiscard]] std::size_t room() const noexcept;
  /// The greatest id so far; first_id() if none.
  [[nodiscard]] std::uint64_t max_id() const noexcept;
  /// The range of a slice: its last id is the greatest inserted so far, or the first if none.
  [[nodiscard]] std::uint64_t slice_first_id(std::size_t index) const noexcept { return slices()[index].slice_tag(); }
  [[nodiscard]] std::uint64_t slice_last_id(std::size_t index) const noexcept;
  /// Slices above their capacity, due to late keys with old ids.
  [[nodiscard]] std::size_t overfilled_slices() const noexcept;
  [[nodiscard]] std::uint64_t saturated_cells() const noexcept;

  [[nodiscard]] unsigned probes_per_key() const noexcept;
  [[nodiscard]] double lines_per_key() const noexcept;
  /// For a filter grown from empty with rising ids.
  [[nodiscard]] double fpr_expected(std::uint64_t keys) const noexcept;

 private:
  friend class GrowingFilter<ScalableCountingBloom, CountingBloom>;
  using GrowingFilter::GrowingFilter;

  /// The slice for a key, and how many keys fit into it.
  struct Place {
    std::size_t slice;
    std::size_t room;
  };

  static Result<void> check_options(const Options& options);
  static Result<ScalableCountingBloom> assemble(const Options& options, std::vector<CountingBloom> slices);
  static Result<void> check_header(const ImageHeader& header);
  static Result<void> check_slice(const ImageHeader& outer, const CountingBloom& slice, std::size_t index);

  [[nodiscard, gnu::cold]] Result<void> refuse_id(std::uint64_t id) const;
  [[nodiscard]] bool owns(std::size_t slice, std::uint64_t id) const noexcept;
  [[nodiscard]] std::size_t newest_from(std::uint64_t id) const noexcept;
  [[nodiscard]] std::size_t sole_owner(std::uint64_t id) const noexcept;
  bool open_slice(std::uint64_t first_id);
  Place place_for(std::uint64_t id);
  void note_ids(std::size_t slice, std::uint64_t greatest) noexcept;
  std::size_t observe_older(std::span<const Digest> digests, std::span<bool> seen);
  std::size_t observe_newest(std::span<const Digest> digests, std::span<bool> seen);

  std::uint64_t next_id_ = next_id();  // cached: an insert need not read every slice
};

static_assert(BatchFilter<ScalableCountingBloom>);
static_assert(MergeableFilter<ScalableCountingBloom>);
static_assert(DeletableFilter<ScalableCountingBloom>);
static_assert(FrequencyFilter<ScalableCountingBloom>);
static_assert(NumberedFilter<ScalableCountingBloom>);

}  // namespace mankai
