#pragma once

/// A Bloom filter that grows: sub-filters (slices), each a blocked filter larger and stricter than the one before.
///
/// Keys are inserted into the newest slice; when that is full, the next new key opens another. A key may be present if
/// any slice answers yes, so rates add up. Each slice is sized for a rate lower by the tightening ratio r, and the sum
/// stays below the target for any number of slices.
///
///     slice 0: n keys at p0     slice 1: s n keys at p0 r     slice 2: s^2 n keys at p0 r^2     …
///
/// A key for which some slice already answers yes is not inserted again, so repeated keys use no capacity.
///
/// Source:  [Almeida2007]; dablooms [Dablooms2012] has the same growth with counters.
/// Formula: total rate F = 1 - Π(1 - p_i) <= Σ p_i, with p_i as in growth.hpp. Tightening by r = 0.7 is within a tenth
///          of the fewest bits from 1 to 7 doublings: at 1 % it takes 12.8, 14.1, 15.8, 17.9, 20.3 bits per key
///          in 1, 3, 5, 7 and 9 full slices; r = 0.5 takes 11.6, 14.1, 17.6, 22.2 and 28.1, r = 0.9 15.7 to 18.0.
/// Low rates: with the bound `gradual` a key has several blocks of a slice, which takes fewer bits (blocked_slice.hpp).
/// Growth:  s = 2 doubles; s = 1 makes all slices equal, as dablooms does: n/n0 slices, and as many lines per miss.
/// Cannot:  remove a key. A miss touches one line per slice: 6 lines after growing 50-fold by doubling.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "mankai/filter/concepts.hpp"
#include "mankai/filter/parts/growing_filter.hpp"
#include "mankai/filter/parts/growth.hpp"
#include "mankai/filter/scalable_bloom/blocked_slice.hpp"

namespace mankai {

/// See the top of this file, and concepts.hpp for common members. Cost: one cache line per slice for a miss, newest
/// slice first; batches query slice by slice.
class ScalableBloom : public GrowingFilter<ScalableBloom, BlockedSlice> {
 public:
  static constexpr std::uint16_t kKind = 4;
  static constexpr std::string_view kName = "scalable-bloom";
  static constexpr Promise kPromise{.no_false_negatives = true};

  /// The fields of Growth.
  struct Params {
    std::uint64_t tightening_bits;
    std::uint32_t growth_factor;
    std::uint32_t bound;
  };

  struct Options {
    std::uint64_t keys = 0;  ///< capacity of the first slice
    double fpr = 0.01;
    Growth growth = {};
    HashSpec hash = HashSpec::random();
    Memory memory = system_memory();
  };

  [[nodiscard]] static Result<ScalableBloom> create(const Options& options);
  /// Creates a filter whose only slice has the size, the cells and the number of keys of another's, which was created
  /// with the same options. Errors: as create's.
  [[nodiscard]] static Result<ScalableBloom> create_with(const Options& options, const BlockedSliceSize& size,
                                                         std::span<const std::byte> cells, std::uint64_t keys_inserted);
  [[nodiscard]] Result<ScalableBloom> create_like(const Memory& memory = system_memory()) const;

  [[nodiscard]] Params params() const noexcept { return kind_params<Params>(); }
  [[nodiscard]] Growth growth() const noexcept;

  /// Inserts a key unless a slice answers yes. Errors: std::bad_alloc if a slice cannot be allocated, with the filter
  /// unchanged. Beyond the last possible slice the false-positive rate rises instead.
  void insert(Digest digest) { static_cast<void>(observe(digest)); }
  bool observe(Digest digest);

  /// After std::bad_alloc the keys before the failing one have been inserted.
  void insert(std::span<const Digest> digests);
  using GrowingFilter::insert;
  void observe(std::span<const Digest> digests, std::span<bool> seen);

  /// A slice is merged into one of the same generation with room for its keys, or adopted as a slice of its own; new
  /// keys then go to the highest generation with room. The rates add up: at most twice the target. Errors:
  /// invalid_argument if seeds or growth differ, or there would be too many slices; out_of_space, with both unchanged.
  [[nodiscard]] Result<void> merge(const ScalableBloom& other);
  /// Removes all keys and all slices but the first. Does not free the image that the filter was opened from.
  void clear() noexcept;

  /// How many keys can be inserted before the next slice is allocated.
  [[nodiscard]] std::size_t room() const noexcept;
  [[nodiscard]] unsigned probes_per_key() const noexcept;
  /// Of a member in the oldest slice, at most; a miss seldom has more than one per slice.
  [[nodiscard]] double lines_per_key() const noexcept;
  /// For a filter grown from empty.
  [[nodiscard]] double fpr_expected(std::uint64_t keys) const noexcept;

 private:
  friend class GrowingFilter<ScalableBloom, BlockedSlice>;
  using GrowingFilter::GrowingFilter;

  static Result<void> check_header(const ImageHeader& header);
  static Result<void> check_slice(const ImageHeader& outer, const BlockedSlice& slice, std::size_t index);

  void observe_window(std::span<const Digest> digests, bool* seen);
  std::size_t make_room();
};

static_assert(BatchFilter<ScalableBloom>);
static_assert(MergeableFilter<ScalableBloom>);

}  // namespace mankai
