#pragma once

#include "modules/redis/bloom/config.hpp"
#include "modules/redis/bloom/type.hpp"
#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/memory.hpp"

namespace mankai::redis {

inline constexpr const char* kTooLarge = "ERR the filter would be larger than bf-memory-limit allows";

/// A key that should hold a filter.
class BloomLookup : public ImageLookup<BloomValue> {
 public:
  using ImageLookup::ImageLookup;

  /// Lets what is allocated from now on count for this key's filter, the one that it has or will have.
  void limit(MemoryLimit& limit) const noexcept {
    if (const auto most = static_cast<std::uint64_t>(bloom_defaults().memory_limit); most != 0) {
      limit.set_filter_limit(most, found() != nullptr ? found()->memory_bytes() : sizeof(BloomKey));
    }
  }
};

}  // namespace mankai::redis
