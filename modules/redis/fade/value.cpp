#include "modules/redis/fade/value.hpp"

#include "mankai/filter/parts/hash_windows.hpp"
#include "modules/redis/image/key.hpp"

namespace mankai::redis {

Result<FadeValue> FadeValue::create(const FadeSettings& settings) {
  auto filter = FadingFingerprints::create({.keys = settings.capacity_keys,
                                            .fpr = settings.fpr,
                                            .k = settings.k,
                                            .hash = settings.hash,
                                            .memory = engine_memory()});
  return filter ? Result<FadeValue>(FadeValue(std::move(*filter))) : std::unexpected(filter.error());
}

Result<FadeValue> FadeValue::from_image(AssembledImage source) {
  MANKAI_ASSIGN(auto image, Image::adopt(std::move(source.image), Trust::fast));
  auto filter = FadingFingerprints::from_image(std::move(image));
  return filter ? Result<FadeValue>(FadeValue(std::move(*filter))) : std::unexpected(filter.error());
}

void FadeValue::put(std::span<const std::string_view> keys, std::span<bool> fresh) noexcept {
  for_each_hashed_window(filter_.hasher(), keys, [&](std::size_t start, std::span<const Digest> digests) {
    const auto answers = fresh.subspan(start, digests.size());
    filter_.observe(digests, answers);
    for (bool& answer : answers) {
      answer = !answer;
    }
  });
}

void FadeValue::ask(std::span<const std::string_view> keys, std::span<bool> known) const noexcept {
  for_each_hashed_window(filter_.hasher(), keys, [&](std::size_t start, std::span<const Digest> digests) {
    filter_.may_contain(digests, known.subspan(start, digests.size()));
  });
}

ImageParts FadeValue::parts() const { return parts_of(filter_); }

std::size_t FadeValue::memory_bytes() const noexcept {
  return sizeof(FadeValue) - sizeof(filter_) + filter_memory(filter_);
}

}  // namespace mankai::redis
