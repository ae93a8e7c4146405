#include "modules/redis/url/value.hpp"

#include <array>

namespace mankai::redis {

Result<UrlValue> UrlValue::create(const GrowingSettings& settings) {
  MANKAI_ASSIGN(auto filter, growing_filter<ScalableBloom>(settings));
  filter.set_canonical_version(static_cast<std::uint8_t>(settings.url_rules));
  return UrlValue(std::move(filter));
}

Result<UrlValue> UrlValue::from_image(AssembledImage image) {
  MANKAI_ASSIGN(auto filter, filter_of<ScalableBloom>(std::move(image)));
  if (filter.canonical_version() == 0) {
    return fail(ErrorCode::corrupt, "a filter of keys that are no URLs: the version of the rules at offset 15 is 0");
  }
  return UrlValue(std::move(filter));
}

AddReport UrlValue::add(std::span<const std::string_view> urls, std::span<bool> seen) {
  std::array<Digest, kHashWindow> window;
  const auto digests = std::span(window).first(urls.size());
  filter().hasher()(urls, digests);
  return add_in_order(filter(), digests, seen, true,
                      [&](std::span<const Digest> some, std::span<bool> known) { filter().observe(some, known); });
}

}  // namespace mankai::redis
