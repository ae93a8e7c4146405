#pragma once

/// The filter of a CBF.* key: counters in slices, with a range of ids per slice (scalable_counting_bloom.hpp).

#include <utility>

#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"
#include "modules/redis/engine/reserve.hpp"
#include "modules/redis/image/key.hpp"
#include "modules/redis/image/value.hpp"

namespace mankai::redis {

class CountingValue : public FilterValue<ScalableCountingBloom> {
 public:
  static constexpr ImageFamily kFamily = {.type_name = "mankai-cb",
                                          .magic = {'m', 'a', 'n', 'k', 'a', 'i', 'c', 'b'},
                                          .kinds = {ScalableCountingBloom::kKind},
                                          .layout = ImageLayout::sliced,
                                          .load_command = "cbf.loadchunk"};

  [[nodiscard]] static Result<CountingValue> create(const GrowingSettings& settings) {
    return value_of<CountingValue>(growing_filter<ScalableCountingBloom>(settings));
  }
  [[nodiscard]] static Result<CountingValue> from_image(AssembledImage image) {
    return value_of<CountingValue>(filter_of<ScalableCountingBloom>(std::move(image)));
  }

  explicit CountingValue(ScalableCountingBloom filter) noexcept : FilterValue(std::move(filter)) {}
};

using CountingKey = ImageKey<CountingValue>;
using CountingLookup = Lookup<CountingKey>;

}  // namespace mankai::redis
