#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "mankai/base/assert.hpp"
#include "mankai/filter/concepts.hpp"
#include "mankai/filter/parts/hash_windows.hpp"
#include "mankai/hash/hasher.hpp"

namespace mankai {
/// Batches of string keys, hashed by the filter's hash; fastest with up to kHashWindow keys per call. Shape: keys[c],
/// outcomes[c]. Cost: the hash (7 ns for 70 bytes) and the filter's batch; 32 KiB of stack. Errors: std::bad_alloc if a
/// growing filter cannot grow. Threads: as the filter's batches.
template <BatchFilter F>
void insert_keys(F& filter, std::span<const std::string_view> keys) {
  for_each_hashed_window(filter.hasher(), keys,
                         [&](std::size_t, std::span<const Digest> digests) { filter.insert(digests); });
}

/// As insert_keys; `seen` reports which keys were present before.
template <BatchFilter F>
void observe_keys(F& filter, std::span<const std::string_view> keys, std::span<bool> seen) {
  MANKAI_ASSERT(keys.size() == seen.size());
  for_each_hashed_window(filter.hasher(), keys, [&](std::size_t start, std::span<const Digest> digests) {
    filter.observe(digests, seen.subspan(start, digests.size()));
  });
}

/// As insert_keys, but queries.
template <BatchFilter F>
void may_contain_keys(const F& filter, std::span<const std::string_view> keys, std::span<bool> outcomes) noexcept {
  MANKAI_ASSERT(keys.size() == outcomes.size());
  for_each_hashed_window(filter.hasher(), keys, [&](std::size_t start, std::span<const Digest> digests) {
    filter.may_contain(digests, outcomes.subspan(start, digests.size()));
  });
}

}  // namespace mankai
