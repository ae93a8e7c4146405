#pragma once

/// For each key the values that were put with it recently, ranked: "recent results for this query" in a fixed array.
///
/// A key has n cells, one in each of n partitions. A put finds which of them do not hold the value yet (open ones) and
/// overwrites a share of these, its strength, chosen at random each time. So the share of a key's cells that hold a
/// value is a score that rises with each put of the value and falls as other values of this or other keys replace it.
///
///     cells: | partition 0: u32 … | partition 1 | … | partition n - 1 | zeros up to a whole line |
///                   ▲ one cell per key in each
///
///     cell = value ^ salt(key, partition), or 1 where that is 0; 0 is empty
///
/// Another key decodes the cell with other salts: values of other keys appear as random numbers with one match each,
/// and practically never as one with two matches.
///
/// Source:  [Kifi2013], `ProbabilisticLRU` in their production code: n = 12, strength 0.5, 32-bit cells.
///          Differs: partitions, so that a key's cells are n different ones; answers omit empty cells; the cells to
///          overwrite follow from the seed and the number of puts, so that puts can be replayed.
/// Formula: with n partitions of c cells, fill after t puts of w cells each 1 - (1 - w/(n c))^t, the share of a key's
///          entries that is left after t puts of others (1 - w/(n c))^t, values of absent keys with a match n · fill,
///          with two matches n (n - 1)/2 · fill² · 2^-32, the probability that a pair never put counts at least one
///          n · fill · 2^-32.
/// Choose:  strength 0.5 or more to rank the latest value first; less to rank the most frequent one first.
/// Cannot:  remove a value, or promise to find one. A single match may be another key's: ask for two. A value whose
///          stored form would be 0, one in 2^32 per cell, counts, but is not found in that cell.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "mankai/filter/concepts.hpp"
#include "mankai/filter/parts/flat_filter.hpp"

namespace mankai {

/// See the top of this file. Cost: n cache lines an operation. Threads: readers beside one writer; `seal`, `clear` and
/// moving need it alone.
class RecentValues : public FlatFilter<RecentValues> {
 public:
  static constexpr std::uint16_t kKind = 11;
  static constexpr std::string_view kName = "recent-values";
  static constexpr Promise kPromise{.no_false_negatives = false, .forgets = true};
  /// What Kifi ran.
  static constexpr std::uint32_t kDefaultK = 12;
  static constexpr double kDefaultStrength = 0.5;

  /// Stored in the image.
  struct Params {
    std::uint64_t cells_per_probe;
    std::uint64_t k;
  };

  /// What to create: with so many keys in it, each of whose cells hold a value of its own, half of all cells are used;
  /// or, with `cells_per_probe`, an array as described, whose capacity is what that means for it.
  struct Options {
    std::uint64_t keys = 0;
    std::uint64_t cells_per_probe = 0;
    std::uint32_t k = kDefaultK;
    HashSpec hash = HashSpec::random();
    Memory memory = system_memory();
  };

  /// Errors: invalid_argument for an impossible request; out_of_space.
  [[nodiscard]] static Result<RecentValues> create(const Options& options);
  /// Takes over an image of this kind. Errors: corrupt.
  [[nodiscard]] static Result<RecentValues> from_image(Image source);

  /// Puts a value with a key: overwrites ceil(open * strength) of its cells. Pre: 0 < strength <= 1.
  void put(Digest key, std::uint32_t value, double strength = kDefaultStrength) noexcept;
  /// In how many of the key's cells the value is: 0 to n. A value never put counts with the probability of the formula.
  [[nodiscard]] std::uint32_t count(Digest key, std::uint32_t value) const noexcept;
  /// Writes the key's values with at least so many matches, those with most first and of equal ones the smaller value,
  /// until `ranked` is full; returns how many.
  std::size_t get(Digest key, std::span<ValueMatches> ranked, std::uint32_t min_matches = 2) const noexcept;
  [[nodiscard]] std::vector<ValueMatches> get(Digest key, std::uint32_t min_matches = 2) const;

  /// Batches, in order, with the lines asked for ahead. Shape: keys[c], values[c], counts[c]; may be empty.
  void put(std::span<const Digest> keys, std::span<const std::uint32_t> values,
           double strength = kDefaultStrength) noexcept;
  void count(std::span<const Digest> keys, std::span<const std::uint32_t> values,
             std::span<std::uint32_t> counts) const noexcept;
  /// The first of each key's values, with 0 matches where there is none with so many.
  void first(std::span<const Digest> keys, std::span<ValueMatches> firsts,
             std::uint32_t min_matches = 2) const noexcept;

  /// Puts, each time.
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept { return FilterBase::keys_inserted(); }

  [[nodiscard]] Params params() const noexcept { return image().params<Params>(); }
  [[nodiscard]] std::uint64_t cell_count() const noexcept { return cells_per_probe_ * k_; }
  [[nodiscard]] unsigned probes_per_key() const noexcept { return k_; }
  [[nodiscard]] double lines_per_key() const noexcept { return k_; }

  /// Cells that are not empty over all. Cost: a pass over the cells.
  [[nodiscard]] double fill_ratio() const noexcept;
  /// How many keys with all cells of their own would fill it so; infinite when it is full. Cost: as fill_ratio.
  [[nodiscard]] double keys_estimate() const noexcept;
  /// The probability that a pair that was never put counts at least one, at the fill as it is. Cost: as fill_ratio.
  [[nodiscard]] double fpr_estimate() const noexcept;
  /// The same with so many keys that have all their cells.
  [[nodiscard]] double fpr_expected(std::uint64_t keys) const noexcept;

 private:
  RecentValues(Image source, const Params& params) noexcept;

  struct Probes;
  [[nodiscard]] Probes probes_of(Digest key) const noexcept;
  void prefetch(Digest key, bool writes) const noexcept;
  void overwrite(Probes& probes, std::uint32_t value, double strength, std::uint64_t draw) noexcept;
  [[nodiscard]] std::uint32_t* cell(std::uint64_t at) const noexcept;
  template <bool kWrites, class Visit>
  void for_each_key(std::span<const Digest> keys, const Visit& visit) const noexcept;

  // Kept beside each other, so that a query loads one line of the filter's own.
  std::byte* cells_;
  std::uint64_t cells_per_probe_;
  std::uint32_t k_;
};

static_assert(AssociativeFilter<RecentValues>);

}  // namespace mankai
