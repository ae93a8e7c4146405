#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <variant>

#include "modules/redis/engine/memory.hpp"
#include "modules/redis/image/pieces.hpp"

namespace mankai::redis {

/// What a key of a family holds: a value, or one whose pieces have not all come.
template <ImageValue Value>
class ImageKey {
 public:
  explicit ImageKey(Value value) noexcept : content_(std::move(value)) { count(1); }
  /// Errors: std::bad_alloc.
  explicit ImageKey(Assembly assembly) : content_(std::make_unique<Assembly>(std::move(assembly))) { count(1); }
  ImageKey(const ImageKey&) = delete;
  ImageKey& operator=(const ImageKey&) = delete;
  ~ImageKey() { count(-1); }

  /// Null while pieces are missing.
  [[nodiscard]] Value* value() noexcept { return std::get_if<Value>(&content_); }
  [[nodiscard]] const Value* value() const noexcept { return std::get_if<Value>(&content_); }
  /// Null when it is a value.
  [[nodiscard]] Assembly* assembly() noexcept { return const_cast<Assembly*>(std::as_const(*this).assembly()); }
  [[nodiscard]] const Assembly* assembly() const noexcept {
    const auto* parts = std::get_if<std::unique_ptr<Assembly>>(&content_);
    return parts != nullptr ? parts->get() : nullptr;
  }
  void set_value(Value value) noexcept { content_ = std::move(value); }

  /// Makes the value when all pieces have come. Errors: as Value::from_image's, after which nothing is left of the
  /// pieces and the key must go; out_of_space among them.
  [[nodiscard]] Result<void> finish_if_complete() {
    if (assembly() == nullptr || !assembly()->is_complete()) {
      return {};
    }
    try {
      MANKAI_ASSIGN(auto made, Value::from_image(assembly()->finish()));
      set_value(std::move(made));
      return {};
    } catch (const std::bad_alloc&) {
      return std::unexpected(Error{.code = ErrorCode::out_of_space, .os_error = 0, .detail = {}});
    }
  }

  /// Of either content. Errors: std::bad_alloc.
  [[nodiscard]] ImageParts parts() const { return value() != nullptr ? value()->parts() : assembly()->parts(); }

  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    return sizeof(ImageKey) +
           (value() != nullptr ? value()->memory_bytes() - sizeof(Value) : assembly()->memory_bytes());
  }
  /// How many there are. Threads: safe.
  [[nodiscard]] static std::uint64_t alive() noexcept { return keys_alive.load(std::memory_order_relaxed); }

 private:
  static void count(int change) noexcept {
    keys_alive.fetch_add(static_cast<std::uint64_t>(change), std::memory_order_relaxed);
  }

  inline static std::atomic<std::uint64_t> keys_alive = 0;
  std::variant<Value, std::unique_ptr<Assembly>> content_;
};

/// What a filter whose memory is `engine_memory()` takes from the engine, the object included.
template <class Filter>
[[nodiscard]] std::size_t filter_memory(const Filter& filter) noexcept {
  if constexpr (requires { filter.slice_count(); }) {
    // The first slice's object is part of the filter's.
    std::size_t bytes = sizeof(Filter) - sizeof(typename Filter::Slice);
    for (std::size_t i = 0; i < filter.slice_count(); ++i) {
      bytes += sizeof(typename Filter::Slice) + engine_bytes(filter.slice(i).image_bytes());
    }
    return bytes;
  } else {
    return sizeof(Filter) + engine_bytes(filter.image_bytes());
  }
}

}  // namespace mankai::redis
