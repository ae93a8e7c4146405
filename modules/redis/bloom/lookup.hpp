#pragma once

#include "modules/redis/bloom/config.hpp"
#include "modules/redis/bloom/type.hpp"
#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/memory.hpp"

namespace mankai::redis {

inline constexpr const char* kTooLarge = "ERR the filter would be larger than bf-memory-limit allows";

/// A key that should hold a filter.
class BloomLookup {
 public:
  BloomLookup(const Call& call, String* name, int mode) noexcept
      : key_(call.context(), name, mode), found_(static_cast<BloomKey*>(key_.value(bloom_type()))) {}

  [[nodiscard]] bool is_absent() const noexcept { return key_.is_absent(); }
  /// Null when the key is absent or something else.
  [[nodiscard]] BloomKey* found() const noexcept { return found_; }
  /// Null as well when it is not complete.
  [[nodiscard]] BloomValue* value() const noexcept { return found_ != nullptr ? found_->value() : nullptr; }
  /// What to reply when there is no value.
  [[nodiscard]] const char* error() const noexcept {
    if (is_absent()) {
      return kNotFound;
    }
    return found_ == nullptr ? kWrongType : kIncomplete;
  }

  [[nodiscard]] OpenedKey& key() noexcept { return key_; }

  /// Lets what is allocated from now on count for this key's filter, the one that it has or will have.
  void limit(MemoryLimit& limit) const noexcept {
    if (const auto most = static_cast<std::uint64_t>(bloom_defaults().memory_limit); most != 0) {
      limit.set_filter_limit(most, found_ != nullptr ? found_->memory_bytes() : sizeof(BloomKey));
    }
  }

 private:
  OpenedKey key_;
  BloomKey* found_;
};

}  // namespace mankai::redis
