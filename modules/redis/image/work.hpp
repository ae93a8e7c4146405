#pragma once

/// How much work one command may be: the engine runs one command at a time, and all clients wait.
///
/// A filter that grew asks each of its sub-filters about an item. With many of them (EXPANSION 1) a large batch takes
/// seconds, so it is refused before anything is done. Filters with few sub-filters never reach the limit.

#include <cstdint>

#include "mankai/filter/parts/sliced_image.hpp"
#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/reserve.hpp"
#include "modules/redis/image/add.hpp"

namespace mankai::redis {

/// Items times the sub-filters that each is asked of: 0.1 to 0.5 s (docs/redis/latency.md).
inline constexpr std::uint64_t kMostWork = std::uint64_t{1} << 24;
inline constexpr const char* kTooMuchWork =
    "ERR too many items in one command for a filter with so many sub-filters; send fewer items per command";

/// A filter as far as its work goes.
struct WorkShape {
  std::uint64_t slices = 1;
  std::uint64_t room = 0;       ///< new items that the newest slice takes
  std::uint64_t newest = 0;     ///< items that it was made for
  std::uint64_t expansion = 0;  ///< each slice's items over those of the one before; 0: it never grows
};

template <class Filter>
[[nodiscard]] WorkShape work_shape(const Filter& filter, bool may_grow = true) noexcept {
  return {.slices = filter.slice_count(),
          .room = room_in_newest(filter),
          .newest = filter.slice(filter.slice_count() - 1).capacity_keys(),
          .expansion = may_grow ? filter.growth().factor : 0};
}

/// The same for the filter that there is, or that would be made of the defaults. Pre: `Value` has a filter that grows.
template <class Value>
[[nodiscard]] WorkShape work_shape(const Value* value, const GrowingDefaults& defaults) noexcept {
  if (value != nullptr) {
    return work_shape(value->filter());
  }
  const auto keys = static_cast<std::uint64_t>(defaults.capacity_keys);
  return {.room = keys, .newest = keys, .expansion = static_cast<std::uint64_t>(defaults.expansion)};
}

/// The work of items all of which are new, when they open slices.
[[nodiscard]] constexpr std::uint64_t work_of_adding(WorkShape shape, std::uint64_t items) noexcept {
  constexpr std::uint64_t kPlenty = std::uint64_t{1} << 32;
  std::uint64_t work = 0;
  while (items > shape.room && shape.expansion != 0 && shape.slices < kMaxSlices) {
    work += shape.room * shape.slices;
    items -= shape.room;
    // Divided first: a restored image may claim any capacity, with which the product wraps.
    shape.newest = shape.newest < kPlenty / shape.expansion ? shape.newest * shape.expansion : kPlenty;
    shape.room = shape.newest;
    ++shape.slices;
  }
  return work + items * shape.slices;
}

/// Whether a command of a client is to be refused. What the primary has done, and what was done before, is done again.
[[nodiscard]] inline bool is_too_much(const Call& call, std::uint64_t work) noexcept {
  return work > kMostWork && call.is_from_client();
}

}  // namespace mankai::redis
