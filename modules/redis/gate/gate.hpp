#pragma once

#include "modules/redis/engine/redis_abi.hpp"

namespace mankai::redis {

/// Registers type and commands of GATE.*. Returns kOk or kError.
[[nodiscard]] int register_gate(Context* context) noexcept;
/// The section of INFO.
void add_gate_info(InfoState* info) noexcept;

}  // namespace mankai::redis
