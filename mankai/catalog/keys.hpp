#pragma once

/// Key bytes in, answers out, for any filter: each key is turned into digests as the filter's kind wants them
/// (KeyShape), after they were made canonical where the filter says so (canonical_version). Batches of some thousand
/// keys are the fast path; a call for a single URL allocates.

#include <cstdint>
#include <span>
#include <string_view>

#include "mankai/catalog/kind.hpp"

namespace mankai {

/// Inserts keys in order; those of numbered kinds get the next numbers. Errors: std::bad_alloc where a growing filter
/// cannot grow. Threads: as the filter's.
void insert_keys(AnyFilter& filter, std::span<const std::string_view> keys);
/// As insert_keys, and reports which keys had been seen before, in order. Shape: keys[c], seen[c].
void observe_keys(AnyFilter& filter, std::span<const std::string_view> keys, std::span<bool> seen);
/// Asks which keys may be in the filter. Shape: keys[c], outcomes[c].
void may_contain_keys(const AnyFilter& filter, std::span<const std::string_view> keys, std::span<bool> outcomes);

/// Inserts keys with numbers. Shape: keys[c], ids[c]. Errors: invalid_argument for a kind that takes none, and for a
/// number below the filter's first one, which is named; the keys before it are in.
[[nodiscard]] Result<void> insert_keys_with_ids(AnyFilter& filter, std::span<const std::string_view> keys,
                                                std::span<const std::uint64_t> ids);

/// Takes keys out once each, in order. Shape: keys[c], results[c]. Errors: invalid_argument for a kind that cannot.
[[nodiscard]] Result<void> erase_keys(AnyFilter& filter, std::span<const std::string_view> keys,
                                      std::span<EraseResult> results);
/// As erase_keys, by number. Shape: keys[c], ids[c], results[c]. Errors: as insert_keys_with_ids and erase_keys.
[[nodiscard]] Result<void> erase_keys_with_ids(AnyFilter& filter, std::span<const std::string_view> keys,
                                               std::span<const std::uint64_t> ids, std::span<EraseResult> results);
/// Asks how often keys are in the filter. Shape: keys[c], counts[c]. Errors: invalid_argument for a kind that does not
/// count.
[[nodiscard]] Result<void> count_keys(const AnyFilter& filter, std::span<const std::string_view> keys,
                                      std::span<KeyCount> counts);

}  // namespace mankai
