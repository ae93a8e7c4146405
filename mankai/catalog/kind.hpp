#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "mankai/filter/blocked_bloom.hpp"
#include "mankai/filter/bloom.hpp"
#include "mankai/filter/counting_bloom.hpp"
#include "mankai/filter/decayed_top.hpp"
#include "mankai/filter/fading_fingerprints.hpp"
#include "mankai/filter/layered_url_bloom.hpp"
#include "mankai/filter/recent_values.hpp"
#include "mankai/filter/rotating_bloom.hpp"
#include "mankai/filter/scalable_bloom.hpp"
#include "mankai/filter/scalable_counting_bloom.hpp"
#include "mankai/filter/time_decaying_counts.hpp"
#include "mankai/filter/time_decaying_pooled_counts.hpp"
#include "mankai/filter/time_decaying_tiered_counts.hpp"

namespace mankai {

/// The kinds of filters. The values stand in images and are never reused.
enum class Kind : std::uint16_t {
  bloom = Bloom::kKind,
  blocked_bloom = BlockedBloom::kKind,
  counting_bloom = CountingBloom::kKind,
  scalable_bloom = ScalableBloom::kKind,
  scalable_counting_bloom = ScalableCountingBloom::kKind,
  layered_url_bloom = LayeredUrlBloom::kKind,
  time_decaying_counts = TimeDecayingCounts::kKind,
  time_decaying_pooled_counts = TimeDecayingPooledCounts::kKind,
  time_decaying_tiered_counts = TimeDecayingTieredCounts::kKind,
  fading_fingerprints = FadingFingerprints::kKind,
  recent_values = RecentValues::kKind,
  rotating_bloom = RotatingBloom::kKind,
  decayed_top = DecayedTop::kKind,
};

/// How key bytes become digests for a kind.
enum class KeyShape : std::uint8_t {
  whole,     ///< one digest of all bytes
  numbered,  ///< one digest of all bytes, and a number that says where it is
  path,      ///< a URL: made canonical, then one digest for each segment
  valued,    ///< one digest of all bytes, and a value to put beside it
  named,     ///< one digest of all bytes, and the bytes themselves
};

/// A line of the catalog.
struct KindInfo {
  Kind kind;
  std::string_view name;
  KeyShape key_shape;
  bool can_erase;
  bool can_count;
  bool can_grow;
  bool can_merge;
  bool counts_lately;  ///< its counts fade
  bool has_time;       ///< it forgets with time, which must be told to it
  bool forgets;        ///< with time, or as other keys come
  std::string_view summary;
};

/// Any filter of the catalog. Visit it once per batch, not per key.
using AnyFilter = std::variant<Bloom, BlockedBloom, CountingBloom, ScalableBloom, ScalableCountingBloom,
                               LayeredUrlBloom, TimeDecayingCounts, TimeDecayingPooledCounts, TimeDecayingTieredCounts,
                               FadingFingerprints, RecentValues, RotatingBloom, DecayedTop>;

/// What a new filter is when nothing else is asked for.
inline constexpr Kind kDefaultKind = Kind::blocked_bloom;

/// Every kind, the default first.
[[nodiscard]] std::span<const KindInfo> kinds() noexcept;
[[nodiscard]] const KindInfo& info_of(Kind kind) noexcept;
[[nodiscard]] Result<Kind> parse_kind(std::string_view name);

}  // namespace mankai
