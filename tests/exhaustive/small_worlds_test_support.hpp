#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mankai/hash/digest.hpp"

// What the models of small worlds share.

namespace mankai::test {

/// The cells of a key.
using Positions = std::vector<std::size_t>;

struct Key {
  Digest digest;
  Positions positions;
};

/// Ends, neighbors of a block's border, and two that are neighbors and share a block.
inline constexpr std::array<std::uint64_t, 4> kDigests = {0, ~std::uint64_t{0}, 0x5555555555555556U,
                                                          0x5555555555555555U};

/// floor(uniform * range / 2^64) by schoolbook multiplication of halves.
inline std::uint64_t scaled(std::uint64_t uniform, std::uint64_t range) {
  const std::uint64_t low = (uniform & 0xffffffffU) * range;
  return ((uniform >> 32) * range + (low >> 32)) >> 32;
}

}  // namespace mankai::test
