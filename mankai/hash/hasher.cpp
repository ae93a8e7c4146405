#include "mankai/hash/hasher.hpp"

#include <sodium.h>

#include <cstring>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/hash/checksum.hpp"

// Compiled into this file only: keys of less than 240 bytes need no dispatch, and inlining saves 1.5 ns a key.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace mankai {
namespace {

Digest xxh3(std::string_view key, std::uint64_t seed) noexcept {
  return {XXH3_64bits_withSeed(key.data(), key.size(), seed)};
}

Digest siphash(const void* data, std::size_t size, const std::array<std::uint64_t, 2>& seed) noexcept {
  static_assert(sizeof(seed) == crypto_shorthash_siphash24_KEYBYTES);
  unsigned char out[crypto_shorthash_siphash24_BYTES];
  unsigned char key[crypto_shorthash_siphash24_KEYBYTES];
  std::memcpy(key, seed.data(), sizeof(key));
  crypto_shorthash_siphash24(out, static_cast<const unsigned char*>(data), size, key);
  Digest digest{};
  std::memcpy(&digest.value, out, sizeof(digest.value));
  return digest;
}

}  // namespace

std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::string_view name(HashKind kind) noexcept { return kind == HashKind::xxh3 ? "xxh3" : "siphash"; }

HashSpec HashSpec::random(HashKind kind) {
  HashSpec spec{.kind = kind};
  // Before this, several threads could set up the source at once.
  static const int kReady = ::sodium_init();
  MANKAI_ASSERT(kReady >= 0);
  randombytes_buf(spec.seed.data(), sizeof(spec.seed));
  if (kind == HashKind::xxh3) {
    spec.seed[1] = 0;
  }
  return spec;
}

Digest Hasher::operator()(std::string_view key) const noexcept {
  return spec_.kind == HashKind::xxh3 ? xxh3(key, spec_.seed[0]) : siphash(key.data(), key.size(), spec_.seed);
}

Digest Hasher::keyed_integer(std::uint64_t key) const noexcept { return siphash(&key, sizeof(key), spec_.seed); }

void Hasher::operator()(std::span<const std::string_view> keys, std::span<Digest> digests) const noexcept {
  MANKAI_ASSERT(keys.size() == digests.size());
  if (spec_.kind == HashKind::xxh3) {
    const std::uint64_t seed = spec_.seed[0];
    for (std::size_t i = 0; i < keys.size(); ++i) {
      digests[i] = xxh3(keys[i], seed);
    }
    return;
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    digests[i] = siphash(keys[i].data(), keys[i].size(), spec_.seed);
  }
}

void Hasher::operator()(std::span<const std::uint64_t> keys, std::span<Digest> digests) const noexcept {
  MANKAI_ASSERT(keys.size() == digests.size());
  if (spec_.kind == HashKind::xxh3) {
    const std::uint64_t seed = spec_.seed[0];
    for (std::size_t i = 0; i < keys.size(); ++i) {
      digests[i] = mix_integer(keys[i], seed);
    }
    return;
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    digests[i] = keyed_integer(keys[i]);
  }
}

}  // namespace mankai
