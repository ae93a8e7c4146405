#include "mankai/takeover/dump.hpp"

#include <string>
#include <utility>

namespace mankai::takeover {
namespace {

constexpr std::uint8_t kModuleValue = 7;
// Engines refuse versions above their own; 9 is that of Redis 5, the first with LFU and LRU values beside keys.
constexpr std::uint16_t kRdbVersion = 9;
constexpr std::size_t kCrcBytes = sizeof(std::uint64_t);
constexpr std::size_t kFooterBytes = sizeof(std::uint16_t) + kCrcBytes;

}  // namespace

Result<void> ModuleFieldReader::expect(FieldType type) {
  MANKAI_ASSIGN(const std::uint64_t found, take_rdb_number(*bytes_));
  if (found != static_cast<std::uint64_t>(type)) {
    return fail(ErrorCode::corrupt, "a field of type " + std::to_string(found) + " instead of " +
                                        std::to_string(static_cast<unsigned>(type)) + " before offset " +
                                        std::to_string(bytes_->offset()));
  }
  return {};
}

Result<std::uint64_t> ModuleFieldReader::unsigned_number() {
  MANKAI_TRY(expect(FieldType::unsigned_number));
  return take_rdb_number(*bytes_);
}

Result<std::int64_t> ModuleFieldReader::signed_number() {
  MANKAI_TRY(expect(FieldType::signed_number));
  MANKAI_ASSIGN(const std::uint64_t number, take_rdb_number(*bytes_));
  return static_cast<std::int64_t>(number);
}

Result<double> ModuleFieldReader::real() {
  MANKAI_TRY(expect(FieldType::real));
  return bytes_->take_number<double>();
}

Result<std::span<const std::byte>> ModuleFieldReader::string() {
  MANKAI_TRY(expect(FieldType::string));
  return take_string(*bytes_, buffer_);
}

Result<void> ModuleFieldReader::end() { return expect(FieldType::end); }

Result<DumpReader> DumpReader::open(std::span<const std::byte> payload) {
  if (payload.size() <= kFooterBytes) {
    return fail(ErrorCode::corrupt, "a DUMP payload of " + std::to_string(payload.size()) + " bytes is truncated");
  }
  ByteCursor footer(payload.last(kCrcBytes));
  MANKAI_ASSIGN(const auto crc, footer.take_number<std::uint64_t>());
  if (crc != 0 && crc != crc64(payload.first(payload.size() - kCrcBytes))) {
    return fail(ErrorCode::corrupt, "the checksum of the DUMP payload is wrong");
  }
  ByteCursor bytes(payload.first(payload.size() - kFooterBytes));
  MANKAI_ASSIGN(const auto kind, bytes.take_number<std::uint8_t>());
  if (kind != kModuleValue) {
    return fail(ErrorCode::invalid_argument,
                "the DUMP payload has a value of RDB type " + std::to_string(kind) + ", which is not a module's");
  }
  MANKAI_ASSIGN(const std::uint64_t id, take_rdb_number(bytes));
  return DumpReader(module_type(id), bytes.rest());
}

void ModuleFieldWriter::begin(FieldType type) { append_length(out_, static_cast<std::uint64_t>(type)); }

void ModuleFieldWriter::unsigned_number(std::uint64_t number) {
  begin(FieldType::unsigned_number);
  append_length(out_, number);
}

void ModuleFieldWriter::signed_number(std::int64_t number) {
  begin(FieldType::signed_number);
  append_length(out_, static_cast<std::uint64_t>(number));
}

void ModuleFieldWriter::real(double number) {
  begin(FieldType::real);
  append_number(out_, number);
}

void ModuleFieldWriter::string(std::span<const std::byte> bytes) {
  begin(FieldType::string);
  append_string(out_, bytes);
}

DumpWriter::DumpWriter(std::string_view type_name, unsigned encver) {
  append_number(out(), kModuleValue);
  append_length(out(), module_id(type_name, encver));
}

ByteBuffer DumpWriter::finish() {
  append_length(out(), static_cast<std::uint64_t>(FieldType::end));
  append_number(out(), kRdbVersion);
  append_number(out(), crc64(out()));
  return std::exchange(out(), {});
}

}  // namespace mankai::takeover
