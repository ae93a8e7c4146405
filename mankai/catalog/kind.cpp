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
          .can_count = FrequencyFilter<F>,
          .can_grow = can_grow,
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
