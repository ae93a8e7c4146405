#pragma once

#include "modules/redis/engine/redis_abi.hpp"

namespace mankai::redis {

/// Registers type and commands of rules. Returns kOk or kError.
[[nodiscard]] int register_guard(Context* context) noexcept;
/// The section of INFO.
void add_guard_info(InfoState* info) noexcept;

}  // namespace mankai::redis
