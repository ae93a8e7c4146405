#pragma once

/// The encodings of RDB files that values of modules use: lengths, strings, fields, names of types, and the checksum.
/// Every function checks bounds before it reads or allocates, and memory follows the bytes that are present.
///
/// Source: [RDB], as engines write it.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/takeover/bytes.hpp"

namespace mankai::takeover {

/// CRC-64 of Jones, as in the footers of RDB files and DUMP payloads. Pass the result on to continue. Cost: about
/// 1 ns per 2 bytes. Threads: pure.
[[nodiscard]] std::uint64_t crc64(std::span<const std::byte> bytes, std::uint64_t before = 0) noexcept;

/// The type of a module's value.
struct ModuleType {
  std::string name;  ///< 9 letters of A-Z a-z 0-9 - _
  unsigned encver = 0;

  friend bool operator==(const ModuleType&, const ModuleType&) = default;
};

/// Pre: `name` has 9 of these letters, encver is below 1024.
[[nodiscard]] std::uint64_t module_id(std::string_view name, unsigned encver) noexcept;
[[nodiscard]] ModuleType module_type(std::uint64_t id);

/// What is before a field of a module's value.
enum class FieldType : std::uint8_t {
  end = 0,
  signed_number = 1,
  unsigned_number = 2,
  float32 = 3,
  real = 4,
  string = 5
};

/// A length, or the encoding of a string that is not its bytes.
struct RdbLength {
  std::uint64_t number = 0;
  bool is_encoding = false;
};

/// Errors: corrupt.
[[nodiscard]] Result<RdbLength> take_length(ByteCursor& bytes);
/// A length that is a number. Errors: corrupt.
[[nodiscard]] Result<std::uint64_t> take_rdb_number(ByteCursor& bytes);
/// A string: bytes, an integer or compressed bytes. The result refers to the cursor's bytes or to `buffer`. Errors:
/// corrupt; out_of_space.
[[nodiscard]] Result<std::span<const std::byte>> take_string(ByteCursor& bytes, ByteBuffer& buffer);

/// Reads what is before a string's bytes, and returns their number: of the compressed ones, if it is compressed.
/// Errors: corrupt.
[[nodiscard]] Result<std::uint64_t> take_string_head(ByteCursor& bytes);

/// Appends a length in its shortest form.
void append_length(ByteBuffer& out, std::uint64_t length);
/// Appends the bytes as they are.
void append_string(ByteBuffer& out, std::span<const std::byte> bytes);

/// Fills `out` with the bytes that LZF compressed. Errors: corrupt, unless they fill it exactly.
[[nodiscard]] Result<void> decompress_lzf(std::span<const std::byte> packed, std::span<std::byte> out);

}  // namespace mankai::takeover
