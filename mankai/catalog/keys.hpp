#pragma once

/// Key bytes in, answers out, for any filter: each key is turned into digests as the filter's kind wants them
/// (KeyShape), after they were made canonical where the filter says so (canonical_version). Batches of some thousand
/// keys are the fast path; a call for a single URL allocates.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "mankai/catalog/kind.hpp"

namespace mankai {

/// Inserts keys in order; those of numbered kinds get the next numbers, those of kinds that keep values the value 0,
/// and those of kinds with time come when the filter stands. Errors: std::bad_alloc where a growing filter cannot grow.
/// Threads: as the filter's.
void insert_keys(AnyFilter& filter, std::span<const std::string_view> keys);
/// As insert_keys, and reports which keys had been seen before, in order. Shape: keys[c], seen[c].
void observe_keys(AnyFilter& filter, std::span<const std::string_view> keys, std::span<bool> seen);
/// Asks which keys may be in the filter. Shape: keys[c], outcomes[c].
void may_contain_keys(const AnyFilter& filter, std::span<const std::string_view> keys, std::span<bool> outcomes);

/// Moves a filter that forgets with time on to a moment. Errors: invalid_argument for a kind without time, and for a
/// moment before the one at which the filter stands, which is named: time does not go back.
[[nodiscard]] Result<void> advance_filter(AnyFilter& filter, Time time);
/// Returns the first moment of the epoch at which a filter stands; nothing for kinds without time.
[[nodiscard]] std::optional<Time> filter_time(const AnyFilter& filter) noexcept;

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

/// Asks how often keys came lately. Shape: keys[c], counts[c]. Errors: invalid_argument for a kind that does not say.
[[nodiscard]] Result<void> count_keys_lately(const AnyFilter& filter, std::span<const std::string_view> keys,
                                             std::span<DecayedCount> counts);

/// Puts a value beside each key, by which the key is later asked for it. Shape: keys[c], values[c]. Units: `strength`
/// is the share of a key's places that a put takes over, above 0 to 1. Errors: invalid_argument for a kind that keeps
/// no values.
[[nodiscard]] Result<void> put_values(AnyFilter& filter, std::span<const std::string_view> keys,
                                      std::span<const std::uint32_t> values, double strength);
/// Returns the values that were put beside a key lately, the strongest first; see RecentValues. Errors: as put_values.
[[nodiscard]] Result<std::vector<ValueMatches>> recall_values(const AnyFilter& filter, std::string_view key,
                                                              std::uint32_t min_matches);

}  // namespace mankai
