#pragma once

#include <span>

#include "modules/redis/engine/commands.hpp"

namespace mankai::redis {

/// The BF.* commands with all that the engine tells about them.
[[nodiscard]] std::span<const Command> bloom_commands() noexcept;

}  // namespace mankai::redis
