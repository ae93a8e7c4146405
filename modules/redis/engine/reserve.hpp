#pragma once

/// The parameters of our growing filters: RESERVE key error capacity [EXPANSION n] [HASH name] [SEED hex32] and, for
/// URLs, [RULES n]. Also their defaults (configs of the engine), and how replicas create the same filter.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "mankai/hash/hasher.hpp"
#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/redis_abi.hpp"
#include "modules/redis/engine/repeated_command.hpp"
#include "modules/redis/engine/settings.hpp"

namespace mankai::redis {

/// As HashSpec::random, without a system call each. Threads: the engine's main thread.
[[nodiscard]] HashSpec random_hash(HashKind kind = kDefaultHash) noexcept;

/// The options [HASH name] [SEED hex32] of RESERVE.
///
/// Compatibility: older versions wrote streams and AOF files with SEED and without HASH, and used SipHash. So SEED
/// without HASH means SipHash, and replicas always get the name of the hash.
class HashRequest {
 public:
  [[nodiscard]] static bool is_option(const Call& call, std::size_t index) noexcept;
  [[nodiscard]] Result<void> read(const Call& call, std::size_t index);

  [[nodiscard]] bool is_given() const noexcept { return kind_.has_value() || seed_.has_value(); }
  /// Whether it has the form that older versions send to replicas.
  [[nodiscard]] bool is_of_old_form() const noexcept { return seed_.has_value() && !kind_.has_value(); }
  /// [default seed: random]
  [[nodiscard]] HashSpec hash() const;

 private:
  std::optional<HashKind> kind_;
  std::optional<std::array<std::uint64_t, 2>> seed_;
};

/// Whether RESERVE is from a primary or an AOF file of RedisBloom: ours always give the hash of a filter.
[[nodiscard]] bool is_reserve_of_redisbloom(const Call& call, std::size_t first_option) noexcept;

/// What a growing filter is created with; replicas get all of it.
struct GrowingSettings {
  double fpr = 0;
  std::uint64_t capacity_keys = 0;  ///< of the first slice
  std::uint32_t expansion = 0;      ///< ratio of successive slices' capacities
  unsigned url_rules = 0;           ///< version of the rules that canonicalize items; 0: items are not URLs
  HashSpec hash;
};

inline constexpr long long kMaxCapacity = 1LL << 30;
inline constexpr long long kMaxExpansion = 32768;

/// The capacities that commands and configs take.
[[nodiscard]] constexpr IntegerSetting capacity_setting(long long initial, long long least = 1) noexcept {
  return {.initial = initial, .least = least, .most = kMaxCapacity};
}

/// Parameters that a command does not specify, set by the configs PREFIX-error-rate, PREFIX-initial-size and
/// PREFIX-expansion-factor. Must live as long as the module. Threads: the engine's main thread.
struct GrowingDefaults {
  const char* prefix;
  IntegerSetting capacity_keys;
  RateSetting fpr{.initial = 0.01};
  IntegerSetting expansion{.initial = 2, .least = 1, .most = kMaxExpansion};
  unsigned url_rules = 0;  ///< of new filters; 0: items are not URLs, and RESERVE has no RULES

  /// With a random seed.
  [[nodiscard]] GrowingSettings settings() const;
};

[[nodiscard]] int register_growing_configs(Context* context, GrowingDefaults& defaults) noexcept;

[[nodiscard]] Result<GrowingSettings> read_reserve(const Call& call, const GrowingDefaults& defaults);

/// Makes replicas and the AOF create the same filter, with its hash, seed and URL rules.
void replicate_reserve(const Call& call, RepeatedCommand& reserve, const GrowingSettings& settings) noexcept;

[[nodiscard]] Error not_made(const Error& error);

}  // namespace mankai::redis
