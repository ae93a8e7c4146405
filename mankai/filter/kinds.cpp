#include "mankai/filter/kind.hpp"

// The list of kinds, the default first: the one line to add for a new kind, besides its folder.
#define MANKAI_FOR_EACH_KIND(kind)                                                                        \
  kind(blocked_bloom) kind(bloom) kind(scalable_bloom) kind(counting_bloom) kind(scalable_counting_bloom) \
      kind(layered_url_bloom) kind(rotating_bloom) kind(fading_fingerprints) kind(decayed_top)            \
          kind(time_decaying_counts) kind(time_decaying_pooled_counts) kind(time_decaying_tiered_counts)  \
              kind(recent_values) kind(cuckoo)

namespace mankai {

#define MANKAI_DECLARE_KIND(name) extern const KindDescription name##_kind;
MANKAI_FOR_EACH_KIND(MANKAI_DECLARE_KIND)

std::span<const KindDescription* const> kinds() noexcept {
#define MANKAI_LIST_KIND(name) &name##_kind,
  static constexpr const KindDescription* kAll[] = {MANKAI_FOR_EACH_KIND(MANKAI_LIST_KIND)};
  return kAll;
}

}  // namespace mankai
