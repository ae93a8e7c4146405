#pragma once

/// A static map from digests to small numbers, built once from all keys. Takes 1.07 to 1.2 times the bits of the
/// numbers; a lookup is four loads. The keys are not stored: the lookup of an absent key returns a number too,
/// uniformly distributed. A user of only a few of the 2^w numbers can therefore tell most absent keys from keys.
///
///     cells: | segment 0: L cells of w bits | segment 1 | … | segment s + 2 | padding |
///                     ▲ a key has one cell in each of four segments that follow one another
///
///     value = cell ^ cell ^ cell ^ cell ^ mask(key)
///
/// Peeling: a cell that only one key uses can be set last, for that key. Removing such keys leaves other keys alone in
/// a cell, until no key is left; if peeling stops early, another seed is tried. Because the cells of a key are close
/// together, peeling proceeds from both ends inwards and needs far fewer spare cells.
///
/// Source:  [Graf2022], binary fuse filters, 4-wise. Differs: a value of any width in place of a fingerprint; a mask
///          and random free cells make the numbers of absent keys uniform; the size is fitted to measurements, not the
///          paper's formula (1 to 3 % smaller); cells are packed to the bit.
/// Formula: cells = n * clamp(0.79 + 5.22 / log2 n, 1.07, 3), up to whole segments; L near 2^(log2 n / 1.54 - 0.5).
/// Choose:  for a set that changes rarely: keys cannot be added, removed, repeated or listed. Not a filter kind.

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "mankai/base/bits.hpp"
#include "mankai/base/error.hpp"
#include "mankai/hash/digest.hpp"
#include "mankai/hash/hasher.hpp"

namespace mankai {

/// A view of cells that the caller owns and keeps alive. Threads: const calls are safe together.
class FuseMap {
 public:
  static constexpr unsigned kMinValueBits = 2;
  static constexpr unsigned kMaxValueBits = 32;
  static constexpr std::uint64_t kMaxKeys = std::uint64_t{1} << 30;

  struct Params {
    std::uint64_t keys = 0;      ///< for information; does not affect answers
    std::uint64_t seed = 0;      ///< the seed that peeling succeeded with
    std::uint64_t segments = 1;  ///< that can contain a key's first cell; there are three more
    std::uint32_t segment_bits = 0;
    std::uint32_t value_bits = kMinValueBits;

    friend bool operator==(const Params&, const Params&) = default;
  };

  struct Cells {
    Params params;
    std::vector<std::uint64_t> words;
  };

  /// Builds the map of keys[c] to values[c]; the same arguments give the same cells on every machine.
  /// Cost:    100 ns per key for 1e5 keys, 300 for 1e6; 22 bytes per key while it runs.
  /// Errors:  invalid_argument for a width outside 2 to 32, a value that does not fit in it, a repeated key, more than
  ///          kMaxKeys; out_of_space if no seed works, which does not happen with random digests.
  [[nodiscard]] static Result<Cells> build(std::span<const Digest> keys, std::span<const std::uint32_t> values,
                                           unsigned value_bits, std::uint64_t seed);

  /// Returns the number of words of a map; 0 for impossible params.
  [[nodiscard]] static std::uint64_t words_for(const Params& params) noexcept;

  /// Creates a view, which never reads outside the words. Errors: corrupt for impossible params or number of words.
  [[nodiscard]] static Result<FuseMap> from_cells(const Params& params, std::span<const std::uint64_t> words);

  /// Returns a key's value, or an arbitrary number below 2^w for an absent key. Cost: four independent loads. In a loop
  /// 7 ns per key for 1e5 keys, 13 for 1e6, 34 for 1e7; 19, 29 and 170 if each lookup depends on the one before.
  /// Prefetching a window saved 3 % for 1e6 and 15 % for 1e7.
  [[nodiscard]] std::uint32_t lookup(Digest digest) const noexcept { return lookup_spread(spread(digest)); }

  /// Sets the address of the words after they were moved. Pre: the words are the same.
  void rebase(const std::uint64_t* words) noexcept { bytes_ = reinterpret_cast<const unsigned char*>(words); }

  [[nodiscard]] const Params& params() const noexcept { return params_; }
  [[nodiscard]] std::uint64_t cell_count() const noexcept { return (params_.segments + kArity - 1) * segment_; }

 private:
  friend class FuseMapBuild;

  static constexpr unsigned kArity = 4;
  using Positions = std::array<std::uint64_t, kArity>;

  /// Pre: the words match the params; null while a map is being built.
  FuseMap(const Params& params, const std::uint64_t* words) noexcept;

  [[nodiscard]] std::uint64_t spread(Digest digest) const noexcept {
    return mix_integer(digest.value, params_.seed).value;
  }
  [[nodiscard]] std::uint32_t lookup_spread(std::uint64_t hash) const noexcept {
    std::uint32_t value = mask_of(hash);
    for (const std::uint64_t at : positions(hash)) {
      value ^= cell(at);
    }
    return value & value_mask_;
  }
  /// The high bits give the first cell; the bits of a product give the places in the following segments.
  [[nodiscard]] Positions positions(std::uint64_t hash) const noexcept;
  [[nodiscard]] std::uint32_t mask_of(std::uint64_t hash) const noexcept {
    return static_cast<std::uint32_t>(((hash ^ hash >> 32U) * kMixFirst) >> 32U);
  }
  /// With bits of the next cells above. Eight bytes from the cell's first byte on contain the whole cell: 7 + 32 bits.
  [[nodiscard]] std::uint32_t cell(std::uint64_t at) const noexcept {
    const std::uint64_t bit = at * params_.value_bits;
    std::uint64_t eight = 0;
    std::memcpy(&eight, bytes_ + bit / 8, sizeof eight);
    return static_cast<std::uint32_t>(eight >> bit % 8);
  }

  Params params_;
  std::uint64_t segment_ = 1;  ///< cells per segment
  std::uint64_t first_cells_ = 1;
  std::uint32_t value_mask_ = 0;
  const unsigned char* bytes_ = nullptr;
};

/// Cost: three multiplications.
inline FuseMap::Positions FuseMap::positions(std::uint64_t hash) const noexcept {
  constexpr unsigned kOffsetBits = 18;  // of the longest segment; the product's high bits have three offsets
  constexpr unsigned kHashBits = 64;
  const std::uint64_t first = fastrange(hash, first_cells_);
  const std::uint64_t product = hash * kMixSecond;
  Positions at{first};
  for (unsigned i = 1; i < kArity; ++i) {
    const std::uint64_t offset = product >> (kHashBits - kOffsetBits * i) & (segment_ - 1);
    at[i] = (first + i * segment_) ^ offset;
  }
  return at;
}

}  // namespace mankai
