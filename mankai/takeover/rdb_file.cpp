#include "mankai/takeover/rdb_file.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "mankai/base/number.hpp"

namespace mankai::takeover {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} << 10;
// The window shrinks after a string that needed more than this.
constexpr std::size_t kLargeWindow = 4 * kBufferBytes;
// No number, head of a string, or field that is not a string is longer.
constexpr std::size_t kLookAhead = 32;

constexpr unsigned kNewestRedis = 13;
constexpr unsigned kNewestValkey = 80;
constexpr unsigned kFirstWithChecksum = 5;

enum class ObjectType : std::uint8_t {
  string = 0,
  list = 1,
  set = 2,
  sorted_set = 3,  // scores as text
  hash = 4,
  sorted_set_2 = 5,  // scores as doubles
  module = 7,
  hash_zipmap = 9,
  list_ziplist = 10,
  set_intset = 11,
  sorted_set_ziplist = 12,
  hash_ziplist = 13,
  list_quicklist = 14,
  stream = 15,
  hash_listpack = 16,
  sorted_set_listpack = 17,
  list_quicklist_2 = 18,
  stream_2 = 19,
  set_listpack = 20,
  stream_3 = 21,
  valkey_hash_2 = 22,  // with times to live of fields; in Redis, a hash of a release candidate
  hash_metadata = 24,  // with times to live of fields
  hash_listpack_ex = 25,
};

enum class Opcode : std::uint8_t {
  first = 243,
  key_metadata_or_slot_import = 243,  // Redis; Valkey
  slot_info = 244,
  functions = 245,
  module_aux = 247,
  idle = 248,
  frequency = 249,
  property = 250,
  resize_database = 251,
  expires_ms = 252,
  expires_seconds = 253,
  select_database = 254,
  end = 255,
};

// First of the numbers that Valkey does not accept from Redis, up to key metadata.
constexpr std::uint8_t kFirstRedisOnly = 22;

// Lengths of texts of scores that are infinite or not a number, and have no text.
constexpr std::uint8_t kFirstScoreWithoutText = 253;

constexpr std::size_t kStreamIdBytes = 16;
constexpr std::size_t kTimeBytes = 8;

std::optional<RdbKind> kind_of(ObjectType type, bool is_valkey) noexcept {
  switch (type) {
    case ObjectType::string: return RdbKind::string;
    case ObjectType::list:
    case ObjectType::list_ziplist:
    case ObjectType::list_quicklist:
    case ObjectType::list_quicklist_2: return RdbKind::list;
    case ObjectType::set:
    case ObjectType::set_intset:
    case ObjectType::set_listpack: return RdbKind::set;
    case ObjectType::sorted_set:
    case ObjectType::sorted_set_2:
    case ObjectType::sorted_set_ziplist:
    case ObjectType::sorted_set_listpack: return RdbKind::sorted_set;
    case ObjectType::hash:
    case ObjectType::hash_zipmap:
    case ObjectType::hash_ziplist:
    case ObjectType::hash_listpack: return RdbKind::hash;
    case ObjectType::valkey_hash_2: return is_valkey ? std::optional(RdbKind::hash) : std::nullopt;
    case ObjectType::hash_metadata:
    case ObjectType::hash_listpack_ex: return is_valkey ? std::nullopt : std::optional(RdbKind::hash);
    case ObjectType::stream:
    case ObjectType::stream_2:
    case ObjectType::stream_3: return RdbKind::stream;
    case ObjectType::module: return RdbKind::module;
  }
  return std::nullopt;
}

std::string at(std::uint64_t offset) { return " at offset " + std::to_string(offset); }

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string_view name(RdbKind kind) noexcept {
  static constexpr std::array<std::string_view, kRdbKinds> kNames = {"string", "list",   "set",   "sorted set",
                                                                     "hash",   "stream", "module"};
  return kNames[static_cast<std::size_t>(kind)];
}

// ---- The window

Result<void> RdbFileReader::fill(std::uint64_t bytes) {
  while (window().size() < bytes && !is_input_ended_) {
    if (end_ == capacity_) {
      make_room(bytes);
    }
    MANKAI_ASSIGN(const std::size_t got, read_({window_.get() + end_, capacity_ - end_}));
    end_ += got;
    is_input_ended_ = got == 0;
  }
  return {};
}

// Grows by doubling, so that memory follows the bytes that arrive, not the sizes that they announce.
void RdbFileReader::make_room(std::uint64_t bytes) {
  checksum_consumed();
  const std::size_t size = window().size();
  const bool is_full = size > capacity_ / 2;
  const bool is_too_large = capacity_ > kLargeWindow && size < kBufferBytes && bytes < kBufferBytes;
  if (is_full || is_too_large || capacity_ == 0) {
    const auto doubled = is_full ? std::min<std::uint64_t>(bytes, std::uint64_t{2} * capacity_) : 0;
    const std::size_t capacity = std::max(kBufferBytes, static_cast<std::size_t>(doubled));
    auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity);
    std::ranges::copy(window(), larger.get());
    window_ = std::move(larger);
    capacity_ = capacity;
  } else {
    std::memmove(window_.get(), window_.get() + begin_, size);
  }
  checksummed_ = 0;
  begin_ = 0;
  end_ = size;
}

Result<void> RdbFileReader::fill_string(std::size_t at) {
  MANKAI_TRY(fill(at + kLookAhead));
  ByteCursor cursor(window());
  const auto before = cursor.take(at);
  const auto bytes = before ? take_string_head(cursor) : Result<std::uint64_t>(std::unexpected(before.error()));
  // The caller reads the string next, and reports what is wrong.
  return bytes && *bytes < UINT64_MAX - kLookAhead - at ? fill(cursor.offset() + *bytes) : Result<void>{};
}

void RdbFileReader::consume(std::size_t bytes) noexcept {
  begin_ += bytes;
  offset_ += bytes;
}

void RdbFileReader::checksum_consumed() noexcept {
  crc_ = crc64({window_.get() + checksummed_, begin_ - checksummed_}, crc_);
  checksummed_ = begin_;
}

template <class Take>
auto RdbFileReader::take(const Take& take) -> decltype(take(std::declval<ByteCursor&>())) {
  MANKAI_TRY(fill(kLookAhead));
  ByteCursor cursor(window(), offset_);
  auto taken = take(cursor);
  if (taken) {
    consume(window().size() - cursor.rest().size());
  }
  return taken;
}

template <class T>
Result<T> RdbFileReader::take_number() {
  return take([](ByteCursor& bytes) { return bytes.take_number<T>(); });
}

Result<std::uint64_t> RdbFileReader::take_length() { return take(take_rdb_number); }

Result<std::string> RdbFileReader::take_text() {
  MANKAI_TRY(fill_string(0));
  return take([](ByteCursor& bytes) -> Result<std::string> {
    ByteBuffer buffer;
    MANKAI_ASSIGN(const auto text, take_string(bytes, buffer));
    return text_of(text);
  });
}

Result<void> RdbFileReader::skip(std::uint64_t bytes) {
  while (bytes > 0) {
    MANKAI_TRY(fill(1));
    if (window().empty()) {
      return fail(ErrorCode::corrupt,
                  "truncated: " + std::to_string(bytes) + " bytes of a value are missing" + at(offset_));
    }
    const auto part = std::min<std::uint64_t>(bytes, window().size());
    consume(static_cast<std::size_t>(part));
    bytes -= part;
  }
  return {};
}

Result<void> RdbFileReader::skip_lengths(int count) {
  for (; count > 0; --count) {
    MANKAI_TRY(take_length());
  }
  return {};
}

Result<void> RdbFileReader::skip_string() {
  MANKAI_ASSIGN(const std::uint64_t bytes, take(take_string_head));
  return skip(bytes);
}

Result<void> RdbFileReader::skip_strings(int count) {
  for (; count > 0; --count) {
    MANKAI_TRY(skip_string());
  }
  return {};
}

template <class Step>
Result<void> RdbFileReader::skip_each(const Step& step) {
  MANKAI_ASSIGN(const std::uint64_t count, take_length());
  for (std::uint64_t i = 0; i < count; ++i) {
    MANKAI_TRY(step());
  }
  return {};
}

// ---- Fields of a module's value

template <class Take>
auto RdbFileReader::Fields::take(const Take& take) -> decltype(take(std::declval<ModuleFieldReader&>())) {
  MANKAI_TRY(file_.fill(kLookAhead));
  cursor_ = ByteCursor(file_.window(), file_.offset_);
  auto taken = take(reader_);
  if (taken) {
    file_.consume(file_.window().size() - cursor_.rest().size());
  }
  return taken;
}

Result<std::uint64_t> RdbFileReader::Fields::unsigned_number() {
  return take([](ModuleFieldReader& fields) { return fields.unsigned_number(); });
}

Result<std::int64_t> RdbFileReader::Fields::signed_number() {
  return take([](ModuleFieldReader& fields) { return fields.signed_number(); });
}

Result<double> RdbFileReader::Fields::real() {
  return take([](ModuleFieldReader& fields) { return fields.real(); });
}

Result<std::span<const std::byte>> RdbFileReader::Fields::string() {
  MANKAI_TRY(file_.fill(kLookAhead));
  ByteCursor cursor(file_.window());
  if (take_rdb_number(cursor) == static_cast<std::uint64_t>(FieldType::string)) {
    MANKAI_TRY(file_.fill_string(static_cast<std::size_t>(cursor.offset())));
  }
  return take([](ModuleFieldReader& fields) { return fields.string(); });
}

Result<void> RdbFileReader::Fields::expect_end() {
  MANKAI_TRY(file_.fill(kLookAhead));
  cursor_ = ByteCursor(file_.window(), file_.offset_);
  return reader_.end();
}

// ---- The file

template <class T>
Result<T> RdbFileReader::keep_failure(Result<T> result) {
  if (!result) {
    failure_ = result.error();
  }
  return result;
}

Result<std::optional<RdbKey>> RdbFileReader::next() {
  MANKAI_TRY(skip_value());
  return keep_failure(next_key());
}

Result<void> RdbFileReader::skip_value() {
  if (failure_) {
    return std::unexpected(*failure_);
  }
  const auto type = std::exchange(value_, std::nullopt);
  return type ? keep_failure(skip_object(*type)) : Result<void>{};
}

Result<std::optional<RdbKey>> RdbFileReader::next_key() {
  if (is_ended_) {
    return std::nullopt;
  }
  if (facts_.version == 0) {
    MANKAI_TRY(begin_file());
  }
  for (RdbKey key;;) {
    MANKAI_ASSIGN(const auto type, take_number<std::uint8_t>());
    if (!facts_.is_valkey && type >= kFirstRedisOnly && type <= static_cast<std::uint8_t>(Opcode::first)) {
      facts_.has_redis_only = true;
    }
    if (type < static_cast<std::uint8_t>(Opcode::first)) {
      MANKAI_TRY(begin_value(type, key));
      return key;
    }
    if (type == static_cast<std::uint8_t>(Opcode::end)) {
      MANKAI_TRY(end_file());
      return std::nullopt;
    }
    MANKAI_TRY(take_opcode(type, key));
  }
}

Result<void> RdbFileReader::begin_file() {
  constexpr std::string_view kRedis = "REDIS";
  constexpr std::string_view kValkey = "VALKEY";
  constexpr std::size_t kHeaderBytes = 9;
  MANKAI_TRY(fill(kHeaderBytes));
  const std::string header = text_of(window().first(std::min(window().size(), kHeaderBytes)));
  facts_.is_valkey = header.starts_with(kValkey);
  if (header.size() < kHeaderBytes || !(facts_.is_valkey || header.starts_with(kRedis))) {
    return fail(ErrorCode::corrupt, "not an RDB file: it does not begin with REDIS or VALKEY");
  }
  const auto digits = std::string_view(header).substr(facts_.is_valkey ? kValkey.size() : kRedis.size());
  const auto version = to_number<unsigned>(digits);
  if (!version || *version == 0) {
    return fail(ErrorCode::corrupt, "the version of the RDB file, \"" + std::string(digits) + "\", is not a number");
  }
  if (facts_.is_valkey ? *version != kNewestValkey : *version > kNewestRedis) {
    return fail(ErrorCode::unsupported_version,
                "RDB version " + std::to_string(*version) + "; this version of mankai reads Redis' versions 1 to " +
                    std::to_string(kNewestRedis) + " and Valkey's " + std::to_string(kNewestValkey));
  }
  facts_.version = *version;
  consume(kHeaderBytes);
  return {};
}

Result<void> RdbFileReader::end_file() {
  if (facts_.version >= kFirstWithChecksum) {
    checksum_consumed();
    const std::uint64_t expected = crc_;
    MANKAI_ASSIGN(const auto found, take_number<std::uint64_t>());
    facts_.has_checksum = found != 0;
    if (facts_.has_checksum && found != expected) {
      return fail(ErrorCode::corrupt, "the checksum at the end of the RDB file is wrong");
    }
  }
  MANKAI_TRY(fill(1));
  if (!window().empty()) {
    return fail(ErrorCode::corrupt, "bytes after the end of the RDB file" + at(offset_) +
                                        "; of an AOF with an RDB preamble, save a dump with BGSAVE instead");
  }
  is_ended_ = true;
  return {};
}

Result<void> RdbFileReader::take_opcode(std::uint8_t opcode, RdbKey& key) {
  switch (static_cast<Opcode>(opcode)) {
    case Opcode::key_metadata_or_slot_import: return skip_key_metadata();
    case Opcode::slot_info: return skip_lengths(3);
    case Opcode::functions: return skip_string();
    case Opcode::module_aux: return take_aux_of_module();
    case Opcode::idle: return skip_lengths(1);
    case Opcode::frequency: return skip(1);
    case Opcode::property: return take_property();
    case Opcode::resize_database: return skip_lengths(2);
    case Opcode::expires_ms: {
      MANKAI_ASSIGN(key.expires_ms, take_number<std::int64_t>());
      return {};
    }
    case Opcode::expires_seconds: {
      MANKAI_ASSIGN(const auto seconds, take_number<std::int32_t>());
      key.expires_ms = std::int64_t{seconds} * 1000;
      return {};
    }
    case Opcode::select_database: {
      MANKAI_ASSIGN(database_, take_length());
      return {};
    }
    case Opcode::end: break;
  }
  return fail(ErrorCode::unsupported_version, "unknown opcode " + std::to_string(opcode) + at(offset_ - 1));
}

Result<void> RdbFileReader::take_property() {
  MANKAI_ASSIGN(const std::string property, take_text());
  for (const std::string_view engine : {"redis", "valkey"}) {
    if (property == std::string(engine) + "-ver") {
      MANKAI_ASSIGN(const std::string version, take_text());
      facts_.engine = std::string(engine) + " " + version;
      return {};
    }
  }
  return skip_string();
}

Result<void> RdbFileReader::take_aux_of_module() {
  MANKAI_ASSIGN(const std::uint64_t id, take_length());
  facts_.aux_modules.insert(module_type(id).name);
  MANKAI_TRY(skip_lengths(2));  // a type of field, and the time: before or after the keys
  return skip_fields();
}

Result<void> RdbFileReader::begin_value(std::uint8_t type, RdbKey& key) {
  const std::uint64_t offset = offset_ - 1;
  key.database = database_;
  MANKAI_ASSIGN(key.name, take_text());
  const auto kind = kind_of(static_cast<ObjectType>(type), facts_.is_valkey);
  if (!kind) {
    return fail(ErrorCode::unsupported_version, "unknown object type " + std::to_string(type) + at(offset));
  }
  key.kind = *kind;
  if (key.kind == RdbKind::module) {
    MANKAI_ASSIGN(const std::uint64_t id, take_length());
    key.module = module_type(id);
  }
  value_ = type;
  return {};
}

// ---- Values

Result<void> RdbFileReader::skip_object(std::uint8_t type) {
  switch (static_cast<ObjectType>(type)) {
    case ObjectType::string:
    case ObjectType::hash_zipmap:
    case ObjectType::list_ziplist:
    case ObjectType::set_intset:
    case ObjectType::sorted_set_ziplist:
    case ObjectType::hash_ziplist:
    case ObjectType::hash_listpack:
    case ObjectType::sorted_set_listpack:
    case ObjectType::set_listpack: return skip_string();
    case ObjectType::list:
    case ObjectType::set:
    case ObjectType::list_quicklist: return skip_each([this] { return skip_string(); });
    case ObjectType::hash: return skip_each([this] { return skip_strings(2); });
    case ObjectType::sorted_set:
      return skip_each([this]() -> Result<void> {
        MANKAI_TRY(skip_string());
        return skip_score();
      });
    case ObjectType::sorted_set_2:
      return skip_each([this]() -> Result<void> {
        MANKAI_TRY(skip_string());
        return skip(sizeof(double));
      });
    case ObjectType::list_quicklist_2:
      return skip_each([this]() -> Result<void> {
        MANKAI_TRY(skip_lengths(1));
        return skip_string();
      });
    case ObjectType::valkey_hash_2:
      return skip_each([this]() -> Result<void> {
        MANKAI_TRY(skip_strings(2));
        return skip(kTimeBytes);
      });
    case ObjectType::hash_metadata:
      MANKAI_TRY(skip(kTimeBytes));
      return skip_each([this]() -> Result<void> {
        MANKAI_TRY(skip_lengths(1));
        return skip_strings(2);
      });
    case ObjectType::hash_listpack_ex: MANKAI_TRY(skip(kTimeBytes)); return skip_string();
    case ObjectType::stream: return skip_stream(1);
    case ObjectType::stream_2: return skip_stream(2);
    case ObjectType::stream_3: return skip_stream(3);
    case ObjectType::module: return skip_fields();
  }
  return {};
}

Result<void> RdbFileReader::skip_score() {
  MANKAI_ASSIGN(const auto length, take_number<std::uint8_t>());
  return skip(length < kFirstScoreWithoutText ? length : 0);
}

Result<void> RdbFileReader::skip_fields() {
  for (;;) {
    const std::uint64_t offset = offset_;
    MANKAI_ASSIGN(const std::uint64_t type, take_length());
    if (type > static_cast<std::uint64_t>(FieldType::string)) {
      return fail(ErrorCode::corrupt, "unknown type " + std::to_string(type) + " of a field" + at(offset));
    }
    switch (static_cast<FieldType>(type)) {
      case FieldType::end: return {};
      case FieldType::signed_number:
      case FieldType::unsigned_number: MANKAI_TRY(skip_lengths(1)); break;
      case FieldType::float32: MANKAI_TRY(skip(sizeof(float))); break;
      case FieldType::real: MANKAI_TRY(skip(sizeof(double))); break;
      case FieldType::string: MANKAI_TRY(skip_string()); break;
    }
  }
}

Result<void> RdbFileReader::skip_stream(int version) {
  const auto entries = [this] { return skip_strings(2); };
  MANKAI_TRY(skip_each(entries));
  // Number of entries and last id; since version 2 also first id, largest deleted id, and entries ever added.
  MANKAI_TRY(skip_lengths(version >= 2 ? 8 : 3));
  const auto groups = [&] { return skip_consumer_group(version); };
  return skip_each(groups);
}

Result<void> RdbFileReader::skip_consumer_group(int version) {
  MANKAI_TRY(skip_string());
  MANKAI_TRY(skip_lengths(version >= 2 ? 3 : 2));  // last id; entries read
  const auto pending = [this]() -> Result<void> {
    MANKAI_TRY(skip(kStreamIdBytes + kTimeBytes));
    return skip_lengths(1);  // number of deliveries
  };
  MANKAI_TRY(skip_each(pending));
  return skip_each([&]() -> Result<void> {  // consumers
    MANKAI_TRY(skip_string());
    MANKAI_TRY(skip(version >= 3 ? 2 * kTimeBytes : kTimeBytes));
    return skip_each([this] { return skip(kStreamIdBytes); });
  });
}

Result<void> RdbFileReader::skip_key_metadata() {
  if (facts_.is_valkey) {  // an import of slots: its name and the ranges
    MANKAI_TRY(skip_string());
    return skip_each([this] { return skip_lengths(2); });
  }
  return skip_each([this]() -> Result<void> {
    MANKAI_TRY(skip(sizeof(std::uint32_t)));
    return skip_fields();
  });
}

}  // namespace mankai::takeover
