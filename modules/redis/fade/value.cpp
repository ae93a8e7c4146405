#include "modules/redis/fade/value.hpp"

namespace mankai::redis {

Result<FadeValue> FadeValue::create(const FadeSettings& settings) {
  MANKAI_ASSIGN(auto filter, FadingFingerprints::create({.keys = settings.capacity_keys,
                                                         .fpr = settings.fpr,
                                                         .k = settings.k,
                                                         .hash = settings.hash,
                                                         .memory = engine_memory()}));
  return FadeValue(std::move(filter));
}

void FadeValue::put(std::span<const std::string_view> keys, std::span<bool> fresh) noexcept {
  for_each_hashed_window(filter().hasher(), keys, [&](std::size_t start, std::span<const Digest> digests) {
    const auto answers = fresh.subspan(start, digests.size());
    filter().observe(digests, answers);
    for (bool& answer : answers) {
      answer = !answer;
    }
  });
}

}  // namespace mankai::redis
