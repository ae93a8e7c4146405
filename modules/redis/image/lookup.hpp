#pragma once

#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/memory.hpp"
#include "modules/redis/image/type.hpp"

namespace mankai::redis {

/// A key that should hold a value of a family; it is open while this lives.
template <ImageValue Value>
class ImageLookup {
 public:
  ImageLookup(const Call& call, String* name, int mode) noexcept
      : key_(call.context(), name, mode), found_(static_cast<ImageKey<Value>*>(key_.value(ImageType<Value>::type()))) {}

  [[nodiscard]] bool is_absent() const noexcept { return key_.is_absent(); }
  /// Null when the key is absent or something else.
  [[nodiscard]] ImageKey<Value>* found() const noexcept { return found_; }
  /// Null as well when it is not complete.
  [[nodiscard]] Value* value() const noexcept { return found_ != nullptr ? found_->value() : nullptr; }
  /// What to reply when there is no value.
  [[nodiscard]] const char* error() const noexcept {
    if (is_absent()) {
      return kNotFound;
    }
    return found_ == nullptr ? kWrongType : kIncomplete;
  }

  /// Lets what is allocated from now on count for this key's filter, the one that it has or will have.
  void limit(MemoryLimit& limit) const noexcept {
    limit.set_filter(found_ != nullptr ? found_->memory_bytes() : sizeof(ImageKey<Value>));
  }

  /// Makes the key hold this.
  void set(std::unique_ptr<ImageKey<Value>> made) noexcept {
    found_ = made.get();
    key_.set_value(ImageType<Value>::type(), made.release());
  }
  void remove() noexcept {
    found_ = nullptr;
    key_.remove();
  }

 private:
  OpenedKey key_;
  ImageKey<Value>* found_;
};

}  // namespace mankai::redis
