#pragma once

#include <compare>
#include <cstdint>

namespace mankai {

/// The 64-bit hash of a key, computed once; all further code uses digests. 64 bits are enough: two of 2^30 keys share
/// one with probability 3 %, far below any filter's rate, and a 128-bit hash of a string costs 1.2 to 1.7 times more.
struct Digest {
  std::uint64_t value;

  friend constexpr auto operator<=>(Digest, Digest) noexcept = default;
};

}  // namespace mankai
