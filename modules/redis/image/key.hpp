#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "mankai/base/bits.hpp"
#include "modules/redis/engine/fields.hpp"
#include "modules/redis/engine/guard.hpp"
#include "modules/redis/engine/lookup.hpp"
#include "modules/redis/image/pieces.hpp"

namespace mankai::redis {

/// Whether small values keep their cells in the memory of their key.
template <class Value>
concept SettlingValue = requires(Value& value, std::span<std::byte> place) { value.settle(place); };

/// A value, or an incomplete one. See KeyContent.
template <ImageValue Value>
class ImageKey {
 public:
  /// A key in memory that fits the value. Errors: std::bad_alloc, with the value unchanged.
  [[nodiscard]] static std::unique_ptr<ImageKey> create(Value&& value) {
    if constexpr (SettlingValue<Value>) {
      if (const Beside beside{value.bytes_beside()}; beside.bytes != 0) {
        std::unique_ptr<ImageKey> key(new (beside) ImageKey(std::move(value)));
        key->value()->settle({key->beside(), beside.bytes});
        return key;
      }
    }
    return std::make_unique<ImageKey>(std::move(value));
  }
  /// A key of a new value. Errors: as Value::create's, and std::bad_alloc.
  template <class Settings>
  [[nodiscard]] static Result<std::unique_ptr<ImageKey>> create_new(const Settings& settings) {
    if constexpr (SettlingValue<Value>) {
      // Without a filter that is made only to be copied. But the limit of a filter is that of its own allocations.
      if (const auto small = MemoryLimit::is_set() ? std::nullopt : Value::small(settings)) {
        return std::unique_ptr<ImageKey>(new (Beside{small->bytes_beside()}) ImageKey(*small));
      }
    }
    return make(Value::create(settings));
  }
  // A key may be larger than its class.
  static void* operator new(std::size_t bytes) { return ::operator new(bytes); }
  static void operator delete(void* data) noexcept { ::operator delete(data); }

  /// The family's own format, and those of values that were taken over.
  static constexpr auto kFormats = [] {
    constexpr Format kOwn{.type_name = Value::kFamily.type_name};
    if constexpr (TakenOverValue<Value>) {
      std::array<Format, 1 + Value::kForeignFormats.size()> all{kOwn};
      std::ranges::copy(Value::kForeignFormats, all.begin() + 1);
      return all;
    } else {
      return std::array{kOwn};
    }
  }();

  template <class Small>
  explicit ImageKey(const Small& small) noexcept
    requires SettlingValue<Value> && std::constructible_from<Value, const Small&, std::span<std::byte>>
      : content_(std::in_place_type<Value>, small, std::span(beside(), small.bytes_beside())) {}
  explicit ImageKey(Value value) noexcept : content_(std::move(value)) {}
  /// Errors: std::bad_alloc.
  explicit ImageKey(Assembly assembly) : content_(std::make_unique<Assembly>(std::move(assembly))) {}

  /// Null while pieces are missing.
  [[nodiscard]] Value* value() noexcept { return std::get_if<Value>(&content_); }
  [[nodiscard]] const Value* value() const noexcept { return std::get_if<Value>(&content_); }
  /// Null if it is complete.
  [[nodiscard]] Assembly* assembly() noexcept { return const_cast<Assembly*>(std::as_const(*this).assembly()); }
  [[nodiscard]] const Assembly* assembly() const noexcept {
    const auto* parts = std::get_if<std::unique_ptr<Assembly>>(&content_);
    return parts != nullptr ? parts->get() : nullptr;
  }
  void set_value(Value value) noexcept { content_ = std::move(value); }

  /// Makes the value once all pieces have arrived. Errors: as Value::from_image's, and std::bad_alloc; the pieces are
  /// then lost, and the key must be deleted.
  [[nodiscard]] Result<void> finish_if_complete() {
    if (assembly() != nullptr && assembly()->is_complete()) {
      MANKAI_ASSIGN(auto made, Value::from_image(assembly()->finish()));
      set_value(std::move(made));
    }
    return {};
  }

  /// Of the value, which is in our own format, or of its received pieces. Errors: std::bad_alloc.
  [[nodiscard]] ImageParts parts() const { return value() != nullptr ? value()->parts() : assembly()->parts(); }

  [[nodiscard]] std::size_t format() const noexcept {
    if constexpr (TakenOverValue<Value>) {
      if (std::holds_alternative<Value>(content_)) {
        const auto foreign = std::get<Value>(content_).foreign_format();
        return foreign ? 1 + *foreign : 0;
      }
    }
    return 0;
  }
  [[nodiscard]] static Result<std::unique_ptr<ImageKey>> load(Io* io, std::size_t format, int version) {
    IoReader reader(io);
    if constexpr (TakenOverValue<Value>) {
      if (format != 0) {
        return make(Value::load_foreign(reader, format - 1, version));
      }
    }
    return make(load_assembly(reader, Value::kFamily));
  }
  void save(Io* io) const {
    IoWriter writer(io);
    write(writer);
  }
  void rewrite(Io* io, String* name) const {
    if constexpr (TakenOverValue<Value>) {
      if (format() != 0) {
        return value()->rewrite_foreign(emit_to(io, name));
      }
    }
    rewrite_parts(emit_to(io, name), Value::kFamily, parts());
  }
  void add_to(DigestState* digest) const {
    DigestWriter writer(digest);
    write(writer);
  }
  [[nodiscard]] Result<std::unique_ptr<ImageKey>> copy() const {
    if constexpr (TakenOverValue<Value>) {
      if (format() != 0) {
        return make(value()->copy_foreign());
      }
    }
    return make(copy_parts(Value::kFamily, parts()));
  }

  [[nodiscard]] static std::uint64_t alive() noexcept { return Counted<ImageKey>::alive(); }
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    return kObjectBytes + (value() != nullptr ? value()->heap_bytes() : assembly()->memory_bytes());
  }

 private:
  static constexpr std::size_t kObjectBytes =
      SettlingValue<Value> ? align_up(sizeof(ImageKey), kCacheLineBytes) : sizeof(ImageKey);

  /// Cells in the memory of a key, behind the object.
  struct Beside {
    std::size_t bytes;
  };
  // The usual allocator aligns blocks of a multiple of 64 bytes by itself.
  static void* operator new(std::size_t /*bytes*/, const Beside& beside) {
    void* data = ::operator new(kObjectBytes + beside.bytes);
    if (reinterpret_cast<std::uintptr_t>(data) % kCacheLineBytes == 0) {
      return data;
    }
    ::operator delete(data);
    return ::operator new(kObjectBytes + beside.bytes + kCacheLineBytes);
  }
  static void operator delete(void* data, const Beside& /*beside*/) noexcept { ::operator delete(data); }
  [[nodiscard]] std::byte* beside() noexcept {
    auto* const start = reinterpret_cast<std::byte*>(this);
    const auto address = reinterpret_cast<std::uintptr_t>(start);
    return start + (align_up<std::uintptr_t>(address + kObjectBytes, kCacheLineBytes) - address);
  }

  static Result<std::unique_ptr<ImageKey>> make(Result<Assembly> begun) {
    if (!begun) {
      return std::unexpected(begun.error());
    }
    return begun->is_complete() ? make(Value::from_image(begun->finish()))
                                : std::make_unique<ImageKey>(std::move(*begun));
  }
  static Result<std::unique_ptr<ImageKey>> make(Result<Value> made) {
    if (!made) {
      return std::unexpected(made.error());
    }
    return create(std::move(*made));
  }
  void write(takeover::FieldWriter& writer) const {
    if constexpr (TakenOverValue<Value>) {
      if (format() != 0) {
        return value()->save_foreign(writer);
      }
    }
    save_parts(writer, Value::kFamily, parts());
  }

  std::variant<Value, std::unique_ptr<Assembly>> content_;
  [[no_unique_address]] Counted<ImageKey> counted_;
};

template <ImageValue Value>
using ImageLookup = Lookup<ImageKey<Value>>;

/// After a change: moves the value to a new key if that takes less memory. Pointers to the value become invalid.
template <class KeyValue>
void fit_key(Lookup<KeyValue>& lookup) noexcept {
  if constexpr (requires { lookup.value()->wants_new_key(); }) {
    if (lookup.value() != nullptr && lookup.value()->wants_new_key()) {
      guarded([&] { lookup.replace(KeyValue::create(std::move(*lookup.value()))); }, [] {});
    }
  }
}

}  // namespace mankai::redis
