#include "mankai/gate/database/pgoutput.hpp"

#include <array>
#include <charconv>
#include <concepts>
#include <optional>
#include <type_traits>

#include "mankai/base/number.hpp"

namespace mankai {
namespace {

constexpr int kHexBase = 16;
constexpr unsigned kHalf = 32;
constexpr unsigned kByte = 8;

// PostgreSQL counts from 2000; this is the time from 1970 to then.
constexpr Duration kEpoch = std::chrono::sys_days(std::chrono::year(2000) / 1 / 1).time_since_epoch();

Time to_time(std::int64_t since_2000) noexcept {
  // No real log has such a distant time; a forged one must not overflow.
  constexpr auto kMost = Duration::max() - kEpoch;
  return Time(kEpoch + std::min(Duration(since_2000), kMost));
}

/// Removes values from the front of a message. After the first error it returns zeros, and finish() reports the error.
class Reader {
 public:
  explicit Reader(std::string_view bytes) noexcept : bytes_(bytes) {}

  template <std::integral T>
  T take() noexcept {
    std::make_unsigned_t<T> value = 0;
    for (const char byte : take_bytes(sizeof(T))) {
      value = static_cast<std::make_unsigned_t<T>>((std::uint64_t{value} << kByte) | static_cast<unsigned char>(byte));
    }
    return static_cast<T>(value);
  }
  Lsn take_lsn() noexcept { return {take<std::uint64_t>()}; }
  Time take_time() noexcept { return to_time(take<std::int64_t>()); }
  char take_char() noexcept { return static_cast<char>(take<std::uint8_t>()); }

  std::string_view take_bytes(std::size_t count) noexcept {
    if (bytes_.size() - at_ < count) {
      refuse("a value that is truncated");
      return {};
    }
    const std::string_view taken = bytes_.substr(at_, count);
    at_ += count;
    return taken;
  }
  std::string_view take_rest() noexcept { return take_bytes(bytes_.size() - at_); }
  std::string_view take_text() noexcept {
    const std::size_t end = bytes_.find('\0', at_);
    if (end == std::string_view::npos) {
      refuse("a name without an end");
      return {};
    }
    const std::string_view text = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return text;
  }
  void take_flags(unsigned largest) noexcept {
    if (take<std::uint8_t>() > largest) {
      refuse("unknown flags");
    }
  }
  /// Reads a count of items of at least `each` bytes; refuses a count that the message cannot contain.
  template <std::signed_integral T>
  std::size_t take_count(std::size_t each) noexcept {
    const T count = take<T>();
    if (count < 0 || static_cast<std::size_t>(count) > (bytes_.size() - at_) / each) {
      refuse("a length beyond the end of the message");
      return 0;
    }
    return static_cast<std::size_t>(count);
  }

  void refuse(const char* why) noexcept {
    if (why_ == nullptr) {
      why_ = why;
      where_ = at_;
    }
    at_ = bytes_.size();
  }
  [[nodiscard]] bool has_failed() const noexcept { return why_ != nullptr; }

  template <class T>
  [[nodiscard]] Result<T> finish(std::string_view what, T value) {
    if (at_ != bytes_.size()) {
      refuse("bytes after its end");
    }
    if (why_ != nullptr) {
      return fail(ErrorCode::corrupt,
                  std::string(what) + " in the replication stream has " + why_ + " at byte " + std::to_string(where_));
    }
    return value;
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  const char* why_ = nullptr;
  std::size_t where_ = 0;
};

PgColumn take_column(Reader& reader) {
  switch (reader.take_char()) {
    case 'n': return {.state = PgColumn::State::null, .value = {}};
    case 'u': return {.state = PgColumn::State::unchanged, .value = {}};
    case 't': return {.state = PgColumn::State::text, .value = reader.take_bytes(reader.take_count<std::int32_t>(1))};
    case 'b': return {.state = PgColumn::State::binary, .value = reader.take_bytes(reader.take_count<std::int32_t>(1))};
    default: reader.refuse("a column of an unknown kind"); return {};
  }
}

PgRow take_row(Reader& reader) {
  PgRow row(reader.take_count<std::int16_t>(1));
  for (PgColumn& column : row) {
    column = take_column(reader);
  }
  return row;
}

void expect_new_row(Reader& reader, char mark) {
  if (mark != 'N') {
    reader.refuse("a row of an unknown kind");
  }
}

PgOldRow take_old_row(Reader& reader, char mark, PgRow& row) {
  if (mark != 'K' && mark != 'O') {
    return PgOldRow::none;
  }
  row = take_row(reader);
  return mark == 'O' ? PgOldRow::full : PgOldRow::identity;
}

PgCommit take_commit(Reader& reader) {
  reader.take_flags(0);
  const Lsn commit = reader.take_lsn();
  const Lsn end = reader.take_lsn();
  return {.commit = commit, .end = end, .committed = reader.take_time()};
}

PgRelation take_relation(Reader& reader) {
  constexpr std::size_t kLeastColumn = 10;  // flags, an empty name, type and modifier
  PgRelation relation{.id = reader.take<std::uint32_t>(), .columns = {}};
  reader.take_text();  // schema
  reader.take_text();  // name
  if (std::string_view("dnfi").find(reader.take_char()) == std::string_view::npos) {
    reader.refuse("an unknown replica identity");
  }
  relation.columns.resize(reader.take_count<std::int16_t>(kLeastColumn));
  for (PgRelationColumn& column : relation.columns) {
    reader.take_flags(1);
    column.name = reader.take_text();
    column.type = reader.take<std::uint32_t>();
    reader.take<std::int32_t>();  // modifier
  }
  return relation;
}

PgInsert take_insert(Reader& reader) {
  PgInsert insert;
  insert.relation = reader.take<std::uint32_t>();
  expect_new_row(reader, reader.take_char());
  insert.row = take_row(reader);
  return insert;
}

PgUpdate take_update(Reader& reader) {
  PgUpdate update;
  update.relation = reader.take<std::uint32_t>();
  char mark = reader.take_char();
  update.old_is = take_old_row(reader, mark, update.old_row);
  if (update.old_is != PgOldRow::none) {
    mark = reader.take_char();
  }
  expect_new_row(reader, mark);
  update.row = take_row(reader);
  return update;
}

PgDelete take_delete(Reader& reader) {
  PgDelete erased;
  erased.relation = reader.take<std::uint32_t>();
  erased.old_is = take_old_row(reader, reader.take_char(), erased.old_row);
  if (erased.old_is == PgOldRow::none) {
    reader.refuse("a row of an unknown kind");
  }
  return erased;
}

PgTruncate take_truncate(Reader& reader) {
  constexpr unsigned kCascadesAndRestarts = 3;
  const auto relations = reader.take<std::int32_t>();
  reader.take_flags(kCascadesAndRestarts);
  PgTruncate truncate;
  for (std::int32_t i = 0; i < relations && !reader.has_failed(); ++i) {
    truncate.relations.push_back(reader.take<std::uint32_t>());
  }
  if (relations < 0) {
    reader.refuse("a length beyond the end of the message");
  }
  return truncate;
}

PgIgnored take_note(Reader& reader) {
  reader.take_flags(1);
  reader.take_lsn();
  reader.take_text();
  reader.take_bytes(reader.take_count<std::int32_t>(1));
  return {};
}

PgBegin take_begin(Reader& reader) {
  const Lsn commit = reader.take_lsn();
  reader.take_time();
  return {.commit = commit, .transaction = reader.take<std::uint32_t>()};
}

PgIgnored take_origin(Reader& reader) {
  reader.take_lsn();
  reader.take_text();
  return {};
}

PgIgnored take_type(Reader& reader) {
  reader.take<std::uint32_t>();
  reader.take_text();
  reader.take_text();
  return {};
}

template <class T>
void put(std::string& bytes, T value) {
  for (std::size_t i = sizeof(T); i > 0; --i) {
    bytes.push_back(static_cast<char>(static_cast<unsigned char>(value >> (kByte * (i - 1)))));
  }
}

/// Reads up to `most` digits at `at`, and moves `at` after them.
std::optional<char> take_code(std::string_view line, std::size_t& at, int radix, std::size_t most) {
  const std::size_t begin = at;
  unsigned code = 0;
  for (; at < line.size() && at - begin < most; ++at) {
    const auto digit = to_number<unsigned>(line.substr(at, 1), radix);
    if (!digit) {
      break;
    }
    code = code * static_cast<unsigned>(radix) + *digit;
  }
  return at == begin ? std::nullopt : std::optional(static_cast<char>(static_cast<unsigned char>(code)));
}

/// Returns the character for the escape whose letter is at `at`, and moves `at` after it.
std::optional<char> take_escape(std::string_view line, std::size_t& at) {
  constexpr std::string_view kLetters = "bfnrtv\\";
  constexpr std::string_view kMeanings = "\b\f\n\r\t\v\\";
  constexpr unsigned kOctal = 8;
  constexpr std::size_t kOctalDigits = 3;
  constexpr std::size_t kHexadecimalDigits = 2;
  if (at == line.size()) {
    return std::nullopt;
  }
  const std::size_t which = kLetters.find(line[at]);
  if (which != std::string_view::npos) {
    ++at;
    return kMeanings[which];
  }
  if (line[at] == 'x') {
    ++at;
    return take_code(line, at, kHexBase, kHexadecimalDigits);
  }
  return take_code(line, at, kOctal, kOctalDigits);
}

}  // namespace

std::string to_text(Lsn lsn) {
  constexpr std::size_t kDigits = 8;
  std::array<char, 2 * kDigits + 1> text{};
  char* end = std::to_chars(text.begin(), text.begin() + kDigits, lsn.value >> kHalf, kHexBase).ptr;
  *end++ = '/';
  end = std::to_chars(end, end + kDigits, static_cast<std::uint32_t>(lsn.value), kHexBase).ptr;
  std::string written(text.begin(), end);
  for (char& letter : written) {
    letter = letter >= 'a' ? static_cast<char>(letter - 'a' + 'A') : letter;
  }
  return written;
}

Result<Lsn> parse_lsn(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const auto high = to_number<std::uint32_t>(text.substr(0, slash), kHexBase);
    const auto low = to_number<std::uint32_t>(text.substr(slash + 1), kHexBase);
    if (high && low) {
      return Lsn{(std::uint64_t{*high} << kHalf) | *low};
    }
  }
  return fail(ErrorCode::invalid_argument,
              "\"" + std::string(text) + "\" is not a position in PostgreSQL's log; expected one such as 16/B374D848");
}

Result<PgCopyData> parse_copy_data(std::string_view bytes) {
  Reader reader(bytes);
  switch (reader.take_char()) {
    case 'w': {
      const Lsn start = reader.take_lsn();
      reader.take_lsn();   // end of the log
      reader.take_time();  // time of sending
      return reader.finish<PgCopyData>("a chunk", PgChunk{.start = start, .message = reader.take_rest()});
    }
    case 'k': {
      const Lsn end = reader.take_lsn();
      reader.take_time();
      const bool wants_reply = reader.take<std::uint8_t>() != 0;
      return reader.finish<PgCopyData>("a keepalive", PgKeepalive{.end = end, .wants_reply = wants_reply});
    }
    default:
      return fail(ErrorCode::corrupt, "the replication stream has a message that is neither data nor a keepalive");
  }
}

std::string to_copy_data(const PgStatus& status) {
  std::string bytes(1, 'r');
  put(bytes, status.received.value);
  put(bytes, status.durable.value);
  put(bytes, status.durable.value);  // applied: only what is durable, since the rest may be applied again
  put(bytes, static_cast<std::uint64_t>((status.now.time_since_epoch() - kEpoch).count()));
  bytes.push_back(status.wants_reply ? '\1' : '\0');
  return bytes;
}

Result<PgMessage> parse_pgoutput(std::string_view bytes) {
  Reader reader(bytes);
  switch (reader.take_char()) {
    case 'B': return reader.finish<PgMessage>("a begin", take_begin(reader));
    case 'C': return reader.finish<PgMessage>("a commit", take_commit(reader));
    case 'O': return reader.finish<PgMessage>("an origin", take_origin(reader));
    case 'R': return reader.finish<PgMessage>("a relation", take_relation(reader));
    case 'Y': return reader.finish<PgMessage>("a type", take_type(reader));
    case 'I': return reader.finish<PgMessage>("an insert", take_insert(reader));
    case 'U': return reader.finish<PgMessage>("an update", take_update(reader));
    case 'D': return reader.finish<PgMessage>("a delete", take_delete(reader));
    case 'T': return reader.finish<PgMessage>("a truncate", take_truncate(reader));
    case 'M': return reader.finish<PgMessage>("a message", take_note(reader));
    default: return fail(ErrorCode::corrupt, "the replication stream has a message that is not of pgoutput version 1");
  }
}

Result<bool> parse_copy_line(std::string_view line, std::string& value) {
  value.clear();
  if (line.ends_with('\n')) {
    line.remove_suffix(1);
  }
  if (line == "\\N") {
    return false;
  }
  for (std::size_t at = 0; at < line.size();) {
    const char letter = line[at];
    if (letter == '\t' || letter == '\n') {
      return fail(ErrorCode::corrupt, "a row of COPY has more than one column, at byte " + std::to_string(at));
    }
    ++at;
    if (letter != '\\') {
      value.push_back(letter);
      continue;
    }
    const auto meaning = take_escape(line, at);
    if (!meaning) {
      return fail(ErrorCode::corrupt, "a row of COPY has an unknown escape at byte " + std::to_string(at));
    }
    value.push_back(*meaning);
  }
  return true;
}

}  // namespace mankai
