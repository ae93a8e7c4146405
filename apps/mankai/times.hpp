#pragma once

#include <optional>

#include "apps/mankai/subcommand.hpp"
#include "mankai/store/store.hpp"

namespace mankai::command {

/// What the clock says.
[[nodiscard]] Time clock_now();

/// Reads a moment, as parse_time, or now. Errors: as parse_time's.
[[nodiscard]] Result<Time> parse_moment(std::string_view text);
/// --at: a moment, or now, which is when the option is read.
[[nodiscard]] Option at_option(std::string help, std::optional<Time>& target);

/// Moves a filter that forgets with time to the moment given. Errors: invalid_argument as advance_filter's.
[[nodiscard]] Result<void> advance_to(AnyFilter& filter, std::optional<Time> time);
/// Moves a store's filter to the moment given; where none is given, to now, or not at all if the filter stands later
/// than that or has no time. Errors: as Store::advance's.
[[nodiscard]] Result<void> advance_to_now(Store& store, std::optional<Time> time);

}  // namespace mankai::command
