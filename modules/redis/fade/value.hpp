#pragma once

/// The filter behind a FADE.* key: it has recent items, and newer items overwrite older ones. There is
/// no clock in it: an item's age is the number of items that came after it.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "mankai/filter/fading_fingerprints/fading_fingerprints.hpp"
#include "modules/redis/image/value.hpp"

namespace mankai::redis {

/// One would take an eighth fewer bytes, and forget a tenth of the items when a sixth of the capacity has come; with
/// two that takes a third of it.
inline constexpr std::uint32_t kUsualSlots = 2;

/// What a filter is made with; replicas get all of it.
struct FadeSettings {
  double fpr = 0;                   ///< of absent items, at most
  std::uint64_t capacity_keys = 0;  ///< half of the items are still known when so many more have come
  std::uint32_t k = kUsualSlots;    ///< slots that an item writes
  HashSpec hash;
};

class FadeValue : public FilterValue<FadingFingerprints> {
 public:
  static constexpr ImageFamily kFamily{.type_name = "mankai-fd",
                                       .magic = {'m', 'a', 'n', 'k', 'a', 'i', 'f', 'd'},
                                       .kind = FadingFingerprints::kKind,
                                       .layout = ImageLayout::flat,
                                       .load_command = "fade.loadchunk"};

  static constexpr std::uint32_t kMostSlots = 32;

  /// Errors: invalid_argument, out_of_space.
  [[nodiscard]] static Result<FadeValue> create(const FadeSettings& settings);
  /// Errors: corrupt, unsupported_version.
  [[nodiscard]] static Result<FadeValue> from_image(AssembledImage image) {
    return value_of<FadeValue>(filter_of<FadingFingerprints>(std::move(image)));
  }

  /// Adds items in order, and tells which were new. Shape: keys[c], fresh[c].
  void put(std::span<const std::string_view> keys, std::span<bool> fresh) noexcept;

  explicit FadeValue(FadingFingerprints filter) noexcept : FilterValue(std::move(filter)) {}
};

}  // namespace mankai::redis
