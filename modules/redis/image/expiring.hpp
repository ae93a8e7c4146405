#pragma once

/// Commands on filters whose items expire (Cuckoo with a time to live), shared by the families BF and CF.
///
/// The primary advances a filter to its clock's time before it changes the filter, and replicates that as
/// `PREFIX.ADVANCE key milliseconds`. Reads on a primary are answered by its clock. A replica answers by the time that
/// the primary replicated last, so it never treats an item as expired that the primary still finds.

#include <cstddef>
#include <span>
#include <string_view>

#include "mankai/filter/cuckoo/cuckoo.hpp"
#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/repeated_command.hpp"

namespace mankai::redis {

inline constexpr const char* kDoesNotExpire = "ERR items of this filter do not expire: reserve it with TTL";

/// Reads a number of seconds, which may have a fraction. `name` is the option's.
[[nodiscard]] Result<Duration> read_seconds(const Call& call, std::size_t index, const char* name);

/// Adds TTL and RESOLUTION to the creation of a filter whose items expire; for another, with a `max_ttl` of 0, nothing.
void add_expiry(RepeatedCommand& creation, Duration max_ttl, Duration resolution) noexcept;

/// Advances a filter whose items expire to the clock's time, and replicates that by `command`. Does nothing for other
/// filters, and for commands from a primary or an AOF file.
void advance_to_clock(const Call& call, Cuckoo& filter, const char* command);

/// PREFIX.ADVANCE key milliseconds.
[[nodiscard]] Answer advance(const Call& call, Cuckoo& filter);

/// Returns which keys may be present now. Shape: keys[c], answers[c].
void ask(const Call& call, const Cuckoo& filter, std::span<const std::string_view> keys, std::span<bool> answers);

}  // namespace mankai::redis
