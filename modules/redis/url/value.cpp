#include "modules/redis/url/value.hpp"

#include <algorithm>
#include <array>
#include <new>

#include "mankai/filter/hash_windows.hpp"
#include "mankai/url/canonical_url.hpp"
#include "modules/redis/engine/memory.hpp"

namespace mankai::redis {

Result<UrlValue> UrlValue::create(const GrowingSettings& settings) {
  auto filter = ScalableBloom::create({.keys = settings.capacity_keys,
                                       .fpr = settings.fpr,
                                       .growth = {.factor = settings.expansion},
                                       .hash = settings.hash,
                                       .memory = engine_memory()});
  if (!filter) {
    return std::unexpected(filter.error());
  }
  filter->set_canonical_version(url::kCanonicalVersion);
  return UrlValue(std::move(*filter));
}

Result<UrlValue> UrlValue::from_image(AssembledImage image) {
  auto filter = ScalableBloom::from_region(std::move(image.image), Trust::fast, engine_memory());
  if (!filter) {
    return std::unexpected(filter.error());
  }
  if (filter->canonical_version() == 0) {
    return fail(ErrorCode::corrupt, "a filter of keys that are no URLs: the version of the rules at offset 15 is 0");
  }
  return UrlValue(std::move(*filter));
}

bool UrlValue::has_our_rules() const noexcept { return filter_.canonical_version() == url::kCanonicalVersion; }

std::size_t UrlValue::add(std::span<const std::string_view> urls, std::span<bool> seen) {
  std::array<Digest, kHashWindow> window;
  const auto digests = std::span(window).first(urls.size());
  filter_.hasher()(urls, digests);
  try {
    filter_.observe(digests, seen);
    return digests.size();
  } catch (const std::bad_alloc&) {
    // Those before the one that found no room are in, and answered; that one is not.
    std::array<bool, kHashWindow> known;
    const auto answers = std::span(known).first(digests.size());
    filter_.may_contain(digests, answers);
    return static_cast<std::size_t>(std::ranges::find(answers, false) - answers.begin());
  }
}

void UrlValue::ask(std::span<const std::string_view> urls, std::span<bool> seen) const noexcept {
  std::array<Digest, kHashWindow> window;
  const auto digests = std::span(window).first(urls.size());
  filter_.hasher()(urls, digests);
  filter_.may_contain(digests, seen);
}

}  // namespace mankai::redis
