#pragma once

/// The arguments that our own families' filters are made with: RESERVE key error capacity [EXPANSION n] [SEED hex32],
/// what is taken when nobody says (configs of the engine), and how a filter that was made is told to replicas.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "mankai/hash/hasher.hpp"
#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/redis_abi.hpp"

namespace mankai::redis {

/// A seed as two words in hexadecimal, and the 0 behind them.
using SeedText = std::array<char, 33>;

/// Reads 32 hexadecimal digits as the seed of our keyed hash: keys come from strangers.
[[nodiscard]] std::optional<HashSpec> read_seed(std::string_view text) noexcept;
[[nodiscard]] SeedText seed_text(const HashSpec& hash) noexcept;

/// What a filter that grows is made with; all of it is told to replicas.
struct GrowingSettings {
  double fpr = 0;
  std::uint64_t capacity_keys = 0;  ///< of the first slice
  std::uint32_t expansion = 0;      ///< each slice's keys over those of the one before
  HashSpec hash;
};

// Limits of a reservation.
inline constexpr long long kMaxCapacity = 1LL << 30;
inline constexpr long long kMaxExpansion = 32768;

/// What a family's filters are made with when the command does not say; the configs PREFIX-error-rate,
/// PREFIX-initial-size and PREFIX-expansion-factor set it. It lives as long as the module.
///
/// Threads: the engine's main thread.
struct GrowingDefaults {
  const char* prefix;
  long long capacity_keys;
  double fpr = 0.01;
  long long expansion = 2;
  long long least_expansion = 1;  ///< that the config may be set to
  String* fpr_text = nullptr;     ///< as it was set: the engine asks for it

  /// Draws a seed.
  [[nodiscard]] GrowingSettings settings() const;
  /// Takes the text of a rate. Returns false, and changes nothing, where it is none.
  [[nodiscard]] bool set_fpr(String* value) noexcept;
};

/// Registers the configs. Returns kOk or kError.
[[nodiscard]] int register_growing_configs(Context* context, GrowingDefaults& defaults,
                                           unsigned flags = kConfigDefault) noexcept;

/// Reads the arguments of RESERVE behind the key; draws a seed when there is none. Returns the error to reply, or null.
[[nodiscard]] const char* read_reserve(const Call& call, const GrowingDefaults& defaults, GrowingSettings& settings);

/// Tells replicas and the AOF to make the same filter, its seed included.
void replicate_reserve(const Call& call, const char* command, String* key, const GrowingSettings& settings) noexcept;

/// Replies with what went wrong when a filter was made.
int reply_not_made(const Call& call, const Error& error);

}  // namespace mankai::redis
