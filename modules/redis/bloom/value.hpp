#pragma once

/// The filter behind a BF.* key: a scalable filter, or one that refuses what is more than it was made for; of bits, or
/// of counters when keys are to be taken out again.
///
/// RedisBloom's growth is ours with a tightening of a half: slice i is made for error / 2^(i+1), so that all of them
/// together stay below the error. A nonscaling filter is one slice made for the error itself.
///
/// A deletable filter counts every addition, also of a key that seems to be in: that may be a false positive, and a key
/// that was not counted in would be lost with the keys that it was taken for. So a key must be removed as often as it
/// was added. It is counted in the oldest slice that may hold it, which is also where it is removed: no removal is
/// ambiguous (scalable-counting-bloom).

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "mankai/filter/scalable_bloom/scalable_bloom.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"
#include "modules/redis/image/add.hpp"
#include "modules/redis/image/value.hpp"
#include "modules/redis/image/work.hpp"

namespace mankai::redis {

/// What a filter is made with; replicas get all of it.
struct BloomSettings {
  std::uint64_t capacity_keys = 0;
  double fpr = 0;
  std::uint32_t expansion = 0;  ///< each slice's keys over those of the one before; of no use when nonscaling
  bool is_nonscaling = false;
  bool is_deletable = false;
  HashSpec hash;
};

class BloomValue {
 public:
  using Filter = std::variant<ScalableBloom, ScalableCountingBloom>;

  /// Flags of a header: the filter refuses keys when it is full.
  static constexpr std::uint8_t kNonscaling = 1;
  static constexpr ImageFamily kFamily = {.type_name = "mankai-bf",
                                          .magic = {'m', 'a', 'n', 'k', 'a', 'i', 'b', 'f'},
                                          .kind = ScalableBloom::kKind,
                                          .other_kind = ScalableCountingBloom::kKind,
                                          .layout = ImageLayout::sliced,
                                          .flags = kNonscaling,
                                          .load_command = "bf.loadchunk"};

  /// Errors: out_of_space.
  [[nodiscard]] static Result<BloomValue> create(const BloomSettings& settings);
  /// Errors: corrupt, unsupported_version.
  [[nodiscard]] static Result<BloomValue> from_image(AssembledImage image);
  BloomValue(Filter filter, bool is_nonscaling) noexcept : filter_(std::move(filter)), is_nonscaling_(is_nonscaling) {}

  /// Adds keys in order while there is room, and tells which were new. Shape: keys[c], fresh[c]. Cost: a batch.
  [[nodiscard]] AddReport add(std::span<const std::string_view> keys, std::span<bool> fresh);
  /// Shape: keys[c], outcomes[c].
  void ask(std::span<const std::string_view> keys, std::span<bool> outcomes) const noexcept;
  /// Removes keys from a deletable filter, each once, and tells which were present. Shape: keys[c], removed[c].
  void remove(std::span<const std::string_view> keys, std::span<bool> removed) noexcept;

  /// Adds another filter's keys. Errors: invalid_argument when seeds or growth differ, or a filter is deletable;
  /// out_of_space when there is no memory, or no room in a nonscaling filter. Either leaves the filter as it was.
  [[nodiscard]] Result<void> merge(const BloomValue& other);
  /// Whether `merge` can take the other filter's keys beside so many more. Errors: as merge's.
  [[nodiscard]] Result<void> check_merge(const BloomValue& other, std::uint64_t keys_before) const;
  /// An empty one with the same parameters and the same seed. Errors: out_of_space.
  [[nodiscard]] Result<BloomValue> create_like() const;
  /// Whether there is nothing that `create_like` has not.
  [[nodiscard]] bool is_empty() const noexcept;

  [[nodiscard]] bool is_nonscaling() const noexcept { return is_nonscaling_; }
  [[nodiscard]] bool is_deletable() const noexcept { return std::holds_alternative<ScalableCountingBloom>(filter_); }
  [[nodiscard]] BloomSettings settings() const noexcept;
  /// The keys that the slices made so far have room for.
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept;
  /// Number of distinct keys, less those that were false positives when they were added.
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept;
  [[nodiscard]] std::size_t slice_count() const noexcept;
  [[nodiscard]] WorkShape work_shape() const noexcept;
  /// The rate of false positives of now. Cost: a pass over the cells.
  [[nodiscard]] double fpr_estimate() const noexcept;
  [[nodiscard]] ImageParts parts() const;
  /// Bytes that the filter allocates from the engine, without this object.
  [[nodiscard]] std::size_t heap_bytes() const noexcept;

  /// As GrowingFilter has them: the pieces of memory, and one of them is moved.
  [[nodiscard]] std::size_t memory_pieces() const noexcept;
  void relocate(std::size_t piece, const Mover& mover) noexcept;

  /// Calls `use(slice)` for each, oldest first; a slice is a BlockedBloom or a CountingBloom.
  template <class Use>
  void for_each_slice(const Use& use) const {
    std::visit(
        [&](const auto& filter) {
          for (std::size_t i = 0; i < filter.slice_count(); ++i) {
            use(filter.slice(i));
          }
        },
        filter_);
  }

 private:
  AddReport add_window(std::span<const Digest> digests, std::span<bool> seen);
  [[nodiscard]] Hasher hasher() const noexcept;

  [[no_unique_address]] Filter filter_;  // whose last bytes are free for the flag: there may be very many small filters
  bool is_nonscaling_;
};

}  // namespace mankai::redis
