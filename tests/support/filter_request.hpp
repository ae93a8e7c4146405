#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mankai/base/region.hpp"
#include "mankai/hash/hasher.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {

inline constexpr HashSpec kXxh3{.kind = HashKind::xxh3, .seed = {0x243f6a8885a308d3U, 0}};
inline constexpr HashSpec kNhSiphash{.kind = HashKind::nh_siphash, .seed = {0x082efa98ec4e6c89U, 0x452821e638d01377U}};
inline constexpr HashSpec kAes4Prf{.kind = HashKind::aes4_prf, .seed = {0xbe5466cf34e90c6cU, 0xc0ac29b7c97c50ddU}};
inline constexpr HashSpec kSiphash{.kind = HashKind::siphash, .seed = {0x13198a2e03707344U, 0xa4093822299f31d0U}};
/// With the seed of dablooms.
inline constexpr HashSpec kMurmur3{.kind = HashKind::murmur3, .seed = {0x97c29b3aU, 0}};

/// What a suite asks of every kind alike.
struct FilterRequest {
  std::uint64_t keys = 1000;
  double fpr = 0.01;
  HashSpec hash = kXxh3;
  Memory memory = system_memory();
};

/// Inserts so many random keys, drawn from the seed.
template <class F>
void insert_random(F& filter, std::uint64_t seed, std::size_t count) {
  const std::vector<Digest> digests = Random(seed).digests(count);
  filter.insert(std::span(digests));
}

/// The keys of a batch that an operation names: neighbors, every fourth one a twin of the first.
template <class Operation>
std::vector<Digest> batch_of(const Hasher& hash, const Operation& operation) {
  std::vector<Digest> digests;
  for (std::uint64_t i = 0; i < operation.count; ++i) {
    digests.push_back(hash(i % 4 == 3 ? operation.key : operation.key + i));
  }
  return digests;
}

}  // namespace mankai::test
