#pragma once

/// The arguments that filters are made with, and how replicas are told to make the same filter.

#include <optional>
#include <string>

#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/reserve.hpp"
#include "modules/redis/hot/value.hpp"

namespace mankai::redis {

/// What HOT.RESERVE says about a filter.
class HotRequest {
 public:
  /// Reads the options from an argument on. Errors: invalid_argument with what to reply.
  [[nodiscard]] Result<void> read(const Call& call, std::size_t first);
  /// Draws a seed unless one was given. Errors: invalid_argument with what to reply.
  [[nodiscard]] Result<HotSettings> settings() const;

 private:
  [[nodiscard]] Result<void> read_option(const Call& call, std::size_t index);
  [[nodiscard]] Result<Decay> decay() const;

  std::optional<Duration> half_life_;
  std::optional<double> lambda_;
  std::optional<Duration> epoch_;
  std::optional<std::uint64_t> bytes_;
  std::optional<std::uint64_t> capacity_keys_;
  std::optional<double> fpr_;
  HashRequest hash_;
};

/// Tells replicas and the AOF to make the same filter: λ, hash and seed as they are computed with.
void replicate_creation(const Call& call, const HotSettings& settings);

}  // namespace mankai::redis
