#pragma once

#include "modules/redis/engine/redis_abi.hpp"

namespace mankai::redis {

/// Registers type and commands of FADE.*. Returns kOk or kError.
[[nodiscard]] int register_fade(Context* context) noexcept;
/// The section of INFO.
void add_fade_info(InfoState* info) noexcept;

}  // namespace mankai::redis
