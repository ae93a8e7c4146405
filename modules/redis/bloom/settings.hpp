#pragma once

/// The settings of a BF.* filter: arguments of commands, configs of the engine, arguments of the module; and how they
/// are replicated.

#include <cstddef>
#include <optional>

#include "modules/redis/bloom/value.hpp"
#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/reserve.hpp"

namespace mankai::redis {

/// Higher rates are lowered to this one.
inline constexpr double kMaxFpr = 0.25;

/// Threads: the engine's main thread.
[[nodiscard]] const GrowingDefaults& bloom_defaults() noexcept;

/// Registers the configs of RedisBloom (bf-*) and of valkey-bloom (bloom-*). Returns kOk or kError.
[[nodiscard]] int register_bloom_configs(Context* context) noexcept;

/// The options of BF.RESERVE and BF.INSERT.
class BloomRequest {
 public:
  BloomRequest() noexcept;

  // Each reads a value and returns whether it is valid and, from clients, in range.
  bool read_fpr(const Call& call, std::size_t index) noexcept;
  bool read_capacity(const Call& call, std::size_t index) noexcept;
  bool read_expansion(const Call& call, std::size_t index) noexcept;
  /// Reads HASH or SEED and its value. Errors: to be replied.
  Result<void> read_hash(const Call& call, std::size_t index) { return hash_.read(call, index); }
  /// Reads TTL or RESOLUTION and its value. Errors: to be replied.
  [[nodiscard]] static bool is_ttl_option(const Call& call, std::size_t index) noexcept {
    return call.is(index, "TTL") || call.is(index, "RESOLUTION");
  }
  Result<void> read_ttl(const Call& call, std::size_t index);
  /// Reads BOUND and its value. Errors: to be replied.
  Result<void> read_bound(const Call& call, std::size_t index);
  // What valkey-bloom's primaries send.
  bool read_tightening(const Call& call, std::size_t index) noexcept;
  bool read_valkey_seed(const Call& call, std::size_t index) noexcept;
  void set_nonscaling() noexcept { is_nonscaling_ = true; }
  void set_deletable() noexcept { is_deletable_ = true; }

  /// Draws a seed unless one was given. A filter that a primary or an AOF file creates without a seed is RedisBloom's,
  /// because ours always send one. Errors: to be replied, for options that cannot be combined with TTL.
  [[nodiscard]] Result<BloomSettings> settings(const Call& call) const;

 private:
  [[nodiscard]] Layout layout(const Call& call) const noexcept;

  double fpr_;
  long long capacity_keys_;
  long long expansion_;
  bool is_nonscaling_ = false;
  bool is_deletable_ = false;
  Duration max_ttl_{};
  Duration ttl_resolution_{};
  HashRequest hash_;
  std::optional<FprBound> bound_;
  double tightening_;
  std::optional<takeover::ValkeyBloom::Seed> valkey_seed_;
};

/// Replicates the creation of a filter, with its hash and seed.
void replicate_creation(const Call& call, const BloomSettings& settings, const BloomValue& created);

}  // namespace mankai::redis
