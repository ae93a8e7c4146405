#pragma once

/// RedisBloom's Bloom filter (type MBbloom--) in its own layout: it answers every key as RedisBloom does, false
/// positives included, grows by RedisBloom's rule, and is saved in RedisBloom's format.
///
///     link 0: n keys at e/2     link 1: g n keys at e/4     link 2: g^2 n keys at e/8     …
///
/// A nonscaling filter is one link at e. Links of RedisBloom 1 and 2.0 have 2^n2 bits and hashes of 32 bits; they keep
/// both, as do the links that they open.
///
/// Source:  ../shared/research/redisbloom-takeover.md, sections 1, 2 and 6; the fixtures in ../shared/data/redisbloom.
/// Limits:  4096 links. A link with more bits than its capacity and rate explain is refused.
/// Differs: filters of encodings 0 to 3 with no bits saved are accepted, which RedisBloom refuses since 2.8.20.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "mankai/base/error.hpp"
#include "mankai/base/region.hpp"
#include "mankai/takeover/bytes.hpp"
#include "mankai/takeover/fields.hpp"
#include "mankai/takeover/linked_bloom.hpp"

namespace mankai::takeover {

/// A link with the numbers that only RedisBloom's format has.
class ChainLink : public BitLink {
 public:
  struct Form {
    double bits_per_key = 0;
    std::uint8_t log2_bits = 0;  ///< 0, unless the number of bits is this power of 2
    bool has_wide_hashes = false;
  };

  ChainLink(const LinkShape& shape, const Form& form, Cells cells) noexcept
      : BitLink(shape, std::move(cells)), form_(form) {}

  [[nodiscard]] const Form& form() const noexcept { return form_; }
  /// 32 or 64.
  [[nodiscard]] unsigned hash_width() const noexcept { return form_.has_wide_hashes ? 64 : 32; }

 private:
  Form form_;
};

/// See the top of this file.
class BloomChain : public LinkedBloom<BloomChain, ChainLink, SteppedPositions> {
 public:
  static constexpr const char* kTypeName = "MBbloom--";
  static constexpr unsigned kEncver = 4;
  static constexpr double kTightening = 0.5;  ///< each link's rate divided by that of the one before
  /// Chunks are no larger.
  static constexpr std::size_t kMostChunkBytes = std::size_t{1} << 24;
  static constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

  struct Options {
    std::uint64_t keys = 100;     ///< capacity of the first link, at least 1
    double fpr = 0.01;            ///< between 0 and 1; RedisBloom 8 takes rates above 0.25 for 0.25 before
    std::uint32_t expansion = 2;  ///< capacity of each link divided by that of the one before
    bool is_nonscaling = false;
    Memory memory = system_memory();
  };

  /// Errors: invalid_argument; out_of_space.
  [[nodiscard]] static Result<BloomChain> create(const Options& options);
  /// An empty filter with the first link's parameters. Errors: out_of_space.
  [[nodiscard]] Result<BloomChain> create_like() const;
  /// Errors: out_of_space.
  [[nodiscard]] Result<BloomChain> clone() const;

  /// Reads a value of encoding 0 to 4. Allocates no more than the fields have. Errors: corrupt, unsupported_version,
  /// out_of_space, and those of the reader.
  [[nodiscard]] static Result<BloomChain> load(FieldReader& fields, unsigned encver,
                                               const Memory& memory = system_memory());
  /// Writes a value of encoding kEncver.
  void save(FieldWriter& fields) const;

  /// What SCANDUMP returns first: everything but the cells.
  [[nodiscard]] ByteBuffer header() const;
  /// The filter of a header, of this or an older form, with cells of zeros. Allocates nothing before all is checked,
  /// and at most `bytes_max` of cells. Errors: corrupt; out_of_space.
  [[nodiscard]] static Result<BloomChain> from_header(std::span<const std::byte> header,
                                                      std::uint64_t bytes_max = kNoLimit,
                                                      const Memory& memory = system_memory(),
                                                      CellsOfHeader cells = CellsOfHeader::all);

  /// A part of the cells, within one link. `iterator` is that of the next part.
  struct Chunk {
    std::uint64_t iterator = 0;  ///< 0 after the last part, which has no bytes
    std::span<const std::byte> bytes;
  };
  /// Returns the part at the iterator; the first one is at 1. Leaves out cells that never arrived. Valid until the
  /// filter changes.
  [[nodiscard]] Chunk chunk(std::uint64_t iterator) const noexcept;

  enum class ChunkStatus : std::uint8_t {
    copied,
    bad_iterator,  ///< below the number of bytes, or 0
    no_link,       ///< the part begins outside of all links
    too_big,       ///< the part ends outside of its link
    too_early,     ///< cells in front of it have not arrived
    out_of_memory,
  };
  /// Copies a part that ends before the iterator over the cells. May be repeated, in any sizes, and unless cells of a
  /// header are `arriving` in any order.
  [[nodiscard]] ChunkStatus load_chunk(std::uint64_t iterator, std::span<const std::byte> bytes);

  [[nodiscard]] bool is_nonscaling() const noexcept;
  [[nodiscard]] std::uint32_t expansion() const noexcept { return growth_; }
  /// The rate that the filter was created with.
  [[nodiscard]] double fpr_target() const noexcept;

 private:
  friend class LinkedBloom<BloomChain, ChainLink, SteppedPositions>;
  struct LinkFields;

  BloomChain(std::uint32_t options, std::uint32_t growth, const Memory& memory) noexcept
      : LinkedBloom(memory), options_(options), growth_(growth) {}

  static Result<LinkFields> plan_link(std::uint64_t keys, double fpr, std::uint32_t options);
  static Result<void> check_options(std::uint64_t options, std::uint64_t growth, std::uint64_t links);
  static Result<void> check_link(const LinkFields& link, std::uint32_t options);
  static LinkFields fields_of(const ChainLink& link) noexcept;
  Result<Cells> cells_of(const LinkFields& link) const;
  void append_link(const LinkFields& link, Cells cells);

  [[nodiscard]] KeyHashes hashes_of(std::string_view key) const noexcept;
  [[nodiscard]] AddResult open_link();

  std::uint32_t options_;
  std::uint32_t growth_;
};

}  // namespace mankai::takeover
