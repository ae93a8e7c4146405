#pragma once

/// The fields of a value that a module saves in an RDB file, as the engine passes them: one at a time, each with its
/// type. The module for Redis implements these with the engine's calls; dump.hpp has DUMP payloads.

#include <cstddef>
#include <cstdint>
#include <span>

#include "mankai/base/error.hpp"

namespace mankai::takeover {

/// Reads fields in order. Errors: corrupt, if the next field has another type, or there is none.
class FieldReader {
 public:
  FieldReader() = default;
  FieldReader(const FieldReader&) = delete;
  FieldReader& operator=(const FieldReader&) = delete;
  virtual ~FieldReader() = default;

  [[nodiscard]] virtual Result<std::uint64_t> unsigned_number() = 0;
  [[nodiscard]] virtual Result<std::int64_t> signed_number() = 0;
  [[nodiscard]] virtual Result<double> real() = 0;
  /// The bytes are valid until the next call.
  [[nodiscard]] virtual Result<std::span<const std::byte>> string() = 0;
};

/// Takes fields in order.
class FieldWriter {
 public:
  FieldWriter() = default;
  FieldWriter(const FieldWriter&) = delete;
  FieldWriter& operator=(const FieldWriter&) = delete;
  virtual ~FieldWriter() = default;

  virtual void unsigned_number(std::uint64_t number) = 0;
  virtual void signed_number(std::int64_t number) = 0;
  virtual void real(double number) = 0;
  virtual void string(std::span<const std::byte> bytes) = 0;
};

}  // namespace mankai::takeover
