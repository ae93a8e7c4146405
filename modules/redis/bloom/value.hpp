#pragma once

/// The filter behind a BF.* key: a scalable filter, or one that refuses what is more than it was made for.
///
/// RedisBloom's growth is ours with a tightening of a half: slice i is made for error / 2^(i+1), so that all of them
/// together stay below the error. A nonscaling filter is one slice made for the error itself.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "mankai/filter/scalable_bloom.hpp"

namespace mankai::redis {

/// What a filter is made with; all of it is told to replicas.
struct BloomSettings {
  std::uint64_t capacity_keys = 0;
  double fpr = 0;
  std::uint32_t expansion = 0;  ///< each slice's keys over those of the one before; of no use when nonscaling
  bool is_nonscaling = false;
  HashSpec hash;
};

/// Why a batch of keys ended early.
enum class AddStop : std::uint8_t { none, full, out_of_memory };

/// The first `done` keys of a batch are in; the one behind them met `stop`.
struct AddReport {
  std::size_t done = 0;
  AddStop stop = AddStop::none;
};

class BloomValue {
 public:
  /// Errors: out_of_space.
  [[nodiscard]] static Result<BloomValue> create(const BloomSettings& settings);
  BloomValue(ScalableBloom filter, bool is_nonscaling) noexcept
      : filter_(std::move(filter)), is_nonscaling_(is_nonscaling) {}

  /// Adds keys in order, as far as there is room, and tells which were new. Shape: keys[c], fresh[c]. Cost: a batch.
  [[nodiscard]] AddReport add(std::span<const std::string_view> keys, std::span<bool> fresh);
  /// Shape: keys[c], outcomes[c].
  void ask(std::span<const std::string_view> keys, std::span<bool> outcomes) const noexcept;

  /// Adds another filter's keys. Errors: invalid_argument when seeds or growth differ; out_of_space when there is no
  /// memory, or no room in a nonscaling filter. Either leaves the filter as it was.
  [[nodiscard]] Result<void> merge(const BloomValue& other);
  /// Whether `merge` can take the other filter's keys beside so many more. Errors: as merge's.
  [[nodiscard]] Result<void> check_merge(const BloomValue& other, std::uint64_t keys_before) const;
  /// An empty one with the same parameters and the same seed. Errors: out_of_space.
  [[nodiscard]] Result<BloomValue> create_like() const;
  /// Whether there is anything that `create_like` has not.
  [[nodiscard]] bool is_empty() const noexcept { return filter_.keys_inserted() == 0 && filter_.slice_count() == 1; }

  [[nodiscard]] const ScalableBloom& filter() const noexcept { return filter_; }
  [[nodiscard]] bool is_nonscaling() const noexcept { return is_nonscaling_; }
  [[nodiscard]] BloomSettings settings() const noexcept;
  /// What the filter takes from the engine, this object included.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;

 private:
  AddReport add_window(std::span<const Digest> digests, std::span<bool> seen);
  AddReport add_growing(std::span<const Digest> digests, std::span<bool> seen);
  AddReport add_bounded(std::span<const Digest> digests, std::span<bool> seen);
  [[nodiscard]] std::size_t known_before_stranger(std::span<const Digest> digests) const;

  ScalableBloom filter_;
  bool is_nonscaling_;
};

}  // namespace mankai::redis
