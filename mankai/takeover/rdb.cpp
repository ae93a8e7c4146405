#include "mankai/takeover/rdb.hpp"

#include <algorithm>
#include <bit>

#include "mankai/base/assert.hpp"
#include "mankai/hash/crc.hpp"

namespace mankai::takeover {
namespace {

// CRC-64 of Jones; starts and ends without a complement.
using JonesCrc = Crc<std::uint64_t, 0x95ac9329ac4bc9b5U>;

constexpr std::string_view kNameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t kNameSize = 9;
constexpr unsigned kLetterBits = 6;
constexpr unsigned kEncverBits = 10;

// The two highest bits of a length's first byte.
enum class LengthForm : std::uint8_t { six_bits = 0, fourteen_bits = 1, whole = 2, encoding = 3 };
constexpr unsigned kFormShift = 6;
constexpr std::uint8_t kBelowForm = 0x3f;
// First bytes of the form `whole`, whose numbers are big-endian.
constexpr std::uint8_t kLength32 = 0x80;
constexpr std::uint8_t kLength64 = 0x81;

enum class StringEncoding : std::uint8_t { int8 = 0, int16 = 1, int32 = 2, lzf = 3 };

// LZF: a byte below 32 announces that many literal bytes and one more; others a copy, of a length of 3 bits, or of
// these and a byte if they are all set, and a distance of 13 bits.
constexpr unsigned kLzfLiterals = 32;
constexpr unsigned kLzfLengthShift = 5;
constexpr unsigned kLzfLongLength = 7;
constexpr unsigned kLzfDistanceMask = 0x1f;
// Three bytes become at most 264.
constexpr std::uint64_t kLzfMostRatio = 88;

template <class T>
Result<std::uint64_t> take_big_endian(ByteCursor& bytes) {
  MANKAI_ASSIGN(const T number, bytes.take_number<T>());
  return std::byteswap(number);
}

template <class T>
Result<std::span<const std::byte>> take_integer_text(ByteCursor& bytes, ByteBuffer& buffer) {
  MANKAI_ASSIGN(const T number, bytes.take_number<T>());
  const std::string text = std::to_string(number);
  buffer.clear();
  append(buffer, std::as_bytes(std::span(text)));
  return std::span<const std::byte>(buffer);
}

Result<std::span<const std::byte>> take_compressed(ByteCursor& bytes, ByteBuffer& buffer) {
  MANKAI_ASSIGN(const std::uint64_t packed_bytes, take_rdb_number(bytes));
  MANKAI_ASSIGN(const std::uint64_t whole_bytes, take_rdb_number(bytes));
  MANKAI_ASSIGN(const auto packed, bytes.take(packed_bytes));
  if (whole_bytes / kLzfMostRatio > packed_bytes) {
    return fail(ErrorCode::corrupt, "a compressed string of " + std::to_string(packed_bytes) + " bytes claims " +
                                        std::to_string(whole_bytes));
  }
  buffer.resize(static_cast<std::size_t>(whole_bytes));
  MANKAI_TRY(decompress_lzf(packed, buffer));
  return std::span<const std::byte>(buffer);
}

std::unexpected<Error> fail_on_string_encoding(const ByteCursor& bytes) {
  return fail(ErrorCode::corrupt, "unknown encoding of a string before offset " + std::to_string(bytes.offset()));
}

}  // namespace

std::uint64_t crc64(std::span<const std::byte> bytes, std::uint64_t before) noexcept {
  return JonesCrc::update(before, bytes);
}

std::uint64_t module_id(std::string_view name, unsigned encver) noexcept {
  MANKAI_ASSERT(name.size() == kNameSize && encver < 1U << kEncverBits);
  std::uint64_t id = 0;
  for (const char letter : name) {
    const std::size_t place = kNameLetters.find(letter);
    MANKAI_ASSERT(place != std::string_view::npos);
    id = id << kLetterBits | place;
  }
  return id << kEncverBits | encver;
}

ModuleType module_type(std::uint64_t id) {
  ModuleType type{.name = std::string(kNameSize, ' '), .encver = static_cast<unsigned>(id % (1U << kEncverBits))};
  id >>= kEncverBits;
  for (std::size_t i = kNameSize; i-- > 0; id >>= kLetterBits) {
    type.name[i] = kNameLetters[id % kNameLetters.size()];
  }
  return type;
}

Result<RdbLength> take_length(ByteCursor& bytes) {
  MANKAI_ASSIGN(const auto first, bytes.take_number<std::uint8_t>());
  const std::uint64_t below = first & kBelowForm;
  switch (static_cast<LengthForm>(first >> kFormShift)) {
    case LengthForm::six_bits: return RdbLength{.number = below};
    case LengthForm::fourteen_bits: {
      MANKAI_ASSIGN(const auto second, bytes.take_number<std::uint8_t>());
      return RdbLength{.number = below << 8U | second};
    }
    case LengthForm::encoding: return RdbLength{.number = below, .is_encoding = true};
    case LengthForm::whole: break;
  }
  if (first != kLength32 && first != kLength64) {
    return fail(ErrorCode::corrupt, "unknown form of a length at offset " + std::to_string(bytes.offset() - 1));
  }
  MANKAI_ASSIGN(const std::uint64_t number,
                first == kLength32 ? take_big_endian<std::uint32_t>(bytes) : take_big_endian<std::uint64_t>(bytes));
  return RdbLength{.number = number};
}

Result<std::uint64_t> take_rdb_number(ByteCursor& bytes) {
  MANKAI_ASSIGN(const RdbLength length, take_length(bytes));
  if (length.is_encoding) {
    return fail(ErrorCode::corrupt, "an encoding instead of a number before offset " + std::to_string(bytes.offset()));
  }
  return length.number;
}

Result<std::span<const std::byte>> take_string(ByteCursor& bytes, ByteBuffer& buffer) {
  MANKAI_ASSIGN(const RdbLength length, take_length(bytes));
  if (!length.is_encoding) {
    return bytes.take(length.number);
  }
  switch (static_cast<StringEncoding>(length.number)) {
    case StringEncoding::int8: return take_integer_text<std::int8_t>(bytes, buffer);
    case StringEncoding::int16: return take_integer_text<std::int16_t>(bytes, buffer);
    case StringEncoding::int32: return take_integer_text<std::int32_t>(bytes, buffer);
    case StringEncoding::lzf: return take_compressed(bytes, buffer);
  }
  return fail_on_string_encoding(bytes);
}

Result<std::uint64_t> take_string_head(ByteCursor& bytes) {
  MANKAI_ASSIGN(const RdbLength length, take_length(bytes));
  if (!length.is_encoding) {
    return length.number;
  }
  switch (static_cast<StringEncoding>(length.number)) {
    case StringEncoding::int8: return sizeof(std::int8_t);
    case StringEncoding::int16: return sizeof(std::int16_t);
    case StringEncoding::int32: return sizeof(std::int32_t);
    case StringEncoding::lzf: {
      MANKAI_ASSIGN(const std::uint64_t packed_bytes, take_rdb_number(bytes));
      MANKAI_TRY(take_rdb_number(bytes));
      return packed_bytes;
    }
  }
  return fail_on_string_encoding(bytes);
}

void append_length(ByteBuffer& out, std::uint64_t length) {
  constexpr std::uint64_t kBelowSixBits = 1U << 6U;
  constexpr std::uint64_t kBelowFourteenBits = 1U << 14U;
  if (length < kBelowSixBits) {
    append_number(out, static_cast<std::uint8_t>(length));
  } else if (length < kBelowFourteenBits) {
    append_number(out, std::byteswap(static_cast<std::uint16_t>(length | kBelowFourteenBits)));
  } else if (length <= UINT32_MAX) {
    append_number(out, kLength32);
    append_number(out, std::byteswap(static_cast<std::uint32_t>(length)));
  } else {
    append_number(out, kLength64);
    append_number(out, std::byteswap(length));
  }
}

void append_string(ByteBuffer& out, std::span<const std::byte> bytes) {
  append_length(out, bytes.size());
  append(out, bytes);
}

Result<void> decompress_lzf(std::span<const std::byte> packed, std::span<std::byte> out) {
  ByteCursor from(packed);
  std::size_t at = 0;
  while (!from.is_at_end()) {
    MANKAI_ASSIGN(const auto control, from.take_number<std::uint8_t>());
    if (control < kLzfLiterals) {
      MANKAI_ASSIGN(const auto literals, from.take(control + 1U));
      if (literals.size() > out.size() - at) {
        return fail(ErrorCode::corrupt, "a compressed string is longer than it claims");
      }
      std::ranges::copy(literals, out.begin() + static_cast<std::ptrdiff_t>(at));
      at += literals.size();
      continue;
    }
    std::size_t count = control >> kLzfLengthShift;
    if (count == kLzfLongLength) {
      MANKAI_ASSIGN(const auto more, from.take_number<std::uint8_t>());
      count += more;
    }
    count += 2;
    MANKAI_ASSIGN(const auto low, from.take_number<std::uint8_t>());
    const std::size_t distance = ((control & kLzfDistanceMask) << 8U | low) + 1U;
    if (distance > at || count > out.size() - at) {
      return fail(ErrorCode::corrupt, "a compressed string refers to bytes outside of it");
    }
    // Byte by byte: the copy may overlap itself, and repeats then.
    for (; count > 0; --count, ++at) {
      out[at] = out[at - distance];
    }
  }
  if (at != out.size()) {
    return fail(ErrorCode::corrupt, "a compressed string is shorter than it claims");
  }
  return {};
}

}  // namespace mankai::takeover
