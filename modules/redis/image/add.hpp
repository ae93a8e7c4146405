#pragma once

/// Adds keys in order to a growing filter, as long as there is room. Shared by the families of such filters.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "mankai/filter/parts/hash_windows.hpp"
#include "mankai/filter/parts/sliced_image.hpp"

namespace mankai::redis {

/// Why a batch ended early. A filter is full if it must not grow or has the maximal number of slices.
enum class AddStop : std::uint8_t { none, full, out_of_memory };

/// The first `done` keys were added; `stop` is why the next one was not.
struct AddReport {
  std::size_t done = 0;
  AddStop stop = AddStop::none;
};

template <class Filter>
[[nodiscard]] std::uint64_t room_in_newest(const Filter& filter) noexcept {
  const auto& newest = filter.slice(filter.slice_count() - 1);
  return newest.is_full() ? 0 : newest.capacity_keys() - newest.keys_inserted();
}

/// Returns a lower bound of the new keys that fit. New slices are no smaller than the newest.
template <class Filter>
[[nodiscard]] std::uint64_t room_in(const Filter& filter, bool may_grow) noexcept {
  constexpr std::uint64_t kPlenty = std::uint64_t{1} << 32;
  const std::uint64_t slices = may_grow ? kMaxSlices - filter.slice_count() : 0;
  const std::uint64_t each = std::min<std::uint64_t>(filter.slice(filter.slice_count() - 1).capacity_keys(), kPlenty);
  return room_in_newest(filter) + slices * each;
}

/// Returns the number of digests before the first one that is absent. Shape: at most kHashWindow.
template <class Filter>
[[nodiscard]] std::size_t known_before_absent(const Filter& filter, std::span<const Digest> digests) noexcept {
  std::array<bool, kHashWindow> known;
  const auto answers = std::span(known).first(digests.size());
  filter.may_contain(digests, answers);
  return static_cast<std::size_t>(std::ranges::find(answers, false) - answers.begin());
}

/// A single key is not worth a batch's arrays. Shape: digests[c], seen[c].
template <class Filter>
void observe(Filter& filter, std::span<const Digest> digests, std::span<bool> seen) {
  if (digests.size() == 1) {
    seen[0] = filter.observe(digests[0]);
  } else {
    filter.observe(digests, seen);
  }
}

/// Adds keys by `observe(digests, seen)`. A full filter accepts the keys that it contains, up to the first absent one.
/// Shape: digests[c], seen[c], c at most kHashWindow.
template <class Filter, class Observe>
AddReport add_in_order(const Filter& filter, std::span<const Digest> digests, std::span<bool> seen, bool may_grow,
                       const Observe& observe) {
  std::size_t done = 0;
  try {
    while (done < digests.size()) {
      const auto rest = digests.subspan(done);
      const std::uint64_t room = room_in(filter, may_grow);
      const std::size_t count = room != 0 ? static_cast<std::size_t>(std::min<std::uint64_t>(rest.size(), room))
                                          : known_before_absent(filter, rest);
      if (count == 0) {
        return {.done = done, .stop = AddStop::full};
      }
      observe(rest.first(count), seen.subspan(done, count));
      done += count;
    }
  } catch (const std::bad_alloc&) {
    // The keys before the one that got no memory were added and answered.
    return {.done = done + known_before_absent(filter, digests.subspan(done)), .stop = AddStop::out_of_memory};
  }
  return {.done = done};
}

}  // namespace mankai::redis
