#pragma once

/// From the lines of a log to keys and times.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/input/line_reader.hpp"
#include "mankai/input/log_parser.hpp"

namespace re2 {
class RE2;
}  // namespace re2

namespace mankai::command {

/// A regular expression that picks the key out of a line, in RE2's syntax, on bytes.
///
/// Cost:    linear in the line whatever the expression and the line are; 1 MiB at most for what it remembers.
/// Threads: one at a time.
class LineMatch {
 public:
  /// Errors: invalid_argument with the position of what is wrong.
  [[nodiscard]] static Result<LineMatch> create(std::string_view expression);

  /// Returns what the first group matched, or the whole expression if it has no group, at the first place in the line
  /// where it matches; nothing if it does not, or if the group had no part in it.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view line) const;

 private:
  explicit LineMatch(std::shared_ptr<const re2::RE2> compiled) noexcept : compiled_(std::move(compiled)) {}

  std::shared_ptr<const re2::RE2> compiled_;
};

/// What of a record is its key.
enum class HotField : std::uint8_t { path, url, host, referrer, status, client, agent };

/// The names of the fields, in their order.
[[nodiscard]] std::span<const std::string_view> hot_field_names() noexcept;
[[nodiscard]] Result<HotField> parse_hot_field(std::string_view name);

/// Reads "time=ts,target=request.uri". Errors: invalid_argument.
[[nodiscard]] Result<LogFieldNames> parse_log_field_names(std::string_view text);

struct HotKeyRequest {
  HotField by = HotField::path;
  bool keep_query = false;
  std::optional<std::string> match;  ///< picks the key out of the line instead
  LogParserOptions parser;
};

/// Returns a number that says what is counted: the field and whether the query stays, or which expression. Never 0, and
/// stored in states: the values never change.
[[nodiscard]] std::uint64_t keys_tag(const HotKeyRequest& request) noexcept;
/// Returns the options that a tag stands for, such as "--by url --query"; an expression is only known by its hash.
[[nodiscard]] std::string options_of_tag(std::uint64_t tag);

/// How many lines were what, over all files, and the first one that was malformed.
struct HotLineCounts {
  std::uint64_t lines = 0;
  std::uint64_t skipped = 0;      ///< empty lines, comments, directives
  std::uint64_t malformed = 0;    ///< not of the format
  std::uint64_t without_key = 0;  ///< records that lack the field, or that --match does not match
  std::uint64_t without_time = 0;
  std::uint64_t in_future = 0;  ///< records that are later than may be
  std::string first_malformed;  ///< "access.log:12: reason"
  std::string first_in_future;  ///< "access.log:12: 2065-01-24T05:20:00Z"
};

/// Reads lines into keys and times, a batch at a time.
class HotKeys {
 public:
  struct Batch {
    std::span<const std::string_view> keys;
    std::span<const Time> times;
  };

  /// Errors: invalid_argument for an invalid expression, or for field names that clash.
  [[nodiscard]] static Result<HotKeys> create(const HotKeyRequest& request);

  /// Leaves records out that are later. None are unless this is called.
  void accept_until(Time latest) noexcept { latest_ = latest; }
  /// Begins a file: its format is found out anew.
  void begin_file() { parser_.restart(); }

  /// Reads lines of the file that was begun last. A record without a time gets that of the one before it, `before` for
  /// the first of them. Shape: lines[c], c <= kLinesMax. What is returned stands until the next call, and as long as
  /// the lines.
  [[nodiscard]] Batch read(std::span<const std::string_view> lines, const std::string& label, std::uint64_t first_line,
                           Time before);

  /// So few that records, keys and lines stay in a core's second-level cache.
  static constexpr std::size_t kLinesMax = 256;

  [[nodiscard]] const HotLineCounts& counts() const noexcept { return counts_; }
  /// The format of the file that was read last. Lines that decide on none are keys.
  [[nodiscard]] LogFormat format() const noexcept {
    return parser_.format() == LogFormat::automatic ? LogFormat::keys : parser_.format();
  }

 private:
  HotKeys(const HotKeyRequest& request, LogParser parser, std::optional<LineMatch> match);

  void note_malformed(LogLine outcome, const std::string& label, std::uint64_t line);
  void note_in_future(Time time, const std::string& label, std::uint64_t line);
  [[nodiscard]] std::string_view key_of(std::string_view line, const LogRecord& record);
  [[nodiscard]] std::string_view path_of(const LogRecord& record) const noexcept;
  [[nodiscard]] std::string_view url_of(const LogRecord& record);
  [[nodiscard]] std::string_view status_of(const LogRecord& record);
  void make_room(std::size_t lines);

  HotField by_;
  bool keep_query_;
  LogParser parser_;
  std::optional<LineMatch> match_;
  HotLineCounts counts_;
  Time latest_ = Time::max();
  std::vector<LogRecord> records_;
  std::array<LogLine, kLinesMax> outcomes_{};
  std::array<std::string_view, kLinesMax> keys_;
  std::array<Time, kLinesMax> times_;
  std::string made_;  // keys that stand in no line, such as host and path
};

}  // namespace mankai::command
