#pragma once

#include <optional>

#include "mankai/filter/any_filter.hpp"
#include "mankai/gate/gate_position.hpp"
#include "mankai/store/source_position.hpp"

namespace mankai::detail {

/// Errors: invalid_argument for a filter that cannot be a gate's.
[[nodiscard]] Result<void> check_is_gate(const AnyFilter& filter);

/// What a gate's file says of its source, if it does. Errors: corrupt.
[[nodiscard]] Result<std::optional<GatePosition>> gate_position_of(const SourcePosition& kept);

}  // namespace mankai::detail
