#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "mankai/base/bits.hpp"
#include "mankai/base/error.hpp"
#include "mankai/hash/detail/nh_siphash.hpp"
#include "mankai/hash/digest.hpp"

namespace mankai {

/// The hash from key bytes to digests. The values are part of the image format.
enum class HashKind : std::uint8_t {
  xxh3 = 1,        ///< XXH3_64 with a 64-bit seed, for trusted keys: some published pairs collide under 1 of 1400 seeds
  siphash = 2,     ///< SipHash-2-4 with a 128-bit secret key: reviewed, but several times slower than nh_siphash
  murmur3 = 3,     ///< lower half of MurmurHash3_x64_128, 32-bit seed: for filters imported from programs that use it
  nh_siphash = 4,  ///< NH, then SipHash-1-3, with a 128-bit secret key: for keys that an adversary may choose
  aes4_prf = 5,    ///< AES rounds with a 128-bit secret key, faster, but only where processors have AES instructions
};

/// For new filters, whose keys may be untrusted.
inline constexpr HashKind kDefaultHash = HashKind::nh_siphash;

/// All hashes, the default first.
inline constexpr std::array kHashKinds = {kDefaultHash, HashKind::xxh3, HashKind::siphash, HashKind::murmur3,
                                          HashKind::aes4_prf};

/// Whether a stored number is that of a hash.
[[nodiscard]] constexpr bool is_hash_kind(std::uint64_t number) noexcept {
  return std::ranges::any_of(kHashKinds,
                             [number](HashKind kind) { return static_cast<std::uint64_t>(kind) == number; });
}

/// The name used in specs.
[[nodiscard]] std::string_view name(HashKind kind) noexcept;
/// Whether the hash resists an adversary who chooses keys, as long as its seed is secret.
[[nodiscard]] constexpr bool is_keyed(HashKind kind) noexcept {
  return kind == HashKind::nh_siphash || kind == HashKind::siphash || kind == HashKind::aes4_prf;
}

/// Fills bytes from the system's random source, by one system call. Threads: safe.
void draw_random(std::span<std::byte> bytes) noexcept;

/// A filter's hash and seed, stored in its image. Filters queried with the same digests share one.
struct HashSpec {
  HashKind kind = kDefaultHash;
  /// Keyed hashes use both words, little-endian, as their 16-byte key; xxh3 uses seed[0]; murmur3 its lower 32 bits.
  std::array<std::uint64_t, 2> seed{};

  /// Draws a seed from the system's random source. Threads: safe.
  [[nodiscard]] static HashSpec random(HashKind kind = kDefaultHash);

  friend bool operator==(const HashSpec&, const HashSpec&) = default;
};

/// Zeroes the bits of the seed that the hash does not use.
[[nodiscard]] HashSpec trimmed(HashSpec spec) noexcept;
/// Errors: invalid_argument if the seed has bits that the hash does not use.
[[nodiscard]] Result<void> check_seed(const HashSpec& spec);

/// Constants of mix_integer, for vector kernels. Source: MurmurHash3's finalizer [Appleby2011].
inline constexpr std::uint64_t kMixFirst = 0xff51afd7ed558ccdU;
inline constexpr std::uint64_t kMixSecond = 0xc4ceb9fe1a85ec53U;

/// The digest of a 64-bit integer key: the 128-bit product folded in half, multiplied once more. Measured as the
/// blocked filter's false-positive rate over its formula, on 67 key patterns (counters shifted by every distance, bits
/// reversed, pointers, doubles, floats, grids) at 1e3, 3e4 and 5e5 keys: never above 1.03, as good as MurmurHash3's
/// full finalizer and 0.3 ns faster; without the second multiplication it reaches 4.8 (docs/adr/0002).
[[nodiscard]] constexpr Digest mix_integer(std::uint64_t key, std::uint64_t seed) noexcept {
  return {multiply_folded(key ^ seed, kMixFirst) * kMixSecond};
}

/// Converts keys to digests.
///
/// Shape:   keys[c], digests[c]; same length; must not overlap. Any bytes, any length, also empty.
/// Cost:    URLs of 20 to 128 bytes in a batch: xxh3 5 to 8 ns, nh_siphash 3 to 4 ns more, siphash and murmur3 5 and 6
///          times as much. One at a time xxh3 takes 1.5 times as long as in a batch, nh_siphash 10 ns more. aes4_prf
///          takes 0.6 of nh_siphash's time with vectors of AES instructions, 0.3 us without any.
/// Threads: safe; stateless after construction. Each thread caches the expanded keys that it used last.
/// Source:  [Collet2019] XXH3_64bits_withSeed; [Aumasson2012] SipHash-2-4; [Appleby2011] MurmurHash3_x64_128;
///          [Black1999] NH, with [Aumasson2012] SipHash-1-3 (docs/adr/0014); [Minematsu2006] (docs/adr/0023).
class Hasher {
 public:
  explicit Hasher(const HashSpec& spec) noexcept : spec_(spec) {}

  [[nodiscard]] Digest operator()(std::string_view key) const noexcept {
    return spec_.kind == HashKind::xxh3 ? xxh3(key, spec_.seed[0]) : other(key);
  }
  /// xxh3 hashes integer keys by mix_integer, not as their eight bytes; other hashes take the bytes.
  [[nodiscard]] Digest operator()(std::uint64_t key) const noexcept {
    if (spec_.kind == HashKind::xxh3) [[likely]] {
      return mix_integer(key, spec_.seed[0]);
    }
    return as_bytes(key);
  }
  /// It would lose the fraction: hash the bytes or the text instead.
  Digest operator()(std::floating_point auto key) const = delete;
  void operator()(std::span<const std::string_view> keys, std::span<Digest> digests) const noexcept;
  void operator()(std::span<const std::uint64_t> keys, std::span<Digest> digests) const noexcept;

  [[nodiscard]] const HashSpec& spec() const noexcept { return spec_; }

 private:
  // Pure, so that a loop over keys keeps kind and seed in registers: 0.3 ns per integer key.
  [[nodiscard, gnu::pure]] static Digest xxh3(std::string_view key, std::uint64_t seed) noexcept;
  [[nodiscard, gnu::pure]] Digest other(std::string_view key) const noexcept;
  [[nodiscard, gnu::pure]] Digest as_bytes(std::uint64_t key) const noexcept;

  HashSpec spec_;
};

/// A Hasher of single keys that keeps the default hash's expanded key, in 448 bytes: 5 ns less per key than to look for
/// it in the thread's cache. Threads: safe.
class SingleHasher {
 public:
  explicit SingleHasher(const HashSpec& spec) noexcept
      : hash_(spec),
        key_(spec.kind == kDefaultHash ? nh_siphash::expanded_key(spec.seed) : nh_siphash::ExpandedKey{}) {}

  [[nodiscard]] Digest operator()(std::string_view key) const noexcept {
    static_assert(kDefaultHash == HashKind::nh_siphash);
    return hash_.spec().kind == kDefaultHash ? nh_siphash::digest(key_, key) : hash_(key);
  }

 private:
  Hasher hash_;
  nh_siphash::ExpandedKey key_;
};

}  // namespace mankai
