#pragma once

/// Limits the work of one command, because the engine runs one command at a time while all clients wait.
///
/// A grown filter tests each item in all of its sub-filters. With many of these (EXPANSION 1), a large batch would take
/// seconds; such a batch is refused as a whole. Filters with few sub-filters never reach the limit. Values that were
/// taken over may be forged, so all that their parameters make an item cost is counted.

#include <cstdint>
#include <type_traits>

#include "mankai/base/bits.hpp"
#include "mankai/filter/parts/sliced_image.hpp"
#include "mankai/takeover/linked_bloom.hpp"
#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/reserve.hpp"
#include "modules/redis/image/add.hpp"
#include "modules/redis/image/value.hpp"

namespace mankai::redis {

/// Units of work: an item in a sub-filter, with up to 8 probes. Takes 0.1 to 0.5 s (docs/redis/latency.md).
inline constexpr std::uint64_t kMostWork = std::uint64_t{1} << 24;
inline constexpr const char* kTooMuchWork =
    "ERR too many items in one command for a filter with so many sub-filters; send fewer items per command";

struct WorkShape {
  std::uint64_t slices = 1;
  std::uint64_t per_item = slices;  ///< work of an item in all slices
  std::uint64_t per_opened = 1;     ///< and in each that is opened
  std::uint64_t room = 0;           ///< new items that fit the newest slice
  std::uint64_t newest = 0;         ///< capacity of the newest slice
  std::uint64_t expansion = 0;      ///< ratio of successive slices' capacities; 0: does not grow
};

/// Of an item in a sub-filter, in cache lines.
template <class Slice>
[[nodiscard]] std::uint64_t work_in(const Slice& slice) noexcept {
  if constexpr (std::is_base_of_v<takeover::BitLink, Slice>) {
    constexpr unsigned kProbes = 8;
    return divide_up(slice.probes_per_key(), kProbes);
  } else if constexpr (requires { slice.blocks_per_key(); }) {
    return slice.blocks_per_key();
  } else {
    return 1;
  }
}

/// Of a growing filter of ours, or of one in another module's layout.
template <class Filter>
[[nodiscard]] WorkShape work_shape(const Filter& filter, bool may_grow = true) noexcept {
  std::uint64_t expansion = 0;
  if constexpr (requires { filter.growth(); }) {
    expansion = filter.growth().factor;
  } else {
    expansion = filter.expansion();
  }
  std::uint64_t per_item = 0;
  for_each_slice(filter, [&](const auto& slice) { per_item += work_in(slice); });
  const auto& newest = filter.slice(filter.slice_count() - 1);
  // A sub-filter that is opened has a few probes more.
  const std::uint64_t per_opened = work_in(newest) == 1 ? 1 : work_in(newest) + 1;
  return {.slices = filter.slice_count(),
          .per_item = per_item,
          .per_opened = per_opened,
          .room = room_in_newest(filter),
          .newest = newest.capacity_keys(),
          .expansion = may_grow ? expansion : 0};
}

/// Of an existing filter, or of one created by default. Pre: `Value` has a growing filter.
template <class Value>
[[nodiscard]] WorkShape work_shape(const Value* value, const GrowingDefaults& defaults) noexcept {
  if (value != nullptr) {
    return work_shape(value->filter());
  }
  const auto keys = static_cast<std::uint64_t>(defaults.capacity_keys.value);
  return {.room = keys, .newest = keys, .expansion = static_cast<std::uint64_t>(defaults.expansion.value)};
}

/// The work of adding new items, including the slices that they open.
[[nodiscard]] constexpr std::uint64_t work_of_adding(WorkShape shape, std::uint64_t items) noexcept {
  constexpr std::uint64_t kPlenty = std::uint64_t{1} << 32;
  std::uint64_t work = 0;
  while (items > shape.room && shape.expansion != 0 && shape.slices < kMaxSlices) {
    work += shape.room * shape.per_item;
    items -= shape.room;
    // Divided first: a restored image may claim any capacity, and the product would overflow.
    shape.newest = shape.newest < kPlenty / shape.expansion ? shape.newest * shape.expansion : kPlenty;
    shape.room = shape.newest;
    ++shape.slices;
    shape.per_item += shape.per_opened;
  }
  return work + items * shape.per_item;
}

/// The items of a command from argument `first` on, one every `step` arguments, weighed by their bytes, for values that
/// hash an item once per row.
[[nodiscard]] inline std::uint64_t weighed_items(const Call& call, std::size_t first, std::size_t step) noexcept {
  constexpr std::size_t kBytes = 64;
  std::uint64_t items = 0;
  for (std::size_t i = first; i < call.size(); i += step) {
    items += 1 + call.text(i).size() / kBytes;
  }
  return items;
}

/// Whether to refuse a client's command. Those of the primary and of AOF files are exempt: they were accepted before.
[[nodiscard]] inline bool is_too_much(const Call& call, std::uint64_t work) noexcept {
  return work > kMostWork && call.is_from_client();
}

}  // namespace mankai::redis
