#include "modules/redis/counting/value.hpp"

#include "modules/redis/engine/memory.hpp"

namespace mankai::redis {

Result<CountingValue> CountingValue::create(const GrowingSettings& settings) {
  MANKAI_ASSIGN(auto filter, ScalableCountingBloom::create({.keys = settings.capacity_keys,
                                                            .fpr = settings.fpr,
                                                            .growth = {.factor = settings.expansion},
                                                            .hash = settings.hash,
                                                            .memory = engine_memory()}));
  return CountingValue(std::move(filter));
}

Result<CountingValue> CountingValue::from_image(AssembledImage image) {
  MANKAI_ASSIGN(auto filter, ScalableCountingBloom::from_region(std::move(image.image), Trust::fast, engine_memory()));
  return CountingValue(std::move(filter));
}

}  // namespace mankai::redis
