#pragma once

/// The native type of a key of rules.

#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/memory.hpp"
#include "modules/redis/guard/value.hpp"

namespace mankai::redis {

/// Returns kOk or kError.
[[nodiscard]] int register_guard_type(Context* context) noexcept;
/// Threads: none before the registration.
[[nodiscard]] Type* guard_type() noexcept;

/// A key that should hold rules; it is open while this lives.
class GuardLookup {
 public:
  GuardLookup(const Call& call, int mode) noexcept
      : key_(call.context(), call.arguments()[1], mode), found_(static_cast<GuardValue*>(key_.value(guard_type()))) {}

  [[nodiscard]] bool is_absent() const noexcept { return key_.is_absent(); }
  /// Null when the key is absent or something else.
  [[nodiscard]] GuardValue* found() const noexcept { return found_; }
  /// Null as well when it is not complete.
  [[nodiscard]] Guard* guard() const noexcept { return found_ != nullptr ? found_->guard() : nullptr; }
  /// What to reply when there is none.
  [[nodiscard]] const char* error() const noexcept {
    if (is_absent()) {
      return kNotFound;
    }
    return found_ == nullptr ? kWrongType : kIncomplete;
  }
  /// Makes the key hold this.
  void set(std::unique_ptr<GuardValue> made) noexcept {
    found_ = made.get();
    key_.set_value(guard_type(), made.release());
  }
  void remove() noexcept {
    found_ = nullptr;
    key_.remove();
  }

 private:
  OpenedKey key_;
  GuardValue* found_;
};

}  // namespace mankai::redis
