#pragma once

/// Whose memory layout and file format a new value has, in families that RedisBloom has, too. Values of RedisBloom's
/// layout give the same answers there, grow by its rules, and can be loaded by it.

#include <cstdint>

#include "modules/redis/engine/call.hpp"

namespace mankai::redis {

enum class Layout : std::uint8_t { mankai, redisbloom, valkey_bloom };

/// For a command that does not give a hash. Clients get the layout of the config `layout`; ours, where that is
/// valkey-bloom's, which has Bloom filters only. A primary or an AOF file of ours always gives the hash, so a command
/// without it comes from RedisBloom.
[[nodiscard]] Layout layout_of_new_value(const Call& call) noexcept;

/// The same for a Bloom filter, which may have any layout.
[[nodiscard]] Layout layout_of_new_bloom_filter(const Call& call) noexcept;

/// Whether RedisBloom's values are created by the rules of its version 8 instead of 2: the config
/// `redisbloom-version`.
[[nodiscard]] bool is_redisbloom_8() noexcept;

/// Registers both configs. Returns kOk or kError.
[[nodiscard]] int register_layout_configs(Context* context) noexcept;

}  // namespace mankai::redis
