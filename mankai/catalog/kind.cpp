#include "mankai/catalog/kind.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "mankai/base/assert.hpp"

namespace mankai {
namespace {

template <class F>
constexpr KindInfo row(KeyShape shape, bool can_grow, std::string_view summary) {
  return {.kind = Kind{F::kKind},
          .name = F::kName,
          .key_shape = shape,
          .can_erase = DeletableFilter<F>,
          .can_count = FrequencyFilter<F> || DecayedFrequencyFilter<F>,
          .can_grow = can_grow,
          .can_merge = MergeableFilter<F> || PathFilter<F>,
          .counts_lately = DecayedFrequencyFilter<F>,
          .has_time = DecayingFilter<F>,
          .forgets = F::kPromise.forgets,
          .summary = summary};
}

constexpr std::array kKinds = {
    row<BlockedBloom>(KeyShape::whole, false, "seen before? one cache line a key: the default"),
    row<Bloom>(KeyShape::whole, false, "seen before? the classic filter: fewest bits, up to k cache lines a key"),
    row<ScalableBloom>(KeyShape::whole, true, "seen before, however many? slices that grow; a cache line a slice"),
    row<CountingBloom>(KeyShape::whole, false, "present, how often? keys can be taken out again; four times the bits"),
    row<ScalableCountingBloom>(KeyShape::numbered, true,
                               "present, however many? slices that grow; keys are taken out by their ids"),
    row<LayeredUrlBloom>(KeyShape::path, false, "seen this URL? an array a level of its path, and one for the whole"),
    row<RotatingBloom>(KeyShape::whole, false,
                       "seen within so much time? generations of blocked-bloom, the oldest let go"),
    row<FadingFingerprints>(KeyShape::whole, false,
                            "seen lately? newer keys overwrite older ones; filters of any size"),
    row<DecayedTop>(KeyShape::named, false,
                    "what is hot? counts that fade with time, and the names of the hottest keys"),
    row<TimeDecayingCounts>(KeyShape::whole, false, "how often lately? counts that fade with time"),
    row<TimeDecayingPooledCounts>(
        KeyShape::whole, false,
        "how often lately? digits of 4 bits, and more of them from a pool where they are needed"),
    row<TimeDecayingTieredCounts>(KeyShape::whole, false,
                                  "how often lately? a small counter a key, larger ones shared"),
    row<RecentValues>(KeyShape::valued, false, "which values came with this key lately? the most frequent and recent"),
};

}  // namespace

std::span<const KindInfo> kinds() noexcept { return kKinds; }

const KindInfo& info_of(Kind kind) noexcept {
  const auto* found = std::ranges::find(kKinds, kind, &KindInfo::kind);
  MANKAI_ASSERT(found != kKinds.end());
  return *found;
}

Result<Kind> parse_kind(std::string_view name) {
  const auto* found = std::ranges::find(kKinds, name, &KindInfo::name);
  if (found != kKinds.end()) {
    return found->kind;
  }
  std::string known;
  for (const KindInfo& info : kKinds) {
    known += (known.empty() ? "" : ", ") + std::string(info.name);
  }
  return fail(ErrorCode::not_found, "unknown kind '" + std::string(name) + "'; there are: " + known);
}

}  // namespace mankai
