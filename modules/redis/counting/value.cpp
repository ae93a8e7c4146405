#include "modules/redis/counting/value.hpp"

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
  MANKAI_ASSIGN(auto filter, filter_of<ScalableCountingBloom>(std::move(image)));
  return CountingValue(std::move(filter));
}

}  // namespace mankai::redis
