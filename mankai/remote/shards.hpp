#pragma once

/// Which key of a server has an item: the shard of a filter that is spread over several keys, and the cluster slot of a
/// key. docs/redis/shards.md is the specification for other languages.

#include <cstdint>
#include <string>
#include <string_view>

namespace mankai {

inline constexpr std::uint16_t kRedisSlots = 16384;

/// The shard of an item: its CRC-32 (ISO-HDLC, as in zlib, gzip and PNG) modulo the number of shards. Pre: shards > 0.
/// Cost: about 0.3 ns per byte.
[[nodiscard]] std::uint32_t shard_of(std::string_view item, std::uint32_t shards) noexcept;

/// The key of a shard: NAME{SHARD}.
[[nodiscard]] std::string shard_key(std::string_view name, std::uint32_t shard);

/// The cluster slot of a key: CRC-16 (XMODEM) modulo 16384 of the text between its first braces, or of all of it.
/// Source: the cluster specification of Redis.
[[nodiscard]] std::uint16_t slot_of(std::string_view key) noexcept;

}  // namespace mankai
