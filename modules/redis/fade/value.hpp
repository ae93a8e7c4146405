#pragma once

/// The filter of a FADE.* key: recent items, where newer items overwrite older ones. It has no clock: an item's age is
/// the number of items added after it.

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "mankai/filter/fading_fingerprints/fading_fingerprints.hpp"
#include "modules/redis/image/value.hpp"

namespace mankai::redis {

/// One slot per item would save an eighth of the memory, but lose a tenth of the items after capacity / 6 later ones;
/// with two slots, after capacity / 3.
inline constexpr std::uint32_t kDefaultSlots = 2;

/// What a filter is created with; replicas get all of it.
struct FadeSettings {
  double fpr = 0;                   ///< maximum
  std::uint64_t capacity_keys = 0;  ///< number of later items after which half of the items are still found
  std::uint32_t k = kDefaultSlots;  ///< slots per item
  HashSpec hash;
};

class FadeValue : public FilterValue<FadingFingerprints> {
 public:
  static constexpr ImageFamily kFamily{.type_name = "mankai-fd",
                                       .magic = {'m', 'a', 'n', 'k', 'a', 'i', 'f', 'd'},
                                       .kinds = {FadingFingerprints::kKind},
                                       .layout = ImageLayout::flat,
                                       .load_command = "fade.loadchunk"};

  static constexpr std::uint32_t kMostSlots = 32;

  /// Errors: invalid_argument, out_of_space.
  [[nodiscard]] static Result<FadeValue> create(const FadeSettings& settings);
  [[nodiscard]] static Result<FadeValue> from_image(AssembledImage image) {
    return value_of<FadeValue>(filter_of<FadingFingerprints>(std::move(image)));
  }

  /// Adds items in order, and reports which were new. Shape: keys[c], fresh[c].
  void put(std::span<const std::string_view> keys, std::span<bool> fresh) noexcept;

  explicit FadeValue(FadingFingerprints filter) noexcept : FilterValue(std::move(filter)) {}
};

}  // namespace mankai::redis
