#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mankai::test {

/// Puts a message of the replication stream together, as a server does.
class PgBytes {
 public:
  explicit PgBytes(char kind) : bytes_(1, kind) {}

  PgBytes& u8(std::uint8_t value) { return integer(value, 1); }
  PgBytes& i16(std::int16_t value) { return integer(static_cast<std::uint16_t>(value), 2); }
  PgBytes& i32(std::int32_t value) { return integer(static_cast<std::uint32_t>(value), 4); }
  PgBytes& u64(std::uint64_t value) { return integer(value, 8); }
  PgBytes& letter(char value) { return raw({&value, 1}); }
  PgBytes& text(std::string_view value) { return raw(value).u8(0); }
  PgBytes& raw(std::string_view value) {
    bytes_ += value;
    return *this;
  }
  /// A column in text form.
  PgBytes& column(std::string_view value) {
    return letter('t').i32(static_cast<std::int32_t>(value.size())).raw(value);
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  PgBytes& integer(std::uint64_t value, int size) {
    for (int i = size - 1; i >= 0; --i) {
      bytes_.push_back(static_cast<char>(static_cast<unsigned char>(value >> (8 * i))));
    }
    return *this;
  }

  std::string bytes_;
};

}  // namespace mankai::test
