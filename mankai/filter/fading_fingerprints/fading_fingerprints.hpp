#pragma once

/// An array of fingerprints in which later events overwrite earlier ones. It recognizes recent events with high
/// probability and older ones with less, without a clock, in any size from a few hundred bytes.
///
///     event ──hash──▶ fingerprint of b bits, 1 to 2^b - 1 (0: empty)
///                     n slots, anywhere in the array
///
///     slots: | 0 | 7 | 0 | 3 | 7 | … | 7 |    insert overwrites the event's n slots with its fingerprint;
///                  ▲       ▲           ▲      may_contain tests whether at least r of its n slots hold it
///
/// Inserting an event again makes it recent again. Slots are cells of 4, 8, 16 or 32 bits without gaps (two per byte
/// for 4, the even one in its lower half), padded with zeros to a whole cache line.
///
/// Source:  [Kifi2013], n, b and s; r is minHits of their production code, absent from the text. Differs: fingerprint 0
///          marks empty slots, so an empty filter has no false positives (theirs has a rate of 1 - (1 - 2^-b)^n).
///          Positions come from a mixed digest, not from a congruential generator on the key itself, which on
///          sequential ids gave 2.4 times the false positives of the formula. One fingerprint per key as in their text,
///          where the code has one per slot.
/// Formula: filter/fading_size.hpp: survival φ(t), plateau, half-life, and the size for a request.
/// Choose:  {b = 8, n < 4} and {b = 16, 4 <= n <= 32}, their advice: one byte has a plateau of n · 0.4 %. More slots
///          per event keep the newest events better and lose older ones faster.
/// Cannot:  guarantee that an event is found, however recent; remove one; merge; tell when an event was inserted.
/// Tried:   ending a lookup early at the r-th match, for r = 1 and bytes. With half of the keys present it took 2.6 to
///          3.6 times as long for n = 2 and 3 in cache, 1.4 to 1.5 with 1e7 slots, and as long for n = 16, since the
///          branch is unpredictable. For absent keys 1.0 to 1.3 in cache, .75 to .9 with 1e7 slots. It pays if nearly
///          all keys are present, in cache: .5 to .8, for n = 16 a seventh; with 1e7 slots .9 to 1.15.

#include <cstdint>
#include <span>
#include <string_view>

#include "mankai/filter/concepts.hpp"
#include "mankai/filter/fading_fingerprints/fading_size.hpp"
#include "mankai/filter/parts/flat_filter.hpp"
#include "mankai/kernel/fading_ops.hpp"

namespace mankai {

/// See the top of this file, and concepts.hpp for common members. Cost: n cache lines per key.
/// Threads: any number of `insert_concurrent` and `may_contain`; or one writer with `insert` and `observe` beside
///          readers. `seal`, `clear` and moving need the filter alone. If two writers write a slot at once, one
///          fingerprint wins, as if the other event had been slightly earlier.
class FadingFingerprints : public FlatFilter<FadingFingerprints> {
 public:
  static constexpr std::uint16_t kKind = 10;
  static constexpr std::string_view kName = "fading-fingerprints";
  static constexpr Promise kPromise{.no_false_negatives = false, .forgets = true};

  struct Params {
    std::uint64_t slots;
    std::uint32_t k;
    std::uint16_t bits;
    std::uint16_t min_matches;
  };

  /// What to create. Without `slots`, the smallest filter that still finds half of the events after `keys` more, with
  /// at most `fpr` false positives among absent keys after any number of events; k and bits are chosen unless set. With
  /// `slots`, that array: k and bits default to 2 and 8 (Kifi's), or 16 bits from k = 4 on; capacity and rate follow
  /// from the formulas.
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

  [[nodiscard]] static Result<FadingFingerprints> create(const Options& options);
  /// Errors: corrupt; unsupported_version for fingerprints of another size.
  [[nodiscard]] static Result<FadingFingerprints> from_image(Image source);

  void insert(Digest digest) noexcept { insert(std::span(&digest, 1)); }
  void insert_concurrent(Digest digest) noexcept { insert_concurrent(std::span(&digest, 1)); }
  bool observe(Digest digest) noexcept;
  /// Probably true for a recent key, probably false for an absent one.
  [[nodiscard]] bool may_contain(Digest digest) const noexcept;

  void insert(std::span<const Digest> digests) noexcept;
  void insert_concurrent(std::span<const Digest> digests) noexcept;
  void observe(std::span<const Digest> digests, std::span<bool> seen) noexcept;
  void may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept;
  using FlatFilter::insert;
  using FlatFilter::may_contain;

  void relocate(const Mover& mover) noexcept;

  /// Insertions, repeated keys included.
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept { return FilterBase::keys_inserted(); }

  [[nodiscard]] Params params() const noexcept { return image().params<Params>(); }
  [[nodiscard]] FadingShape shape() const noexcept;
  [[nodiscard]] std::uint64_t cell_count() const noexcept { return array_.cell_count; }
  [[nodiscard]] unsigned probes_per_key() const noexcept { return array_.k; }
  [[nodiscard]] double lines_per_key() const noexcept { return array_.k; }

  /// Probability that an event is still found after `age` more events.
  [[nodiscard]] double survival(double age) const noexcept { return fading_survival(shape(), age); }
  [[nodiscard]] double half_life() const noexcept { return fading_half_life(shape()); }
  [[nodiscard]] double fill_ratio() const noexcept;
  /// Number of events, estimated from the fill. Cost: a pass over the cells.
  [[nodiscard]] double keys_estimate() const noexcept;
  [[nodiscard]] double fpr_estimate() const noexcept;
  [[nodiscard]] double fpr_expected(std::uint64_t keys) const noexcept;

 private:
  FadingFingerprints(Image source, const Params& params) noexcept;

  // Adjacent, so that a query loads one cache line of the object.
  kernel::FadingCells array_;
  const kernel::FadingOps* ops_;
};

static_assert(BatchFilter<FadingFingerprints>);

}  // namespace mankai
