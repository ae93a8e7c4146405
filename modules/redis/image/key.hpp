#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <variant>

#include "modules/redis/engine/fields.hpp"
#include "modules/redis/engine/lookup.hpp"
#include "modules/redis/image/pieces.hpp"

namespace mankai::redis {

/// A value, or an incomplete one. See KeyContent.
template <ImageValue Value>
class ImageKey {
 public:
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

  /// Makes the value once all pieces have arrived. Errors: as Value::from_image's, and out_of_space; the pieces are
  /// then lost, and the key must be deleted.
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
    return sizeof(ImageKey) + (value() != nullptr ? value()->heap_bytes() : assembly()->memory_bytes());
  }

 private:
  static Result<std::unique_ptr<ImageKey>> make(Result<Assembly> begun) {
    if (!begun) {
      return std::unexpected(begun.error());
    }
    auto key = std::make_unique<ImageKey>(std::move(*begun));
    MANKAI_TRY(key->finish_if_complete());
    return key;
  }
  static Result<std::unique_ptr<ImageKey>> make(Result<Value> taken_over) {
    if (!taken_over) {
      return std::unexpected(taken_over.error());
    }
    return std::make_unique<ImageKey>(std::move(*taken_over));
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

}  // namespace mankai::redis
