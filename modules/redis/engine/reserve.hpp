#pragma once

/// The arguments that our own families' filters are made with: RESERVE key error capacity [EXPANSION n] [HASH name]
/// [SEED hex32] and, where the items are URLs, [RULES n]; their defaults (configs of the engine), and how
/// replicas are told to make the same filter.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "mankai/hash/hasher.hpp"
#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/redis_abi.hpp"

namespace mankai::redis {

/// The options [HASH name] [SEED hex32] of a RESERVE.
///
/// Commands keep their meaning: streams and AOF files that older versions wrote have a SEED and no HASH, and those
/// versions had SipHash alone. So SEED without HASH is SipHash, and replicas always get the name of the hash.
class HashRequest {
 public:
  /// Whether the argument is an option that `read` reads.
  [[nodiscard]] static bool is_option(const Call& call, std::size_t index) noexcept;
  /// Reads an option and the value after it, which may be missing. Errors: to be replied.
  [[nodiscard]] Result<void> read(const Call& call, std::size_t index);

  /// Whether it is what older versions tell replicas.
  [[nodiscard]] bool is_of_old_form() const noexcept { return seed_.has_value() && !kind_.has_value(); }
  /// Draws a seed unless one was given.
  [[nodiscard]] HashSpec hash() const;

 private:
  std::optional<HashKind> kind_;
  std::optional<std::array<std::uint64_t, 2>> seed_;
};

/// A hash as HashRequest reads it.
struct HashText {
  std::array<char, 16> name;  ///< after HASH
  std::array<char, 33> seed;  ///< after SEED: two words in hexadecimal
};
[[nodiscard]] HashText hash_text(const HashSpec& hash) noexcept;

/// What a filter that grows is made with; replicas get all of it.
struct GrowingSettings {
  double fpr = 0;
  std::uint64_t capacity_keys = 0;  ///< of the first slice
  std::uint32_t expansion = 0;      ///< each slice's keys over those of the one before
  unsigned url_rules = 0;           ///< version of the rules by which items become canonical; 0: they are no URLs
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
  unsigned url_rules = 0;         ///< of new filters; 0: their items are no URLs, and RESERVE has no RULES
  String* fpr_text = nullptr;     ///< as it was set: the engine asks for it

  /// Draws a seed.
  [[nodiscard]] GrowingSettings settings() const;
  /// Takes the text of a rate. Returns false, and changes nothing, where it is none.
  [[nodiscard]] bool set_fpr(String* value) noexcept;
};

/// Registers the configs. Returns kOk or kError.
[[nodiscard]] int register_growing_configs(Context* context, GrowingDefaults& defaults,
                                           unsigned flags = kConfigDefault) noexcept;

/// Reads the arguments of RESERVE after the key; draws a seed when there is none. Errors: to be replied.
[[nodiscard]] Result<GrowingSettings> read_reserve(const Call& call, const GrowingDefaults& defaults);

/// Tells replicas and the AOF to make the same filter: its hash, seed and URL rules included.
void replicate_reserve(const Call& call, const char* command, const GrowingSettings& settings) noexcept;

/// What to reply when a filter could not be made.
[[nodiscard]] Error not_made(const Error& error);

}  // namespace mankai::redis
