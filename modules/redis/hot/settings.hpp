#pragma once

/// Arguments of HOT.RESERVE, and how replicas create the same filter.

#include <optional>

#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/reserve.hpp"
#include "modules/redis/hot/value.hpp"

namespace mankai::redis {

class HotRequest {
 public:
  /// Reads the options from argument `first` on. Errors: invalid_argument with the text of the reply.
  [[nodiscard]] Result<void> read(const Call& call, std::size_t first);
  /// [default seed: random] Errors: invalid_argument with the text of the reply.
  [[nodiscard]] Result<HotSettings> settings() const;

 private:
  [[nodiscard]] Result<void> read_option(const Call& call, std::size_t index);
  [[nodiscard]] Result<Decay> decay() const;

  std::optional<Duration> half_life_;
  std::optional<Duration> window_;
  std::optional<double> lambda_;
  std::optional<Duration> epoch_;
  std::optional<std::uint64_t> bytes_;
  std::optional<std::uint64_t> capacity_keys_;
  std::optional<double> fpr_;
  CountRounding rounding_ = CountRounding::strict;
  HashRequest hash_;
};

/// Makes replicas and the AOF create the same filter, with the exact λ, hash and seed.
void replicate_creation(const Call& call, const HotSettings& settings);

}  // namespace mankai::redis
