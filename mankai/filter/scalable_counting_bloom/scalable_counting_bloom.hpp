#pragma once

/// A counting Bloom filter that grows, and from which keys are removed by id.
///
/// Slices are counting filters, each larger and stricter than the one before, as in scalable-bloom. Removing a key
/// needs its slice: another slice that answers yes has a false positive, whose counters belong to other keys. So every
/// key has an id, such as its time of insertion or a sequence number, every slice owns a range of ids, and the same id
/// removes the key. Ids need be neither unique nor dense, and should not decrease by much.
///
///     slice 0: ids 0 ‥ 6312     slice 1: ids 6312 ‥ 20108     slice 2: ids 20109 ‥      (the newest takes what comes)
///                       └── equal ids go on counting: the boundary id may be in both
///
/// Insert:  the key goes into the newest slice whose first id is not above the key's. If that is the newest of all, and
///          full, a new slice opens, and this id is its first. A key with an older id goes into an older slice, which
///          takes up to twice its capacity; its rate rises, and `overfilled_slices` counts it. Beyond that a new slice
///          with the same first id opens and takes the range from then on. So ids in any order scale:
///          20 000 keys in room for 1000 at 1 % take 5 slices at 0.8 % if ids rise, 7.9 % if they fall, 5.8 % in no
///          order and 1.8 % if every tenth is late; without growth (s = 1) 20 at 1.0 % and 32 %, 15 at 26 %, 19 at 3.4
///          %.
/// Erase:   candidates are the slices whose range has the id; without an id, all of them. The key is removed if exactly
///          one of them may hold it; otherwise nothing changes, and the result is absent or ambiguous. Ambiguity is
///          rare: two slices that share a boundary id, or overlap after a merge or late ids, must both answer yes. Only
///          a key that was inserted twice under one id, on both sides of a boundary, is certainly in both, and stays
///          ambiguous. If keys are inserted again under their id after d inserts, d keys per boundary stay.
/// Count:   every insert counts, also of a key that is present (counting-bloom): it is removed as often.
/// Oldest:  callers without ids use only `observe_in_oldest` and `erase_from_oldest` to change the filter: a key is
///          counted in the oldest slice that may hold it, and in the newest if none does. Counting a key in a slice
///          that already answers yes creates no new false positive; so answers of slices before the newest only change
///          from yes to no, and all of a key's counts are in the oldest slice that may hold it. No answer is ambiguous,
///          and repeated keys use no capacity: slices count distinct keys.
/// Source:  [Dablooms2012], grown after [Almeida2007]. The faithful mode is the partitioned layout with growth 1.
///          Differs: there
///   - a new filter opens only for an id above the greatest so far, so equal ids never scale: 20 000 keys of one
///     timestamp in a filter for 1000 end with a rate of 1;
///   - removing does not look whether the key is in: removing 300 absent keys from 900 keys loses 476 of them;
///   - a counter that overflows stays at 15 and is decremented later: 20 additions of a key and 19 removals lose it;
///   - growth is constant, so a miss at 50 times the first capacity queries 51 filters with 1683 probes in all; here
///     growth is a factor, 2 by default, and that takes 6 slices with a line each.
/// Formula: rates as in growth.hpp, slices' as counting-bloom's.
/// Cannot:  detect absent keys better than counting-bloom: erasing a key that was not inserted corrupts the slice of
/// its
///          id at that slice's false-positive rate.

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

/// See the top of this file. Cost: one cache line per slice for a miss, newest slice first; an insert touches one, an
/// erase by id one.
class ScalableCountingBloom : public GrowingFilter<ScalableCountingBloom, CountingBloom> {
 public:
  static constexpr std::uint16_t kKind = 5;
  static constexpr std::string_view kName = "scalable-counting-bloom";
  static constexpr Promise kPromise{.no_false_negatives = true};
  /// The greatest id there can be; the one above marks an end.
  static constexpr std::uint64_t kMaxId = ~std::uint64_t{0} - 1;

  /// Stored in the image.
  struct Params {
    std::uint64_t tightening_bits;  ///< of a double
    std::uint32_t growth_factor;
    std::uint16_t bound;   ///< FprBound
    std::uint16_t layout;  ///< CountingLayout of the slices
    std::uint64_t first_id;
  };

  /// What to create.
  struct Options {
    std::uint64_t keys = 0;  ///< of the first slice
    double fpr = 0.01;
    Growth growth = {};
    CountingLayout layout = CountingLayout::blocked;
    std::uint64_t first_id = 0;  ///< lower ids are refused; at most kMaxId
    HashSpec hash = HashSpec::random();
    Memory memory = system_memory();
  };

  /// Errors: invalid_argument for an impossible request; out_of_space.
  [[nodiscard]] static Result<ScalableCountingBloom> create(const Options& options);
  /// Makes one of slices that there are, in the order in which they were opened: each for `options.keys` times a power
  /// of the growth, with the options' layout and hash, its first id as its slice_tag and the id behind its last as its
  /// slice_state. A slice may be stricter than growth would have made it. Errors: invalid_argument for slices that the
  /// filter cannot have; out_of_space.
  [[nodiscard]] static Result<ScalableCountingBloom> from_slices(const Options& options,
                                                                 std::vector<CountingBloom> slices);
  /// Makes an empty filter that merges with this one. Errors: out_of_space.
  [[nodiscard]] Result<ScalableCountingBloom> create_like(const Memory& memory = system_memory()) const;

  [[nodiscard]] Params params() const noexcept { return params_in<Params>(header()); }
  [[nodiscard]] Growth growth() const noexcept;
  [[nodiscard]] CountingLayout layout() const noexcept { return static_cast<CountingLayout>(params().layout); }

  /// Errors: invalid_argument for an id that insert refuses, below every slice's first or above kMaxId.
  [[nodiscard]] Result<void> check_id(std::uint64_t id) const;
  /// Inserts a key under an id. Errors: invalid_argument, as check_id;
  /// std::bad_alloc where a slice cannot be made. Both leave the filter as it was. Past the last slice that there can
  /// be, the false positive rate rises instead.
  [[nodiscard]] Result<void> insert(Digest digest, std::uint64_t id);
  /// Inserts a key under the next id, which is `next_id()`. Errors: std::bad_alloc, as above.
  void insert(Digest digest);
  /// As `insert` without an id, and returns whether the key was in before, as far as the filter can tell.
  bool observe(Digest digest);
  /// Returns how often the key is in: the sum over slices, never too little, saturated if one slice's count is.
  [[nodiscard]] KeyCount estimate(Digest digest) const noexcept;
  /// Takes a key out once, of the slice that has its id; or refuses and changes nothing (see the top of this file).
  EraseResult erase(Digest digest, std::uint64_t id) noexcept;
  /// Takes a key out of the one slice that may hold it, whatever its id was; refuses where several may.
  EraseResult erase(Digest digest) noexcept;

  /// Takes a key out once, of the oldest slice that may hold it (see the top of this file). A key that is not in harms
  /// that slice at its false positive rate.
  EraseResult erase_from_oldest(Digest digest) noexcept;

  /// Asks for a key's line in the slice that takes its id, ahead of a change to it.
  void prefetch(Digest digest, std::uint64_t id) const noexcept;

  /// Batches, in order: the fast path. Shape: digests[c] or keys[c], and an id and an outcome for each; may be empty;
  /// must not overlap. After std::bad_alloc the keys before the one that found no room are in.
  void insert(std::span<const Digest> digests);
  using GrowingFilter::insert;
  /// Returns how many keys were refused for their ids; the others are in. Pays off where neighbors share a slice.
  [[nodiscard]] std::size_t insert(std::span<const Digest> digests, std::span<const std::uint64_t> ids);
  void observe(std::span<const Digest> digests, std::span<bool> seen);
  /// Counts keys in the oldest slice that may hold them, or in the newest (see the top of this file), and reports which
  /// were in before, a key's earlier twin in the same batch included.
  void observe_in_oldest(std::span<const Digest> digests, std::span<bool> seen);
  void estimate(std::span<const Digest> digests, std::span<KeyCount> counts) const noexcept;
  void erase(std::span<const Digest> digests, std::span<EraseResult> results) noexcept;
  void erase(std::span<const Digest> digests, std::span<const std::uint64_t> ids,
             std::span<EraseResult> results) noexcept;

  /// Adds the other filter's keys: those of its slices that have any ids are taken over as slices of their own, with
  /// their ids, and the one of the highest generation that has room is the newest. Where ranges overlap, an erase looks
  /// into each. The rates of the two add up: at most twice the target. Errors: invalid_argument when seeds, growth or
  /// first ids differ, or there would be too many slices; out_of_space, which leaves both as they were.
  [[nodiscard]] Result<void> merge(const ScalableCountingBloom& other);
  /// Forgets every key and id, and all slices but the first. Memory of the image that a filter was opened from stays
  /// with the filter.
  void clear() noexcept;

  /// The id below which there is none.
  [[nodiscard]] std::uint64_t first_id() const noexcept { return params().first_id; }
  /// The id that a key without one gets: one above the greatest so far, or the first one. It stops at kMaxId.
  [[nodiscard]] std::uint64_t next_id() const noexcept;
  /// The greatest id so far; first_id() while there is none.
  [[nodiscard]] std::uint64_t max_id() const noexcept;
  /// A slice's range. Its last id is the greatest that it was given, and the first while it was given none.
  [[nodiscard]] std::uint64_t slice_first_id(std::size_t index) const noexcept { return slices()[index].slice_tag(); }
  [[nodiscard]] std::uint64_t slice_last_id(std::size_t index) const noexcept;
  /// How many slices hold more keys than they were made for, as late keys with old ids make them.
  [[nodiscard]] std::size_t overfilled_slices() const noexcept;
  /// How many counters are stuck at 15.
  [[nodiscard]] std::uint64_t saturated_cells() const noexcept;

  [[nodiscard]] unsigned probes_per_key() const noexcept;
  /// The cache lines that a miss touches, at most.
  [[nodiscard]] double lines_per_key() const noexcept;
  /// The rate that the formula gives for so many distinct keys in a filter grown from empty, its ids in order.
  [[nodiscard]] double fpr_expected(std::uint64_t keys) const noexcept;

 private:
  friend class GrowingFilter<ScalableCountingBloom, CountingBloom>;
  using GrowingFilter::GrowingFilter;

  /// Where a key goes, and for how many there is room.
  struct Place {
    std::size_t slice;
    std::size_t room;
  };

  static Result<void> check_options(const Options& options);
  static Result<ScalableCountingBloom> assemble(const Options& options, std::vector<CountingBloom> slices);
  static Result<void> check_header(const ImageHeader& header);
  static Result<void> check_slice(const ImageHeader& outer, const CountingBloom& slice, std::size_t index);

  [[nodiscard]] bool owns(std::size_t slice, std::uint64_t id) const noexcept;
  [[nodiscard]] std::size_t newest_from(std::uint64_t id) const noexcept;
  [[nodiscard]] std::size_t sole_owner(std::uint64_t id) const noexcept;
  bool open_slice(std::uint64_t first_id);
  Place place_for(std::uint64_t id);
  void note_ids(std::size_t slice, std::uint64_t greatest) noexcept;
  std::size_t observe_older(std::span<const Digest> digests, std::span<bool> seen);
  std::size_t observe_newest(std::span<const Digest> digests, std::span<bool> seen);

  std::uint64_t next_id_ = next_id();  // so that an insert need not ask every slice
};

static_assert(BatchFilter<ScalableCountingBloom>);
static_assert(MergeableFilter<ScalableCountingBloom>);
static_assert(DeletableFilter<ScalableCountingBloom>);
static_assert(FrequencyFilter<ScalableCountingBloom>);
static_assert(NumberedFilter<ScalableCountingBloom>);

}  // namespace mankai
