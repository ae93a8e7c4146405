#pragma once

/// valkey-bloom's Bloom filter (type bloomfltr) in its own layout: it answers every key as valkey-bloom 1.0 does, false
/// positives included, grows by its rule, and is saved in its formats.
///
///     filter 0: n keys at e     filter 1: g n keys at e t     filter 2: g^2 n keys at e t^2     …
///
/// With an expansion g of 0 the first filter is the only one. All filters share a seed of 32 bytes.
///
/// Source:  ../shared/research/redisbloom-takeover.md, section 10; the fixtures in ../shared/data/redisbloom.
/// Limits:  4096 filters; capacities below 2^63.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/base/region.hpp"
#include "mankai/hash/siphash13.hpp"
#include "mankai/takeover/bytes.hpp"
#include "mankai/takeover/fields.hpp"
#include "mankai/takeover/linked_bloom.hpp"

namespace mankai::takeover {

/// The bits of a key: a, b, then a + i b modulo the largest prime below 2^64, all modulo the number of bits.
class ValkeyPositions {
 public:
  ValkeyPositions() noexcept = default;
  ValkeyPositions(KeyHashes key, const Modulus& modulus) noexcept : steps_(key, modulus) {}

  [[nodiscard]] std::uint64_t next() noexcept {
    constexpr std::uint64_t kPrime = 0xffffffffffffffc5U;
    const std::uint64_t sum = steps_.sum();
    const std::uint64_t position = steps_.next();
    const unsigned index = index_++;
    if (index == 1) {
      return steps_.step_position();
    }
    return index != 0 && sum >= kPrime ? (sum - kPrime) % steps_.modulus().bits() : position;
  }

 private:
  SteppedPositions steps_;
  unsigned index_ = 0;
};

/// See the top of this file.
class ValkeyBloom : public LinkedBloom<ValkeyBloom, BitLink, ValkeyPositions> {
 public:
  static constexpr const char* kTypeName = "bloomfltr";
  static constexpr unsigned kEncver = 1;

  using Seed = std::array<std::uint8_t, 32>;
  /// The seed of filters that are created without a random one.
  static constexpr Seed kFixedSeed = {0x59, 0x0f, 0xf5, 0x22, 0xea, 0x78, 0x11, 0xda, 0xa7, 0x14, 0xd8,
                                      0x09, 0x3b, 0x3e, 0x7b, 0xd9, 0x1d, 0x89, 0x8a, 0x73, 0x3e, 0x98,
                                      0x88, 0x87, 0x30, 0x7f, 0x97, 0xcd, 0x28, 0x07, 0x33, 0x83};

  struct Options {
    std::uint64_t keys = 100;     ///< capacity of the first filter, at least 1 and below 2^63
    double fpr = 0.01;            ///< of the first filter, between 0 and 1
    double tightening = 0.5;      ///< each filter's rate divided by that of the one before, between 0 and 1
    std::uint32_t expansion = 2;  ///< each filter's capacity divided by that of the one before; 0: nonscaling
    Seed seed = kFixedSeed;
    Memory memory = system_memory();
  };

  /// Errors: invalid_argument; out_of_space.
  [[nodiscard]] static Result<ValkeyBloom> create(const Options& options);
  /// An empty filter with the same options. Errors: out_of_space.
  [[nodiscard]] Result<ValkeyBloom> create_like() const;
  /// Errors: out_of_space.
  [[nodiscard]] Result<ValkeyBloom> clone() const;

  /// Reads a value of encoding 1. Allocates no more than the fields have. Errors: corrupt, unsupported_version,
  /// out_of_space, and those of the reader.
  [[nodiscard]] static Result<ValkeyBloom> load(FieldReader& fields, unsigned encver,
                                                const Memory& memory = system_memory());
  /// Writes a value of encoding kEncver.
  void save(FieldWriter& fields) const;

  /// Reads what BF.LOAD takes. Errors: corrupt, unsupported_version, out_of_space.
  [[nodiscard]] static Result<ValkeyBloom> from_blob(std::span<const std::byte> blob,
                                                     const Memory& memory = system_memory());
  /// Returns the argument of BF.LOAD.
  [[nodiscard]] ByteBuffer to_blob() const;

  [[nodiscard]] bool is_nonscaling() const noexcept { return rule_.expansion == 0; }
  [[nodiscard]] std::uint32_t expansion() const noexcept { return rule_.expansion; }
  /// Of the first filter.
  [[nodiscard]] double fpr_target() const noexcept { return rule_.fpr; }
  [[nodiscard]] double tightening() const noexcept { return rule_.tightening; }
  [[nodiscard]] const Seed& seed() const noexcept { return seed_; }

 private:
  friend class LinkedBloom<ValkeyBloom, BitLink, ValkeyPositions>;

  /// What is saved before the filters.
  struct Rule {
    std::uint32_t expansion = 0;
    double fpr = 0;
    double tightening = 0;
    bool is_seed_random = false;
  };

  ValkeyBloom(const Rule& rule, const Memory& memory) noexcept : LinkedBloom(memory), rule_(rule) {}

  static Result<ValkeyBloom> empty_of(std::uint64_t expansion, double fpr, double tightening,
                                      std::uint64_t is_seed_random, std::uint64_t filters, const Memory& memory);
  static Result<ValkeyBloom> of(const Rule& rule, const Seed& seed, std::uint64_t keys, const Memory& memory);
  Result<void> append_filter(const LinkShape& shape);
  Result<void> take_filter(std::span<const std::byte> bytes);
  Result<void> set_keys(std::uint64_t capacity_keys, std::uint64_t keys);
  [[nodiscard]] ByteBuffer bytes_of_filter(const BitLink& filter) const;
  void set_seed(std::span<const std::byte> seed) noexcept;

  [[nodiscard]] KeyHashes hashes_of(std::string_view key) const noexcept;
  [[nodiscard]] double fpr_of(std::size_t filter) const noexcept;
  [[nodiscard]] AddResult open_link();

  Rule rule_;
  Seed seed_{};
  std::array<SipHash13::Key, 2> hash_keys_{};
};

}  // namespace mankai::takeover
