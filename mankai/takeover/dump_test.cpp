#include "mankai/takeover/dump.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "mankai/takeover/takeover_test_support.hpp"

namespace mankai::takeover {
namespace {

using test::bytes_of;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(Crc64, agrees_with_the_published_check_value_in_pieces_of_any_size) {
  constexpr std::string_view kText = "123456789";
  constexpr std::uint64_t kCheck = 0xe9c6d914c4b8d9caU;
  EXPECT_EQ(crc64(bytes_of(kText)), kCheck);
  for (std::size_t i = 0; i <= kText.size(); ++i) {
    EXPECT_EQ(crc64(bytes_of(kText.substr(i)), crc64(bytes_of(kText.substr(0, i)))), kCheck) << i;
  }
}

TEST(Rdb, lengths_of_every_form_return) {
  for (const std::uint64_t length :
       {std::uint64_t{0}, std::uint64_t{63}, std::uint64_t{64}, std::uint64_t{16383}, std::uint64_t{16384},
        std::uint64_t{UINT32_MAX}, std::uint64_t{UINT32_MAX} + 1, UINT64_MAX}) {
    ByteBuffer bytes;
    append_length(bytes, length);
    ByteCursor cursor(bytes);
    const auto read = take_rdb_number(cursor);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(*read, length);
    EXPECT_TRUE(cursor.is_at_end());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      ByteCursor truncated{std::span(bytes).first(size)};
      EXPECT_FALSE(take_rdb_number(truncated).has_value());
    }
  }
}

TEST(Rdb, strings_may_be_integers_or_compressed) {
  struct Case {
    std::string bytes;
    std::string text;
  };
  const std::array cases = {
      Case{std::string("\xc0\xff", 2), "-1"},
      Case{std::string("\xc1\x39\x30", 3), "12345"},
      Case{std::string("\xc2\x00\x00\x00\x80", 5), "-2147483648"},
      Case{std::string("\xc3\x06\x0c\x01xy\xe0\x01\x01", 9), "xyxyxyxyxyxy"},
      Case{std::string("\x03"
                       "abc",
                       4),
           "abc"},
  };
  for (const Case& each : cases) {
    ByteBuffer buffer;
    ByteCursor cursor(bytes_of(each.bytes));
    const auto read = take_string(cursor, buffer);
    ASSERT_TRUE(read.has_value()) << each.text << read.error().message();
    EXPECT_EQ(text_of(*read), each.text);
    for (std::size_t size = 0; size < each.bytes.size(); ++size) {
      ByteCursor truncated(bytes_of(std::string_view(each.bytes).substr(0, size)));
      EXPECT_FALSE(take_string(truncated, buffer).has_value());
    }
  }
}

TEST(Rdb, compressed_strings_that_lie_are_refused) {
  using namespace std::string_literals;
  for (const std::string& bytes :
       {"\xc3\x06\x0d\x01xy\xe0\x01\x01"s, "\xc3\x06\x0b\x01xy\xe0\x01\x01"s, "\xc3\x06\x0c\x01xy\xe0\x01\x02"s,
        "\xc3\x03\x81\x00\x00\x00\x10\x00\x00\x00\x00\x01xy"s, "\xc4"s, "\x82"s}) {
    ByteBuffer buffer;
    ByteCursor cursor(bytes_of(bytes));
    EXPECT_FALSE(take_string(cursor, buffer).has_value());
    EXPECT_LE(buffer.capacity(), 100U);
  }
}

TEST(Rdb, ids_of_module_types_return) {
  const ModuleType type = module_type(module_id("MBbloom--", 4));
  EXPECT_EQ(type.name, "MBbloom--");
  EXPECT_EQ(type.encver, 4U);
}

ByteBuffer written() {
  DumpWriter writer("TopK-TYPE", 1023);
  writer.unsigned_number(UINT64_MAX);
  writer.signed_number(-5);
  writer.real(0.1);
  writer.string(bytes_of("cells"));
  return writer.finish();
}

Result<std::string> read_fields(FieldReader& fields) {
  MANKAI_ASSIGN(const auto number, fields.unsigned_number());
  MANKAI_ASSIGN(const auto signed_number, fields.signed_number());
  MANKAI_ASSIGN(const auto real, fields.real());
  MANKAI_ASSIGN(const auto bytes, fields.string());
  EXPECT_EQ(number, UINT64_MAX);
  EXPECT_EQ(signed_number, -5);
  EXPECT_EQ(real, 0.1);
  return text_of(bytes);
}

TEST(Dump, fields_return) {
  const ByteBuffer payload = written();
  const auto dump = DumpReader::open(payload);
  ASSERT_TRUE(dump.has_value());
  EXPECT_EQ(dump->type(), (ModuleType{.name = "TopK-TYPE", .encver = 1023}));
  EXPECT_EQ(dump->read(read_fields).value(), "cells");
  EXPECT_FALSE(dump->read([](FieldReader& fields) { return fields.unsigned_number(); }).has_value());
  EXPECT_FALSE(dump->read([](FieldReader& fields) { return fields.real(); }).has_value());
}

TEST(Dump, every_change_of_a_byte_is_detected_but_a_checksum_of_zero_is_none) {
  const ByteBuffer payload = written();
  for (std::size_t i = 0; i < payload.size(); ++i) {
    ByteBuffer changed = payload;
    changed[i] ^= std::byte{1};
    EXPECT_FALSE(DumpReader::open(changed).has_value()) << i;
    EXPECT_FALSE(DumpReader::open(std::span(payload).first(i)).has_value()) << i;
  }
  ByteBuffer unchecked = payload;
  std::fill(unchecked.end() - 8, unchecked.end(), std::byte{0});
  EXPECT_TRUE(DumpReader::open(unchecked).has_value());
}

}  // namespace
}  // namespace mankai::takeover
