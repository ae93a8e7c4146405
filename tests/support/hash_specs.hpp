#pragma once

#include "mankai/hash/hasher.hpp"

namespace mankai::test {

inline constexpr HashSpec kXxh3{.kind = HashKind::xxh3, .seed = {0x243f6a8885a308d3U, 0}};
inline constexpr HashSpec kNhSiphash{.kind = HashKind::nh_siphash, .seed = {0x082efa98ec4e6c89U, 0x452821e638d01377U}};
inline constexpr HashSpec kSiphash{.kind = HashKind::siphash, .seed = {0x13198a2e03707344U, 0xa4093822299f31d0U}};
/// With the seed of dablooms.
inline constexpr HashSpec kMurmur3{.kind = HashKind::murmur3, .seed = {0x97c29b3aU, 0}};

}  // namespace mankai::test
