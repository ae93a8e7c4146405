#pragma once

/// A static map from digests to small numbers. It is built once from all keys, takes 1.07 to 1.2 times the bits of the
/// numbers, and a lookup is four loads. The keys are not stored, so the lookup of an absent key returns a number too,
/// uniformly distributed. A user of only a few of the 2^w numbers can therefore tell most absent keys from keys.
///
///     cells: | segment 0: L cells of w bits | segment 1 | … | segment s + 2 | padding |
///                     ▲ a key has one cell in each of four segments that follow one another
///
///     value = cell ^ cell ^ cell ^ cell ^ mask(key)
///
/// Peeling: a cell that only one key uses can be set last, for that key. Removing such keys leaves other keys alone in
/// a cell, until none is left; if peeling stops early, another seed is tried. Because the cells of a key are close
/// together, peeling proceeds from both ends inwards and needs far fewer spare cells than with cells anywhere.
///
/// Source:  [Graf2022], binary fuse filters, 4-wise. Differs: a value of any width in place of a fingerprint; the mask,
///          which makes the numbers of absent keys uniform for any values, also in a small map; free cells are filled
///          at random for the same reason; the size is fitted to measurements, not the paper's formula (1 to 3 %
///          smaller); cells are packed to the bit.
/// Formula: cells = n * clamp(0.79 + 5.22 / log2 n, 1.07, 3), up to whole segments; L near 2^(log2 n / 1.54 - 0.5).
/// Choose:  for a set that changes rarely. It is not a filter kind: nothing can be inserted, and its owner stores the
///          cells.
/// Cannot:  add or remove a key; list its keys; hold a key twice.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "mankai/base/bits.hpp"
#include "mankai/base/error.hpp"
#include "mankai/hash/digest.hpp"
#include "mankai/hash/hasher.hpp"

namespace mankai {

/// A view of cells that the caller owns and keeps alive; see the top of this file.
///
/// Threads: const calls are safe together.
class FuseMap {
 public:
  static constexpr unsigned kMinValueBits = 2;
  static constexpr unsigned kMaxValueBits = 32;
  static constexpr std::uint64_t kMaxKeys = std::uint64_t{1} << 30;

  /// What is stored beside the cells.
  struct Params {
    std::uint64_t keys = 0;      ///< for information; no answer depends on it
    std::uint64_t seed = 0;      ///< the one that worked
    std::uint64_t segments = 1;  ///< in which a key's first cell may be; there are three more
    std::uint32_t segment_bits = 0;
    std::uint32_t value_bits = kMinValueBits;

    friend bool operator==(const Params&, const Params&) = default;
  };

  /// A new map: what its owner stores.
  struct Cells {
    Params params;
    std::vector<std::uint64_t> words;
  };

  /// Makes the map of keys[c] to values[c]; the same arguments give the same cells on every machine.
  ///
  /// Cost:    100 ns per key for 1e5 keys, 300 for 1e6; 17 bytes per key while it runs.
  /// Errors:  invalid_argument for a width outside 2 to 32, a value that does not fit in it, a repeated key, more than
  ///          kMaxKeys; out_of_space if no seed works, which does not happen with random digests.
  [[nodiscard]] static Result<Cells> build(std::span<const Digest> keys, std::span<const std::uint32_t> values,
                                           unsigned value_bits, std::uint64_t seed);

  /// Returns the number of words of a map, 0 for impossible params.
  [[nodiscard]] static std::uint64_t words_for(const Params& params) noexcept;

  /// Makes a view. With any bits in the cells, a lookup never reads outside them.
  /// Errors: corrupt for impossible params, and for another number of words.
  [[nodiscard]] static Result<FuseMap> from_cells(const Params& params, std::span<const std::uint64_t> words);

  /// Returns a key's value, and any number below 2^w for another digest.
  /// Cost: four independent loads. In a loop 7 ns per key for 1e5 keys, 13 for 1e6, 34 for 1e7; 19, 29 and 170 if each
  ///       lookup depends on the one before. Prefetching a window took 3 % less for 1e6 and 15 % for 1e7.
  [[nodiscard]] std::uint32_t lookup(Digest digest) const noexcept {
    const std::uint64_t hash = spread(digest);
    std::uint32_t value = mask_of(hash);
    for (const std::uint64_t at : positions(hash)) {
      value ^= cell(at);
    }
    return value & value_mask_;
  }

  /// Sets the address of the words, which have moved. Pre: the same words.
  void rebase(const std::uint64_t* words) noexcept { bytes_ = reinterpret_cast<const unsigned char*>(words); }

  [[nodiscard]] const Params& params() const noexcept { return params_; }
  [[nodiscard]] std::uint64_t cell_count() const noexcept { return (params_.segments + kArity - 1) * segment_; }

 private:
  friend class FuseMapBuild;

  static constexpr unsigned kArity = 4;
  using Positions = std::array<std::uint64_t, kArity>;

  /// Pre: the words are those of the params; null while a map is being built.
  FuseMap(const Params& params, const std::uint64_t* words) noexcept;

  [[nodiscard]] std::uint64_t spread(Digest digest) const noexcept {
    return mix_integer(digest.value, params_.seed).value;
  }
  /// The high bits give the first cell; those of a product, other bits, the places in the segments behind it.
  [[nodiscard]] Positions positions(std::uint64_t hash) const noexcept;
  [[nodiscard]] std::uint32_t mask_of(std::uint64_t hash) const noexcept {
    return static_cast<std::uint32_t>(((hash ^ hash >> 32U) * kMixFirst) >> 32U);
  }
  /// With other cells' bits above. A load of 8 bytes from the byte in which the cell begins has all of it: 7 + 32 bits.
  [[nodiscard]] std::uint32_t cell(std::uint64_t at) const noexcept {
    const std::uint64_t bit = at * params_.value_bits;
    std::uint64_t eight = 0;
    std::memcpy(&eight, bytes_ + bit / 8, sizeof eight);
    return static_cast<std::uint32_t>(eight >> bit % 8);
  }

  Params params_;
  std::uint64_t segment_ = 1;  ///< cells of one
  std::uint64_t first_cells_ = 1;
  std::uint32_t value_mask_ = 0;
  const unsigned char* bytes_ = nullptr;
};

/// Cost: three multiplications.
inline FuseMap::Positions FuseMap::positions(std::uint64_t hash) const noexcept {
  constexpr unsigned kOffsetBits = 18;  // the longest segment; three of them are taken from the product's high bits
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
