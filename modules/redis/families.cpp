#include "modules/redis/engine/family.hpp"

// The list of families. A new family needs its folder and a name here.
#define MANKAI_FOR_EACH_FAMILY(family)                                                                          \
  family(bloom) family(counting) family(url) family(hot) family(fade) family(guard) family(gate) family(cuckoo) \
      family(cms) family(topk) family(tdigest)

namespace mankai::redis {

#define MANKAI_DECLARE_FAMILY(name) extern const Family name##_family;
MANKAI_FOR_EACH_FAMILY(MANKAI_DECLARE_FAMILY)

std::span<const Family* const> families() noexcept {
#define MANKAI_LIST_FAMILY(name) &name##_family,
  static constexpr const Family* kAll[] = {MANKAI_FOR_EACH_FAMILY(MANKAI_LIST_FAMILY)};
  return kAll;
}

}  // namespace mankai::redis
