#pragma once

/// The classic Bloom filter: k bits anywhere in one array.
///
/// A key sets k cells ("phase" in the gate white paper); it may be present if all of them are set. With a share s of
/// the cells set ("saturation"), the false-positive probability is s^k.
///
///     cells: 0100101101…   one array of m bits; k positions by multiplicative steps from the digest (probes.hpp)
///
/// Two ways to address the cells:
///   - `range` (default): any m; positions scaled by one multiplication.
///   - `fields`: the white paper's: m = 2^w, positions are consecutive w-bit fields of one long hash.
///
/// Source:  [Bloom1970]; saturation and phase [Beach2000].
/// Formula: f = (1 - (1 - 1/m)^(kn))^k; least bits at k = (m/n) ln 2, fill 1/2: 9.59 bits per key at 1 %.
/// Cannot:  remove a key or grow. Each query touches up to k cache lines, which beyond the cache costs 4 to 7 times a
///          blocked filter's time. It takes 5 to 10 % fewer bits, and far fewer below 1e-4.

#include <cstdint>
#include <string_view>

#include "mankai/filter/concepts.hpp"
#include "mankai/filter/parts/bit_filter.hpp"
#include "mankai/kernel/bloom_ops.hpp"
#include "mankai/kernel/bloom_ops_inline.hpp"
#include "mankai/kernel/bloom_ops_reference.hpp"

namespace mankai {

/// Where a key's bits are in the classic layout.
struct ClassicLayout {
  using Shape = kernel::BloomShape;
  using Ops = kernel::BloomOps;

  static const Ops& ops() noexcept { return kernel::bloom_ops(); }
  [[gnu::always_inline]] static bool may_contain(const Ops& /*ops*/, const std::uint64_t* words, const Shape& shape,
                                                 Digest digest) noexcept {
    return kernel::may_contain_single(words, shape, digest);
  }
  [[gnu::always_inline]] static bool observe(const Ops& /*ops*/, std::uint64_t* words, const Shape& shape,
                                             Digest digest) noexcept {
    return kernel::reference::observe(words, shape, digest);
  }
  static bool insert_concurrent(std::uint64_t* words, const Shape& shape, Digest digest) noexcept {
    return kernel::reference::insert_concurrent(words, shape, digest);
  }
  static std::uint64_t cell_count(const Shape& shape) noexcept { return shape.cell_count; }
  static std::uint64_t cells_per_probe(const Shape& shape) noexcept { return shape.cell_count; }
  static double probes_per_cells(const Shape& shape) noexcept { return shape.k; }
};

/// How a digest maps to cells. The values are part of the image format.
enum class BloomAddressing : std::uint8_t { range = 0, fields = 1 };

/// The name used in specs.
[[nodiscard]] constexpr std::string_view name(BloomAddressing addressing) noexcept {
  return addressing == BloomAddressing::range ? "range" : "fields";
}

/// See the top of this file, and concepts.hpp for common members. Cost: up to k cache lines per key.
class Bloom : public BitFilter<Bloom, ClassicLayout> {
 public:
  static constexpr std::uint16_t kKind = 1;
  static constexpr std::string_view kName = "bloom";
  static constexpr Promise kPromise{.no_false_negatives = true};

  struct Params {
    std::uint64_t cell_count;
    std::uint32_t k;
    std::uint32_t field_bits;  ///< 0: range addressing; else the width of a field, and cell_count = 2^field_bits
  };

  struct Options {
    std::uint64_t keys = 0;
    double fpr = 0.01;
    std::uint32_t k = 0;  ///< probes per key, at most 64; 0: as takes the fewest bits
    BloomAddressing addressing = BloomAddressing::range;
    HashSpec hash = HashSpec::random();
    Memory memory = system_memory();
  };

  [[nodiscard]] static Result<Bloom> create(const Options& options);
  [[nodiscard]] static Result<Bloom> from_image(Image source);

  [[nodiscard]] Params params() const noexcept { return {shape().cell_count, shape().k, shape().field_bits}; }
  [[nodiscard]] BloomAddressing addressing() const noexcept {
    return shape().field_bits == 0 ? BloomAddressing::range : BloomAddressing::fields;
  }
  [[nodiscard]] std::uint64_t cell_count() const noexcept { return shape().cell_count; }
  [[nodiscard]] unsigned probes_per_key() const noexcept { return shape().k; }
  [[nodiscard]] double lines_per_key() const noexcept { return shape().k; }

  /// The white paper's terms. Cost of saturation: a pass over the cells.
  [[nodiscard]] double saturation() const noexcept { return fill_ratio(); }
  [[nodiscard]] std::uint32_t phase() const noexcept { return shape().k; }
  /// saturation^phase. Cost: a pass over the cells.
  [[nodiscard]] double fpr_estimate() const noexcept;
  [[nodiscard]] double fpr_expected(std::uint64_t keys) const noexcept {
    return bloom_fpr(keys, {.cell_count = shape().cell_count, .k = shape().k});
  }

 private:
  using BitFilter::BitFilter;
};

static_assert(BatchFilter<Bloom>);
static_assert(MergeableFilter<Bloom>);

}  // namespace mankai
