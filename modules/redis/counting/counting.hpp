#pragma once

#include "modules/redis/engine/redis_abi.hpp"

namespace mankai::redis {

/// Registers type, configs and commands of CBF.*. Returns kOk or kError.
[[nodiscard]] int register_counting(Context* context) noexcept;
/// The section of INFO.
void add_counting_info(InfoState* info) noexcept;

}  // namespace mankai::redis
