#pragma once

/// Constants of the files of dablooms 0.9.1; docs/formats/dablooms.md describes them.

#include <cstdint>

namespace mankai {

/// The seed of its hash, the lower half of MurmurHash3_x64_128.
inline constexpr std::uint32_t kDabloomsSeed = 0x97c29b3a;
/// Each filter's rate over that of the one before; the first one's over that of the whole.
inline constexpr double kDabloomsTightening = 0.5;
/// dablooms numbers the counters of a filter with 32 bits.
inline constexpr std::uint64_t kMaxDabloomsCounters = std::uint64_t{1} << 32;
/// A higher number of changes is damage: one change per microsecond takes 146,000 years to reach it.
inline constexpr std::uint64_t kMaxDabloomsSequence = std::uint64_t{1} << 62;

/// The start of a scaling file.
struct DabloomsHeader {
  std::uint64_t max_id;           //  0  the greatest so far
  std::uint64_t memory_sequence;  //  8  1 plus the number of changes; 0 during a change
  std::uint64_t disk_sequence;    // 16  equal to it if the file was flushed after the last change, else 0
};
static_assert(sizeof(DabloomsHeader) == 24);
static_assert(std::has_unique_object_representations_v<DabloomsHeader>);

/// The start of each filter, and of a counting file. Counters follow, two per byte, the first in the upper half.
struct DabloomsFilterHeader {
  std::uint64_t first_id;  //  0
  std::uint32_t keys;      //  8  additions minus removals
  std::uint32_t zero;      // 12
};
static_assert(sizeof(DabloomsFilterHeader) == 16);
static_assert(std::has_unique_object_representations_v<DabloomsFilterHeader>);

}  // namespace mankai
