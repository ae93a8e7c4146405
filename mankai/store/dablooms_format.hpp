#pragma once

/// The files of dablooms 0.9.1, byte by byte: docs/formats/dablooms.md describes them, this file has the constants.

#include <cstdint>
#include <type_traits>

namespace mankai {

/// The seed of its hash, the lower half of MurmurHash3_x64_128.
inline constexpr std::uint32_t kDabloomsSeed = 0x97c29b3a;
/// Each filter's rate over that of the one before; the first one's over that of the whole.
inline constexpr double kDabloomsTightening = 0.5;
/// It numbers the counters of a filter with 32 bits.
inline constexpr std::uint64_t kMaxDabloomsCounters = std::uint64_t{1} << 32;
/// A number of changes above it is damage: our own files count no further either, and it is a change a microsecond for
/// 146 000 years.
inline constexpr std::uint64_t kMaxDabloomsSequence = std::uint64_t{1} << 62;

/// What a scaling file begins with. No field but that of a filter is aligned in the file.
struct DabloomsHeader {
  std::uint64_t max_id;           //  0  the greatest so far
  std::uint64_t memory_sequence;  //  8  1, and one more with each change; 0 while one is under way
  std::uint64_t disk_sequence;    // 16  the same when the file was flushed and not changed since, else 0
};
static_assert(sizeof(DabloomsHeader) == 24);
static_assert(std::has_unique_object_representations_v<DabloomsHeader>);

/// What each filter begins with, and a counting file. Counters follow: two in a byte, the first in the upper half.
struct DabloomsFilterHeader {
  std::uint64_t first_id;  //  0
  std::uint32_t keys;      //  8  additions less removals
  std::uint32_t zero;      // 12
};
static_assert(sizeof(DabloomsFilterHeader) == 16);
static_assert(std::has_unique_object_representations_v<DabloomsFilterHeader>);

}  // namespace mankai
