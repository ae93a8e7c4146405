#pragma once

#include "modules/redis/bloom/type.hpp"
#include "modules/redis/engine/call.hpp"

namespace mankai::redis {

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

 private:
  OpenedKey key_;
  BloomKey* found_;
};

}  // namespace mankai::redis
