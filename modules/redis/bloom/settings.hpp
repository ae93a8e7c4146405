#pragma once

/// What a BF.* filter is made with: arguments of commands, configs of the engine and arguments of the module; and how
/// replicas are told to make the same filter.

#include <cstddef>

#include "modules/redis/bloom/value.hpp"
#include "modules/redis/engine/call.hpp"
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

/// What BF.RESERVE and BF.INSERT say about a filter.
class BloomRequest {
 public:
  BloomRequest() noexcept;

  // Each reads a value and returns whether it is one and in range.
  bool read_fpr(const Call& call, std::size_t index) noexcept;
  bool read_capacity(const Call& call, std::size_t index) noexcept;
  bool read_expansion(const Call& call, std::size_t index) noexcept;
  /// Reads HASH or SEED and its value. Errors: to be replied.
  Result<void> read_hash(const Call& call, std::size_t index) { return hash_.read(call, index); }
  void set_nonscaling() noexcept { is_nonscaling_ = true; }
  void set_deletable() noexcept { is_deletable_ = true; }

  /// Draws a seed unless one was given.
  [[nodiscard]] BloomSettings settings() const;

 private:
  double fpr_;
  long long capacity_keys_;
  long long expansion_;
  bool is_nonscaling_ = false;
  bool is_deletable_ = false;
  HashRequest hash_;
};

/// Tells replicas and the AOF to make the same filter, its hash and seed included.
void replicate_creation(const Call& call, const BloomSettings& settings);

}  // namespace mankai::redis
