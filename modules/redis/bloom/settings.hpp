#pragma once

/// The arguments that filters are made with, and how a filter that was made is told to replicas.

#include <cstddef>

#include "modules/redis/bloom/value.hpp"
#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/reserve.hpp"

namespace mankai::redis {

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
