#pragma once

/// In which formats the engine's files have a family's values: its own, and those of modules that it replaces.

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/takeover/dump.hpp"
#include "mankai/takeover/fields.hpp"

namespace mankai::redis {

/// A native type of the engine, stored with each of its values.
struct Format {
  const char* type_name;      ///< 9 characters
  int version = 1;            ///< that is written
  int newest_read = version;  ///< a newer version is refused
};

/// A command that creates a value or a part of it: COMMAND key [number] data.
using EmitCommand =
    std::function<void(const char* command, std::optional<long long> number, std::span<const std::byte> data)>;

/// Emits the RESTORE of a value whose fields `save(writer)` writes. Errors: std::bad_alloc.
template <class Save>
void emit_restore(const EmitCommand& emit, std::string_view type_name, unsigned version, const Save& save) {
  takeover::DumpWriter dump(type_name, version);
  save(dump);
  emit("RESTORE", 0, dump.finish());
}

/// A value that may instead be one of a replaced module, which is stored in that module's format. The members must be
/// called for such values only, except `foreign_format`.
template <class Value>
concept TakenOverValue =
    requires(const Value value, takeover::FieldReader& reader, takeover::FieldWriter& writer, const EmitCommand& emit) {
      { Value::kForeignFormats[0] } -> std::convertible_to<Format>;
      /// The index of the value's foreign format, if it has one.
      { value.foreign_format() } noexcept -> std::same_as<std::optional<std::size_t>>;
      /// Errors: corrupt, unsupported_version, out_of_space, io.
      { Value::load_foreign(reader, std::size_t{}, int{}) } -> std::same_as<Result<Value>>;
      value.save_foreign(writer);
      /// Emits the commands that create the value, which the replaced module understands, too.
      value.rewrite_foreign(emit);
      /// Errors: out_of_space.
      { value.copy_foreign() } -> std::same_as<Result<Value>>;
    };

}  // namespace mankai::redis
