#pragma once

#include "modules/redis/engine/redis_abi.hpp"

namespace mankai::redis {

/// Registers type and commands of HOT.*. Returns kOk or kError.
[[nodiscard]] int register_hot(Context* context) noexcept;
/// The section of INFO.
void add_hot_info(InfoState* info) noexcept;

}  // namespace mankai::redis
