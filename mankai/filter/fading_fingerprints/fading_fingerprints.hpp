#pragma once

/// An array of fingerprints in which later events overwrite earlier ones: it recognizes recent events with high
/// probability and older ones with less, in an array of any size, down to a few hundred bytes, and without a clock.
///
///     event ──hash──▶ fingerprint of b bits, 1 to 2^b - 1 (0: empty)
///                     n slots, anywhere in the array
///
///     slots: | 0 | 7 | 0 | 3 | 7 | … | 7 |    insert overwrites the event's n slots with its fingerprint;
///                  ▲       ▲           ▲      may_contain tests whether at least r of its n slots hold it
///
/// Inserting an event again makes it as recent as a new one. Slots are cells of 4, 8, 16 or 32 bits without gaps (two
/// per byte for 4, the even one in its lower half), padded with zeros to a whole cache line.
///
/// Source:  [Kifi2013], n, b and s; r is the minHits of their production code, which the text does not have.
///          Differs: fingerprint 0 marks empty slots, so an empty filter has no false positives (theirs has a rate of
///          1 - (1 - 2^-b)^n); positions come from a mixed digest, not from a congruential generator on the key itself,
///          which on sequential ids gave 2.4 times the false positives of the formula; one fingerprint per key as in
///          their text, where the code has one per slot.
/// Formula: filter/fading_size.hpp: survival φ(t), plateau, half-life, and the size for a request.
/// Choose:  {b = 8, n < 4} and {b = 16, 4 <= n <= 32}, their advice: one byte has a plateau of n · 0.4 %. More slots
///          per event keep the newest events better and lose older ones faster.
/// Cannot:  promise that an event is found, however recent; remove one; merge; tell when an event was inserted.
/// Tried:   an early end of a look-up at the r-th match, for r = 1 and bytes. With half of the keys present it took
///          2.6 to 3.6 times as long for n = 2 and 3 in cache, 1.4 to 1.5 with 1e7 slots, and as long for 16, since the
///          branch is unpredictable. For absent keys 1.0 to 1.3 in cache, .75 to .9 with 1e7 slots. It pays if nearly
///          all keys are present, in cache: .5 to .8, for n = 16 a seventh; with 1e7 slots .9 to 1.15.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "mankai/filter/concepts.hpp"
#include "mankai/filter/fading_fingerprints/fading_size.hpp"
#include "mankai/filter/parts/flat_filter.hpp"
#include "mankai/kernel/fading_ops.hpp"

namespace mankai {

/// See the top of this file. Cost: n cache lines per key.
/// Threads: `insert_concurrent` and `may_contain` beside each other, any number of both; `insert` and `observe` as the
/// only writer beside readers. `seal`, `clear` and moving need the filter alone. Where two writers meet in a slot, one
/// of the two fingerprints is there afterwards, as if the other event had been a little earlier.
class FadingFingerprints : public FlatFilter<FadingFingerprints> {
 public:
  static constexpr std::uint16_t kKind = 10;
  static constexpr std::string_view kName = "fading-fingerprints";
  static constexpr Promise kPromise{.no_false_negatives = false, .forgets = true};

  /// Stored in the image.
  struct Params {
    std::uint64_t slots;
    std::uint32_t k;
    std::uint16_t bits;
    std::uint16_t min_matches;
  };

  /// What to create. Without `slots` it is sized: half of the events are still known when `keys` more have come, and
  /// `fpr` of absent keys are false positives, however many, in the fewest bytes that do; k and bits are then chosen
  /// unless they are given. With `slots` the array is taken as described, k and bits being 2 and 8 by default (the
  /// shape that Kifi ran), or 16 bits from k = 4 on; capacity and rate are what the formulas say of it.
  struct Options {
    std::uint64_t keys = 0;
    double fpr = 0.01;
    std::uint64_t slots = 0;
    std::uint32_t k = 0;
    std::uint32_t bits = 0;
    std::uint32_t min_matches = 1;
    HashSpec hash = HashSpec::random();
    Memory memory = system_memory();
  };

  /// Errors: invalid_argument for an impossible request; out_of_space.
  [[nodiscard]] static Result<FadingFingerprints> create(const Options& options);
  /// Takes over an image of this kind. Errors: corrupt; unsupported_version for fingerprints of another size.
  [[nodiscard]] static Result<FadingFingerprints> from_image(Image source);

  /// Writes the key's fingerprint; what its slots held before is forgotten.
  void insert(Digest digest) noexcept { insert(std::span(&digest, 1)); }
  /// As insert, beside other writers.
  void insert_concurrent(Digest digest) noexcept { insert_concurrent(std::span(&digest, 1)); }
  /// Inserts, and returns whether the key was known before.
  bool observe(Digest digest) noexcept;
  /// Returns whether the key is known: probably if it came recently, probably not if never.
  [[nodiscard]] bool may_contain(Digest digest) const noexcept;

  /// Batches, in order: the fast path. Shape: digests[c] or keys[c], and an outcome for each; may be empty; must not
  /// overlap. Integer keys are hashed as `hasher()` would.
  void insert(std::span<const Digest> digests) noexcept;
  void insert_concurrent(std::span<const Digest> digests) noexcept;
  void observe(std::span<const Digest> digests, std::span<bool> seen) noexcept;
  void may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept;
  using FlatFilter::insert;
  using FlatFilter::may_contain;

  /// Lets the image be moved in memory. Threads: needs the filter alone.
  void relocate(const Mover& mover) noexcept;

  /// Events inserted, each time it came.
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept { return FilterBase::keys_inserted(); }

  [[nodiscard]] Params params() const noexcept { return image().params<Params>(); }
  [[nodiscard]] FadingShape shape() const noexcept;
  [[nodiscard]] std::uint64_t cell_count() const noexcept { return array_.cell_count; }
  [[nodiscard]] unsigned probes_per_key() const noexcept { return array_.k; }
  /// The cache lines that an operation touches, at most.
  [[nodiscard]] double lines_per_key() const noexcept { return array_.k; }

  /// The probability that an event is still known when `age` more have come.
  [[nodiscard]] double survival(double age) const noexcept { return fading_survival(shape(), age); }
  [[nodiscard]] double half_life() const noexcept { return fading_half_life(shape()); }
  /// Slots that are not empty over all. Cost: a pass over the cells.
  [[nodiscard]] double fill_ratio() const noexcept;
  /// How many events the array shows, from its fill: infinite once every slot is used. Cost: a pass over the cells.
  [[nodiscard]] double keys_estimate() const noexcept;
  /// The probability that an absent key is answered yes, from the fill as it is. Cost: a pass over the cells.
  [[nodiscard]] double fpr_estimate() const noexcept;
  /// The rate that the formula gives after so many events.
  [[nodiscard]] double fpr_expected(std::uint64_t keys) const noexcept;

 private:
  FadingFingerprints(Image source, const Params& params) noexcept;

  // Kept beside each other, so that a query loads one line of the filter's own.
  kernel::FadingCells array_;
  const kernel::FadingOps* ops_;
};

static_assert(BatchFilter<FadingFingerprints>);

}  // namespace mankai
