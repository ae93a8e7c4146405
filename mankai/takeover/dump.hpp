#pragma once

/// DUMP payloads of values of modules: what DUMP returns and RESTORE takes.

#include <cstdint>
#include <span>
#include <string_view>

#include "mankai/takeover/fields.hpp"
#include "mankai/takeover/rdb.hpp"

namespace mankai::takeover {

/// Reads the fields between a module's type and the end of its value. Pre: the cursor outlives the reader.
///
/// Errors: corrupt; out_of_space if a compressed string finds no memory.
class ModuleFieldReader final : public FieldReader {
 public:
  explicit ModuleFieldReader(ByteCursor& bytes) noexcept : bytes_(&bytes) {}

  [[nodiscard]] Result<std::uint64_t> unsigned_number() override;
  [[nodiscard]] Result<std::int64_t> signed_number() override;
  [[nodiscard]] Result<double> real() override;
  [[nodiscard]] Result<std::span<const std::byte>> string() override;
  /// Reads what is after the last field. Errors: corrupt, if it is another field.
  [[nodiscard]] Result<void> end();

 private:
  [[nodiscard]] Result<void> expect(FieldType type);

  ByteCursor* bytes_;
  ByteBuffer buffer_;
};

/// The value of a DUMP payload. Pre: the payload outlives the object.
class DumpReader {
 public:
  /// Checks the frame. Errors: corrupt, also by the checksum, where there is one; invalid_argument if the value is not
  /// a module's.
  [[nodiscard]] static Result<DumpReader> open(std::span<const std::byte> payload);

  [[nodiscard]] const ModuleType& type() const noexcept { return type_; }

  /// Returns `load(fields)`, a Result, of a value that has no further fields. Errors: as load; corrupt.
  template <class Load>
  [[nodiscard]] auto read(const Load& load) const -> decltype(load(std::declval<FieldReader&>())) {
    ByteCursor bytes(fields_);
    ModuleFieldReader reader(bytes);
    auto value = load(static_cast<FieldReader&>(reader));
    if (value) {
      MANKAI_TRY(reader.end());
      if (!bytes.is_at_end()) {
        return fail(ErrorCode::corrupt, "bytes after the end of the value");
      }
    }
    return value;
  }

 private:
  DumpReader(ModuleType type, std::span<const std::byte> fields) noexcept : type_(std::move(type)), fields_(fields) {}

  ModuleType type_;
  std::span<const std::byte> fields_;
};

/// Writes fields with their types, as a module's value in an RDB file has them.
class ModuleFieldWriter : public FieldWriter {
 public:
  void unsigned_number(std::uint64_t number) override;
  void signed_number(std::int64_t number) override;
  void real(double number) override;
  void string(std::span<const std::byte> bytes) override;

 protected:
  [[nodiscard]] ByteBuffer& out() noexcept { return out_; }

 private:
  void begin(FieldType type);

  ByteBuffer out_;
};

/// Makes a DUMP payload that every engine since Redis 5 takes. Pre: as module_id.
class DumpWriter final : public ModuleFieldWriter {
 public:
  DumpWriter(std::string_view type_name, unsigned encver);
  /// Returns the payload. The writer is empty afterwards.
  [[nodiscard]] ByteBuffer finish();
};

}  // namespace mankai::takeover
