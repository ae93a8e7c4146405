#include "mankai/hash/hasher.hpp"

#include <sodium.h>

#include <cstring>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/hash/checksum.hpp"
#include "mankai/hash/detail/aes4_prf.hpp"
#include "mankai/hash/detail/nh_siphash.hpp"
#include "mankai/hash/detail/xxh3_batch.hpp"
#include "mankai/hash/murmur3.hpp"

// In this file only: keys of less than 240 bytes need no dispatch, and inlining saves 1.5 ns per key.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace mankai {
namespace {

[[gnu::noinline]] Digest xxh3_long(std::string_view key, std::uint64_t seed) noexcept {
  return {XXH3_64bits_withSeed(key.data(), key.size(), seed)};
}

// Longer keys need a stack frame, which costs the others 1 ns.
Digest xxh3(std::string_view key, std::uint64_t seed) noexcept {
  constexpr std::size_t kShort = 128;
  return key.size() > kShort ? xxh3_long(key, seed) : Digest{XXH3_64bits_withSeed(key.data(), key.size(), seed)};
}

Digest siphash(std::string_view text, const std::array<std::uint64_t, 2>& seed) noexcept {
  static_assert(sizeof(seed) == crypto_shorthash_siphash24_KEYBYTES);
  unsigned char out[crypto_shorthash_siphash24_BYTES];
  unsigned char key[crypto_shorthash_siphash24_KEYBYTES];
  std::memcpy(key, seed.data(), sizeof(key));
  crypto_shorthash_siphash24(out, reinterpret_cast<const unsigned char*>(text.data()), text.size(), key);
  Digest digest{};
  std::memcpy(&digest.value, out, sizeof(digest.value));
  return digest;
}

Digest murmur3(std::string_view key, const std::array<std::uint64_t, 2>& seed) noexcept {
  return {murmur3_x64_128(key, static_cast<std::uint32_t>(seed[0])).front()};
}

// Hashes that do not profit from batches of integers.
Digest slower(std::string_view key, const HashSpec& spec) noexcept {
  switch (spec.kind) {
    case HashKind::siphash: return siphash(key, spec.seed);
    case HashKind::aes4_prf: return aes4_prf::digest(aes4_prf::expanded_key(spec.seed), key);
    default: return murmur3(key, spec.seed);
  }
}

std::string_view bytes_of(const std::uint64_t& key) noexcept {
  return {reinterpret_cast<const char*>(&key), sizeof(key)};
}

template <class Key, class Hash>
void hash_each(std::span<const Key> keys, std::span<Digest> digests, const Hash& hash) noexcept {
  MANKAI_ASSERT(keys.size() == digests.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    digests[i] = hash(keys[i]);
  }
}

void xxh3_numbered(std::span<const std::string_view> keys, std::span<const std::uint8_t> numbers, std::uint64_t seed,
                   Digest* digests) noexcept {
  for (const std::uint8_t number : numbers) {
    digests[number] = xxh3(keys[number], seed);
  }
}

void xxh3_all(std::span<const std::string_view> keys, std::uint64_t seed, std::span<Digest> digests) noexcept {
  if (!xxh3_batch::pays(keys)) {
    return hash_each(keys, digests, [seed](std::string_view key) { return xxh3(key, seed); });
  }
  MANKAI_ASSERT(keys.size() == digests.size());
  xxh3_batch::Secret secret;
  static_assert(sizeof(secret) == XXH3_SECRET_DEFAULT_SIZE);
  XXH3_generateSecret_fromSeed(secret.data(), seed);
  xxh3_batch::hash(secret, seed, keys, xxh3_numbered, digests.data());
}

[[gnu::noinline]] std::uint64_t long_checksum(std::span<const std::byte> bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace

// As xxh3: a record of a journal has 8 or 16 bytes.
std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed) noexcept {
  constexpr std::size_t kShort = 16;
  return bytes.size() > kShort ? long_checksum(bytes, seed) : XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::string_view name(HashKind kind) noexcept {
  switch (kind) {
    case HashKind::xxh3: return "xxh3";
    case HashKind::siphash: return "siphash";
    case HashKind::murmur3: return "murmur3";
    case HashKind::nh_siphash: return "nh-siphash";
    case HashKind::aes4_prf: return "aes4-prf";
  }
  return "";
}

void draw_random(std::span<std::byte> bytes) noexcept {
  // Otherwise several threads could initialize the source at once.
  static const int kReady = ::sodium_init();
  MANKAI_ASSERT(kReady >= 0);
  randombytes_buf(bytes.data(), bytes.size());
}

HashSpec HashSpec::random(HashKind kind) {
  HashSpec spec{.kind = kind};
  draw_random(std::as_writable_bytes(std::span(spec.seed)));
  return trimmed(spec);
}

HashSpec trimmed(HashSpec spec) noexcept {
  constexpr std::uint64_t kLower = 0xffffffffU;
  spec.seed[0] &= spec.kind == HashKind::murmur3 ? kLower : ~std::uint64_t{0};
  spec.seed[1] &= is_keyed(spec.kind) ? ~std::uint64_t{0} : 0;
  return spec;
}

Result<void> check_seed(const HashSpec& spec) {
  if (trimmed(spec) == spec) {
    return {};
  }
  return fail(ErrorCode::invalid_argument, spec.kind == HashKind::murmur3
                                               ? "murmur3 takes a seed of 32 bits"
                                               : "xxh3 takes a seed of 64 bits; keyed hashes take 128");
}

[[gnu::flatten]] Digest Hasher::xxh3(std::string_view key, std::uint64_t seed) noexcept {
  return mankai::xxh3(key, seed);
}

Digest Hasher::other(std::string_view key) const noexcept {
  if (spec_.kind == HashKind::nh_siphash) {
    return nh_siphash::digest(spec_.seed, key);
  }
  return slower(key, spec_);
}

Digest Hasher::as_bytes(std::uint64_t key) const noexcept { return other(bytes_of(key)); }

void Hasher::operator()(std::span<const std::string_view> keys, std::span<Digest> digests) const noexcept {
  if (spec_.kind == HashKind::nh_siphash) {
    return nh_siphash::digests(nh_siphash::expanded_key(spec_.seed), keys, digests);
  }
  if (spec_.kind == HashKind::aes4_prf) {
    return aes4_prf::digests(aes4_prf::expanded_key(spec_.seed), keys, digests);
  }
  if (spec_.kind == HashKind::xxh3) {
    return xxh3_all(keys, spec_.seed[0], digests);
  }
  hash_each(keys, digests, [this](std::string_view key) { return slower(key, spec_); });
}

void Hasher::operator()(std::span<const std::uint64_t> keys, std::span<Digest> digests) const noexcept {
  if (spec_.kind == HashKind::nh_siphash) {
    return nh_siphash::digests(nh_siphash::expanded_key(spec_.seed), keys, digests);
  }
  if (spec_.kind == HashKind::xxh3) {
    const std::uint64_t seed = spec_.seed[0];
    return hash_each(keys, digests, [seed](std::uint64_t key) { return mix_integer(key, seed); });
  }
  hash_each(keys, digests, [this](std::uint64_t key) { return slower(bytes_of(key), spec_); });
}

}  // namespace mankai
