#pragma once

/// The filter of a URL.* key: a scalable blocked filter of URLs in canonical form.
///
/// Why this kind: a crawler tests whole URLs, adds most of them once, and cannot predict their number. This kind takes
/// about 10 bits per URL at 1%, reads one cache line per slice, and grows. layered-url-bloom would also answer for
/// prefixes, which no command needs. It reads as many lines as the path is deep, and does not grow.

#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "mankai/filter/scalable_bloom/scalable_bloom.hpp"
#include "mankai/url/canonical_url.hpp"
#include "modules/redis/engine/reserve.hpp"
#include "modules/redis/image/add.hpp"
#include "modules/redis/image/key.hpp"
#include "modules/redis/image/value.hpp"

namespace mankai::redis {

class UrlValue : public FilterValue<ScalableBloom> {
 public:
  static constexpr ImageFamily kFamily = {.type_name = "mankai-ur",
                                          .magic = {'m', 'a', 'n', 'k', 'a', 'i', 'u', 'r'},
                                          .kinds = {ScalableBloom::kKind},
                                          .layout = ImageLayout::sliced,
                                          .load_command = "url.loadchunk"};

  /// Errors: invalid_argument for an impossible request; out_of_space.
  [[nodiscard]] static Result<UrlValue> create(const GrowingSettings& settings);
  [[nodiscard]] static Result<UrlValue> from_image(AssembledImage image);

  /// Adds canonical URLs in order while there is room, and reports which had been seen. Shape: urls[c], seen[c], c at
  /// most kHashWindow.
  [[nodiscard]] AddReport add(std::span<const std::string_view> urls, std::span<bool> seen);

  /// The rules that canonicalized its URLs, or nothing if this module does not implement them.
  [[nodiscard]] std::optional<url::UrlRules> rules() const noexcept {
    return url::url_rules(filter().canonical_version());
  }

 private:
  explicit UrlValue(ScalableBloom filter) noexcept : FilterValue(std::move(filter)) {}
};

using UrlKey = ImageKey<UrlValue>;
using UrlLookup = Lookup<UrlKey>;

}  // namespace mankai::redis
