#pragma once

/// What a BF.* filter is made with when the command does not say: configs of the engine, and arguments of the module.

#include <span>

#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/redis_abi.hpp"
#include "modules/redis/engine/reserve.hpp"

namespace mankai::redis {

/// A higher rate is taken as this one.
inline constexpr double kMaxFpr = 0.25;

/// Threads: the engine's main thread.
[[nodiscard]] const GrowingDefaults& bloom_defaults() noexcept;

/// Registers bf-error-rate, bf-initial-size and bf-expansion-factor. Returns kOk or kError.
[[nodiscard]] int register_bloom_configs(Context* context) noexcept;

/// Reads the arguments that RedisBloom 2 took when it was loaded: ERROR_RATE and INITIAL_SIZE, each with a
/// value; CF_MAX_EXPANSIONS is of no use here.
/// Returns kOk, or kError after it has been logged what is wrong.
[[nodiscard]] int read_bloom_arguments(const Call& arguments) noexcept;

}  // namespace mankai::redis
