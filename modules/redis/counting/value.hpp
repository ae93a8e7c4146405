#pragma once

/// The filter behind a CBF.* key: counters in slices, and a range of ids to each (scalable_counting_bloom.hpp).

#include <cstddef>
#include <cstdint>
#include <utility>

#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"
#include "modules/redis/engine/reserve.hpp"
#include "modules/redis/image/lookup.hpp"

namespace mankai::redis {

class CountingValue {
 public:
  static constexpr ImageFamily kFamily = {.type_name = "mankai-cb",
                                          .magic = {'m', 'a', 'n', 'k', 'a', 'i', 'c', 'b'},
                                          .kind = ScalableCountingBloom::kKind,
                                          .layout = ImageLayout::sliced,
                                          .flags = 0,
                                          .state_bytes = 0,
                                          .is_of_one_moment = false,
                                          .section = "cbf",
                                          .load_command = "CBF.LOADCHUNK",
                                          .load_event = "cbf.loadchunk"};

  /// Errors: invalid_argument for an impossible request; out_of_space.
  [[nodiscard]] static Result<CountingValue> create(const GrowingSettings& settings);
  [[nodiscard]] static Result<CountingValue> from_image(AssembledImage image);
  explicit CountingValue(ScalableCountingBloom filter) noexcept : filter_(std::move(filter)) {}

  [[nodiscard]] ScalableCountingBloom& filter() noexcept { return filter_; }
  [[nodiscard]] const ScalableCountingBloom& filter() const noexcept { return filter_; }

  [[nodiscard]] ImageParts parts() const { return parts_of(filter_); }
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return filter_memory(filter_); }

  /// As GrowingFilter has them.
  [[nodiscard]] std::size_t memory_pieces() const noexcept { return filter_.memory_pieces(); }
  void relocate(std::size_t piece, const Mover& mover) noexcept { filter_.relocate(piece, mover); }

 private:
  ScalableCountingBloom filter_;
};

using CountingType = ImageType<CountingValue>;
using CountingKey = ImageKey<CountingValue>;
using CountingLookup = ImageLookup<CountingValue>;

}  // namespace mankai::redis
