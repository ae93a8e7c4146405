#include "mankai/catalog/kind.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "mankai/base/assert.hpp"

namespace mankai {
namespace {

constexpr std::array kKinds = {
    KindInfo{.kind = Kind::blocked_bloom,
             .name = BlockedBloom::kName,
             .key_shape = KeyShape::whole,
             .summary = "seen before? one cache line a key: the default"},
    KindInfo{.kind = Kind::bloom,
             .name = Bloom::kName,
             .key_shape = KeyShape::whole,
             .summary = "seen before? the classic filter: fewest bits, up to k cache lines a key"},
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
