#include "modules/redis/counting/value.hpp"

#include "modules/redis/engine/memory.hpp"

namespace mankai::redis {

Result<CountingValue> CountingValue::create(const GrowingSettings& settings) {
  auto filter = ScalableCountingBloom::create({.keys = settings.capacity_keys,
                                               .fpr = settings.fpr,
                                               .growth = {.factor = settings.expansion},
                                               .hash = settings.hash,
                                               .memory = engine_memory()});
  if (!filter) {
    return std::unexpected(filter.error());
  }
  return CountingValue(std::move(*filter));
}

Result<CountingValue> CountingValue::from_image(AssembledImage image) {
  auto filter = ScalableCountingBloom::from_region(std::move(image.image), Trust::fast, engine_memory());
  if (!filter) {
    return std::unexpected(filter.error());
  }
  return CountingValue(std::move(*filter));
}

}  // namespace mankai::redis
