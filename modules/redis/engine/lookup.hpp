#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/memory.hpp"
#include "modules/redis/engine/type.hpp"

namespace mankai::redis {

/// A command's key that should hold a value of one type. The key is open during the lifetime of this object.
template <class KeyValue>
class Lookup {
 public:
  Lookup(const Call& call, int mode, std::size_t argument = 1) noexcept
      : key_(engine.open_key(call.context(), call.arguments()[argument], mode)), found_(find()) {}
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;
  ~Lookup() { close(); }
  /// Closes the key early. The value stays where it is until the command ends, or removes or replaces it.
  void close() noexcept {
    if (key_ != nullptr) {
      engine.close_key(key_);
      key_ = nullptr;
    }
  }

  [[nodiscard]] bool is_absent() const noexcept {
    return found_ == nullptr && (key_ == nullptr || engine.key_type(key_) == kKeyTypeEmpty);
  }
  /// Null if the key is absent or of another type.
  [[nodiscard]] KeyValue* found() const noexcept { return found_; }
  /// Null also while the value is incomplete.
  [[nodiscard]] auto* value() const noexcept { return found_ != nullptr ? found_->value() : nullptr; }

  /// Errors: an error reply, unless there is a complete value.
  [[nodiscard]] Result<void> must_be_whole() const {
    return value() != nullptr ? Result<void>() : is_absent() ? refuse(kNotFound) : other();
  }
  /// As must_be_whole, but an absent key is no error.
  [[nodiscard]] Result<void> may_be_absent() const {
    return value() != nullptr || is_absent() ? Result<void>() : other();
  }
  /// Errors: an error reply if the key exists.
  [[nodiscard]] Result<void> must_be_absent() const {
    return is_absent() ? Result<void>() : refuse(found_ != nullptr ? kItemExists : kWrongType);
  }

  /// Charges later allocations to this key's filter, existing or new.
  void limit(MemoryLimit& limit) const noexcept {
    if (MemoryLimit::is_set()) {
      limit.set_filter(found_ != nullptr ? found_->memory_bytes() : sizeof(KeyValue));
    }
  }

  void set(std::unique_ptr<KeyValue> made) noexcept {
    found_ = made.release();
    engine.module_type_set_value(key_, NativeType<KeyValue>::type_of(*found_), found_);
  }
  /// Replaces the value by one that may have another format. The key keeps its time to live. The old value may have
  /// been moved from, if the format stays: the engine requests the size of a value that it deletes.
  void replace(std::unique_ptr<KeyValue> made) noexcept {
    if (engine.module_type_replace_value(key_, NativeType<KeyValue>::type_of(*made), made.get(), nullptr) == kOk) {
      delete std::exchange(found_, made.release());
      return;
    }
    const long long expires = engine.get_abs_expire(key_);
    set(std::move(made));
    engine.set_abs_expire(key_, expires);
  }
  void remove() noexcept {
    found_ = nullptr;
    engine.delete_key(key_);
  }

 private:
  [[nodiscard]] KeyValue* find() const noexcept {
    // The engine returns null for a key that is absent or of a type of its own.
    const bool is_ours = NativeType<KeyValue>::is_one(engine.module_type_get_type(key_));
    return is_ours ? static_cast<KeyValue*>(engine.module_type_get_value(key_)) : nullptr;
  }
  [[nodiscard]] std::unexpected<Error> other() const { return refuse(found_ == nullptr ? kWrongType : kIncomplete); }

  Key* key_;
  KeyValue* found_;
};

/// The values of a command's keys from one argument to the last: what MERGE adds to its destination.
template <class KeyValue>
class Sources {
 public:
  /// Errors: an error reply, unless there are complete values; std::bad_alloc.
  Result<void> open(const Call& call, std::size_t first) {
    for (std::size_t i = first; i < call.size(); ++i) {
      lookups_.push_back(std::make_unique<Lookup<KeyValue>>(call, kRead, i));
      MANKAI_TRY(lookups_.back()->must_be_whole());
    }
    return {};
  }
  /// Closes the keys. Before a key that may be among them is replaced: the engine still reads the value on closing.
  void close() noexcept { lookups_.clear(); }
  [[nodiscard]] std::size_t size() const noexcept { return lookups_.size(); }
  [[nodiscard]] const KeyValue& key(std::size_t index) const noexcept { return *lookups_[index]->found(); }
  [[nodiscard]] const auto& operator[](std::size_t index) const noexcept { return *lookups_[index]->value(); }

 private:
  std::vector<std::unique_ptr<Lookup<KeyValue>>> lookups_;
};

}  // namespace mankai::redis
