#pragma once

/// The recent values of each key, ranked: "recent results for this query" in a fixed array.
///
/// A key has n cells, one in each of n partitions. A put finds those that do not hold the value yet (open cells) and
/// overwrites a random share of them, the strength. So the share of a key's cells that hold a value is a score: it
/// rises with each put of the value and falls as other values of this or other keys replace it.
///
///     cells: | partition 0: u32 … | partition 1 | … | partition n - 1 | zeros up to a whole line |
///                   ▲ one cell per key in each
///
///     cell = value ^ salt(key, partition), or 1 where that is 0; 0 is empty
///
/// Another key decodes the cell with other salts: its values appear as random numbers with one match each, and
/// practically never two.
///
/// Source:  [Kifi2013], `ProbabilisticLRU` in their production code: n = 12, strength 0.5, 32-bit cells.
///          Differs: partitions, so that a key's cells are n different ones; answers omit empty cells; the cells to
///          overwrite follow from the seed and the number of puts, so that puts can be replayed.
/// Formula: with n partitions of c cells: fill after t puts of w cells each 1 - (1 - w/(n c))^t; share of a key's
///          entries left after t puts of others (1 - w/(n c))^t; values of absent keys with one match n · fill, with
///          two matches n (n - 1)/2 · fill² · 2^-32; probability that a pair never put counts at least one n · fill ·
///          2^-32.
/// Choose:  strength 0.5 or more to rank the latest value first; less to rank the most frequent one first.
/// Cannot:  remove a value, or guarantee to find one. A single match may be another key's: require two. A value stored
///          as 0, one in 2^32 per cell, counts as put, but is not found in that cell.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "mankai/filter/concepts.hpp"
#include "mankai/filter/parts/flat_filter.hpp"

namespace mankai {

/// See the top of this file, and concepts.hpp for common members. Cost: n cache lines per operation.
class RecentValues : public FlatFilter<RecentValues> {
 public:
  static constexpr std::uint16_t kKind = 11;
  static constexpr std::string_view kName = "recent-values";
  static constexpr Promise kPromise{.no_false_negatives = false, .forgets = true};
  /// Kifi's production values.
  static constexpr std::uint32_t kDefaultK = 12;
  static constexpr double kDefaultStrength = 0.5;

  struct Params {
    std::uint64_t cells_per_probe;
    std::uint64_t k;
  };

  /// What to create: an array half full with `keys` keys, each of whose cells holds a different value; or one with
  /// `cells_per_probe`, whose capacity follows from it.
  struct Options {
    std::uint64_t keys = 0;
    std::uint64_t cells_per_probe = 0;
    std::uint32_t k = kDefaultK;
    HashSpec hash = HashSpec::random();
    Memory memory = system_memory();
  };

  [[nodiscard]] static Result<RecentValues> create(const Options& options);
  [[nodiscard]] static Result<RecentValues> from_image(Image source);

  /// Overwrites ceil(open * strength) of the key's cells with a value. Pre: 0 < strength <= 1.
  void put(Digest key, std::uint32_t value, double strength = kDefaultStrength) noexcept;
  /// Number of the key's cells that hold the value: 0 to n. Nonzero for a value never put at the formula's probability.
  [[nodiscard]] std::uint32_t count(Digest key, std::uint32_t value) const noexcept;
  /// Writes the key's values with at least `min_matches` matches until `ranked` is full: most matches first, then
  /// smaller values. Returns their number.
  std::size_t get(Digest key, std::span<ValueMatches> ranked, std::uint32_t min_matches = 2) const noexcept;
  [[nodiscard]] std::vector<ValueMatches> get(Digest key, std::uint32_t min_matches = 2) const;

  /// Batches with prefetch. Shape: keys[c], values[c], counts[c]; may be empty.
  void put(std::span<const Digest> keys, std::span<const std::uint32_t> values,
           double strength = kDefaultStrength) noexcept;
  void count(std::span<const Digest> keys, std::span<const std::uint32_t> values,
             std::span<std::uint32_t> counts) const noexcept;
  /// The first value of each key, or one with 0 matches if none has `min_matches`.
  void first(std::span<const Digest> keys, std::span<ValueMatches> firsts,
             std::uint32_t min_matches = 2) const noexcept;

  /// Number of puts.
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept { return FilterBase::keys_inserted(); }

  [[nodiscard]] Params params() const noexcept { return image().params<Params>(); }
  [[nodiscard]] std::uint64_t cell_count() const noexcept { return cells_per_probe_ * k_; }
  [[nodiscard]] unsigned probes_per_key() const noexcept { return k_; }
  [[nodiscard]] double lines_per_key() const noexcept { return k_; }

  [[nodiscard]] double fill_ratio() const noexcept;
  /// Number of keys with all their cells that would give this fill.
  [[nodiscard]] double keys_estimate() const noexcept;
  /// Probability that a pair never put counts at least one.
  [[nodiscard]] double fpr_estimate() const noexcept;
  /// As fpr_estimate, for so many keys with all their cells.
  [[nodiscard]] double fpr_expected(std::uint64_t keys) const noexcept;

 private:
  RecentValues(Image source, const Params& params) noexcept;

  struct Probes;
  [[nodiscard]] Probes probes_of(Digest key) const noexcept;
  void prefetch(Digest key) const noexcept;
  void overwrite(Probes& probes, std::uint32_t value, double strength, std::uint64_t draw) noexcept;
  [[nodiscard]] std::uint32_t* cell(std::uint64_t at) const noexcept;
  template <class Visit>
  void for_each_key(std::span<const Digest> keys, const Visit& visit) const noexcept;

  // Adjacent, so that a query loads one cache line of the object.
  std::byte* cells_;
  std::uint64_t cells_per_probe_;
  std::uint32_t k_;
};

static_assert(AssociativeFilter<RecentValues>);

}  // namespace mankai
