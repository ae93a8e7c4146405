#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace mankai {

/// The expansion of a seed by `kExpand`, of the thread's 16 latest. The reference is valid until the thread's next
/// call. Hashers are short-lived and may alternate between two seeds. So the cache is per thread, and only
/// SingleHasher carries an expanded key. `ExpandedKey` has the members `seed` and `is_made`. Threads: safe.
template <class ExpandedKey, void (*kExpand)(const std::array<std::uint64_t, 2>& seed, ExpandedKey& key) noexcept>
[[nodiscard]] ExpandedKey& cached_key(const std::array<std::uint64_t, 2>& seed) noexcept {
  constexpr std::size_t kSets = 8;
  static constinit thread_local std::array<std::array<ExpandedKey, 2>, kSets> sets{};
  auto& [latest, other] = sets[seed[0] % kSets];
  // Not ==, which calls memcmp.
  const auto is_here = [&](const ExpandedKey& key) {
    return key.is_made && key.seed[0] == seed[0] && key.seed[1] == seed[1];
  };
  if (is_here(latest)) [[likely]] {
    return latest;
  }
  if (!is_here(other)) {
    other = latest;
    kExpand(seed, latest);
    latest.seed = seed;
    latest.is_made = true;
    return latest;
  }
  return other;
}

}  // namespace mankai
