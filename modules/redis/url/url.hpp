#pragma once

#include "modules/redis/engine/redis_abi.hpp"

namespace mankai::redis {

/// Registers type, configs and commands of URL.*. Returns kOk or kError.
[[nodiscard]] int register_url(Context* context) noexcept;
/// The section of INFO.
void add_url_info(InfoState* info) noexcept;

}  // namespace mankai::redis
