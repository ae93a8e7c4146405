#pragma once

/// Walks the keys of an RDB file, as Redis (versions 1 to 13) and Valkey (version 80) save it. Values are skipped,
/// except those of modules, whose fields a caller may read.
///
/// Source: [RDB]. Cannot: skip values of the types that Redis 8.6 and release candidates added, whose sizes it does not
///         know: unsupported_version, with type and offset.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "mankai/base/error.hpp"
#include "mankai/takeover/dump.hpp"
#include "mankai/takeover/fields.hpp"
#include "mankai/takeover/rdb.hpp"

namespace mankai::takeover {

/// What the engine calls the type of a key.
enum class RdbKind : std::uint8_t { string, list, set, sorted_set, hash, stream, module };
inline constexpr std::size_t kRdbKinds = 7;
/// "string", "list", "set", "sorted set", "hash", "stream" or "module".
[[nodiscard]] std::string_view name(RdbKind kind) noexcept;

/// A key of an RDB file.
struct RdbKey {
  std::uint64_t database = 0;
  std::string name = {};
  RdbKind kind = RdbKind::string;
  ModuleType module = {};                       ///< of RdbKind::module
  std::optional<std::int64_t> expires_ms = {};  ///< since 1970
};

/// Properties of an RDB file. Complete at its end.
struct RdbFacts {
  bool is_valkey = false;  ///< begins with VALKEY: saved by Valkey 9 or later
  unsigned version = 0;
  std::string engine = {};  ///< such as "redis 7.0.15", if the file says so
  bool has_checksum = false;
  bool has_redis_only = false;             ///< types or opcodes that Redis added after 7.2, which Valkey refuses
  std::set<std::string> aux_modules = {};  ///< types of modules that saved data beside the keys
};

/// See the top of this file.
///
/// Cost:    a pass over the bytes for the checksum, about 0.5 ns per byte. Memory: 256 KiB, or twice the longest string
///          that is read: a key, or a string among the fields.
/// Errors:  the source's; corrupt, with the offset; unsupported_version; std::bad_alloc. next() repeats its first
/// error. Threads: one at a time.
class RdbFileReader {
 public:
  /// Fills a prefix of the span, and returns its length; 0 at the end.
  using Read = std::move_only_function<Result<std::size_t>(std::span<std::byte>)>;

  explicit RdbFileReader(Read read) : read_(std::move(read)), fields_(*this) {}
  RdbFileReader(const RdbFileReader&) = delete;
  RdbFileReader& operator=(const RdbFileReader&) = delete;
  ~RdbFileReader() = default;

  /// The next key; nothing after the last one, when the checksum has been compared. Skips the value before it.
  [[nodiscard]] Result<std::optional<RdbKey>> next();

  /// Returns `load(fields)`, a Result, of the current value, which has no further fields. Errors: as load; corrupt; the
  /// next key can be read after these. Pre: the current key's kind is module, and its value has not been read.
  template <class Load>
  [[nodiscard]] auto read(const Load& load) -> decltype(load(std::declval<FieldReader&>())) {
    auto value = load(static_cast<FieldReader&>(fields_));
    if (value) {
      MANKAI_TRY(fields_.expect_end());
    }
    return value;
  }

  /// Skips what is left of the current value, to tell its size; next() does so too. Errors: as next().
  [[nodiscard]] Result<void> skip_value();

  [[nodiscard]] const RdbFacts& facts() const noexcept { return facts_; }
  /// Bytes that were read or skipped.
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

 private:
  // The fields of the current value: ModuleFieldReader on the window.
  class Fields final : public FieldReader {
   public:
    explicit Fields(RdbFileReader& file) noexcept : file_(file), cursor_({}), reader_(cursor_) {}

    [[nodiscard]] Result<std::uint64_t> unsigned_number() override;
    [[nodiscard]] Result<std::int64_t> signed_number() override;
    [[nodiscard]] Result<double> real() override;
    [[nodiscard]] Result<std::span<const std::byte>> string() override;
    /// Errors: corrupt if there is another field. Consumes nothing.
    [[nodiscard]] Result<void> expect_end();

   private:
    template <class Take>
    [[nodiscard]] auto take(const Take& take) -> decltype(take(std::declval<ModuleFieldReader&>()));

    RdbFileReader& file_;
    ByteCursor cursor_;
    ModuleFieldReader reader_;
  };

  [[nodiscard]] std::span<const std::byte> window() const noexcept { return {window_.get() + begin_, end_ - begin_}; }
  /// Reads until the window has so many bytes, or the input ends.
  [[nodiscard]] Result<void> fill(std::uint64_t bytes);
  void make_room(std::uint64_t bytes);
  /// Fills the window with a whole string that is `at` bytes after its begin.
  [[nodiscard]] Result<void> fill_string(std::size_t at);
  void consume(std::size_t bytes) noexcept;
  void checksum_consumed() noexcept;

  template <class Take>
  [[nodiscard]] auto take(const Take& take) -> decltype(take(std::declval<ByteCursor&>()));
  template <class T>
  [[nodiscard]] Result<T> take_number();
  [[nodiscard]] Result<std::uint64_t> take_length();
  [[nodiscard]] Result<std::string> take_text();

  [[nodiscard]] Result<void> skip(std::uint64_t bytes);
  [[nodiscard]] Result<void> skip_lengths(int count);
  [[nodiscard]] Result<void> skip_string();
  [[nodiscard]] Result<void> skip_strings(int count);
  /// Runs `step` as often as the next length says.
  template <class Step>
  [[nodiscard]] Result<void> skip_each(const Step& step);

  template <class T>
  [[nodiscard]] Result<T> keep_failure(Result<T> result);
  [[nodiscard]] Result<std::optional<RdbKey>> next_key();
  [[nodiscard]] Result<void> begin_file();
  [[nodiscard]] Result<void> end_file();
  [[nodiscard]] Result<void> take_opcode(std::uint8_t opcode, RdbKey& key);
  [[nodiscard]] Result<void> take_property();
  [[nodiscard]] Result<void> take_aux_of_module();
  [[nodiscard]] Result<void> begin_value(std::uint8_t type, RdbKey& key);

  [[nodiscard]] Result<void> skip_object(std::uint8_t type);
  [[nodiscard]] Result<void> skip_score();
  [[nodiscard]] Result<void> skip_fields();
  [[nodiscard]] Result<void> skip_stream(int version);
  [[nodiscard]] Result<void> skip_consumer_group(int version);
  [[nodiscard]] Result<void> skip_key_metadata();

  Read read_;
  Fields fields_;
  std::unique_ptr<std::byte[]> window_;
  std::size_t capacity_ = 0;
  std::size_t checksummed_ = 0;  // consumed bytes before it are part of crc_
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t offset_ = 0;  // of begin_ in the file
  std::uint64_t crc_ = 0;
  bool is_input_ended_ = false;

  RdbFacts facts_;
  std::uint64_t database_ = 0;
  std::optional<std::uint8_t> value_;  // type of a value that has not been skipped
  bool is_ended_ = false;
  std::optional<Error> failure_;
};

}  // namespace mankai::takeover
