#pragma once

/// Extracts keys and times from the lines of a log.

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/mankai/input.hpp"
#include "mankai/base/error.hpp"
#include "mankai/input/line_reader.hpp"
#include "mankai/input/log_parser.hpp"

namespace re2 {
class RE2;
}  // namespace re2

namespace mankai::command {

/// A regular expression in RE2's syntax that extracts the key from a line. Matches bytes, not UTF-8.
///
/// Cost:    linear in the line for any expression; at most 1 MiB of RE2's cache.
/// Threads: any number at once.
class LineMatch {
 public:
  /// Errors: invalid_argument, with the position of the syntax error.
  [[nodiscard]] static Result<LineMatch> create(std::string_view expression);

  /// Returns the first group of the first match, or the whole match if the expression has no group. Returns nothing
  /// without a match, or if the group did not participate in it.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view line) const;

 private:
  explicit LineMatch(std::shared_ptr<const re2::RE2> compiled) noexcept : compiled_(std::move(compiled)) {}

  std::shared_ptr<const re2::RE2> compiled_;
};

enum class HotField : std::uint8_t { path, url, host, referrer, status, client, agent };

[[nodiscard]] std::span<const std::string_view> hot_field_names() noexcept;
[[nodiscard]] Result<HotField> parse_hot_field(std::string_view name);

/// Parses "time=ts,target=request.uri". Errors: invalid_argument.
[[nodiscard]] Result<LogFieldNames> parse_log_field_names(std::string_view text);

struct HotKeyRequest {
  HotField by = HotField::path;
  bool keep_query = false;
  std::optional<std::string> match;  ///< expression that replaces `by`
  LogParserOptions parser;
};

/// Returns a number that identifies how keys are made: the field and --query, or a hash of the expression. Never 0.
/// Stored in state files, so values never change.
[[nodiscard]] std::uint64_t keys_tag(const HotKeyRequest& request) noexcept;
/// Returns the options for a tag, such as "--by url --query"; of an expression only the hash.
[[nodiscard]] std::string options_of_tag(std::uint64_t tag);

/// Counts over all files.
struct HotLineCounts {
  std::uint64_t lines = 0;
  std::uint64_t skipped = 0;  ///< empty lines, comments, directives
  std::uint64_t malformed = 0;
  std::uint64_t without_key = 0;  ///< records without the field, or not matched by --match
  std::uint64_t without_time = 0;
  std::uint64_t in_future = 0;  ///< records after accept_until
  std::string first_malformed;  ///< "access.log:12: reason"
  std::string first_in_future;  ///< "access.log:12: 2065-01-24T05:20:00Z"

  /// Adds the counts of the lines that follow.
  void add(const HotLineCounts& later);
};

/// The records of a block of lines.
class HotKeys {
 public:
  /// A record without a time gets that of the record before; kNoTime until there is one in the batch.
  struct Batch {
    std::span<const std::string_view> keys;
    std::span<Time> times;

    /// Gives the first records without a time that of a record before the batch.
    void begin_at(Time before) const;
  };
  static constexpr Time kNoTime = Time::min();

  /// Errors: invalid_argument for an invalid expression or conflicting field names.
  [[nodiscard]] static Result<HotKeys> create(const HotKeyRequest& request);
  /// Another object for the same request, to parse another file or, after continue_after, another block.
  [[nodiscard]] HotKeys another() const;

  /// Skips records after this time. [default: none are skipped]
  void accept_until(Time latest) noexcept { latest_ = latest; }
  /// As those of LogParser.
  void continue_after(const HotKeys& other) { parser_.continue_after(other.parser_); }
  [[nodiscard]] bool depends_on_order() const noexcept { return parser_.depends_on_order(); }

  /// Parses lines of the current file, in batches of at most kLinesMax. Batches and counts are valid until the next
  /// call, and batches as long as the lines.
  void read(std::span<const std::string_view> lines, const std::string& label, std::uint64_t first_line);
  [[nodiscard]] std::span<const Batch> batches() const noexcept { return batches_; }

  /// Records, keys and lines of a batch fit into a core's L2 cache.
  static constexpr std::size_t kLinesMax = 256;

  /// Adds what another object has read to the counts, and takes its format.
  void add(const HotKeys& later);
  [[nodiscard]] const HotLineCounts& counts() const noexcept { return counts_; }
  /// Format of the current file; LogFormat::keys while none was detected.
  [[nodiscard]] LogFormat format() const noexcept {
    return parser_.format() == LogFormat::automatic ? LogFormat::keys : parser_.format();
  }

 private:
  HotKeys(const HotKeyRequest& request, LogParser parser, std::optional<LineMatch> match);

  [[nodiscard]] Batch read_batch(std::span<const std::string_view> lines, const std::string& label,
                                 std::uint64_t first_line, std::size_t place);
  void note_malformed(LogLine outcome, const std::string& label, std::uint64_t line);
  void note_in_future(Time time, const std::string& label, std::uint64_t line);
  [[nodiscard]] std::string_view key_of(std::string_view line, const LogRecord& record);
  [[nodiscard]] std::string_view path_of(const LogRecord& record) const noexcept;
  [[nodiscard]] std::string_view url_of(const LogRecord& record);
  [[nodiscard]] std::string_view status_of(const LogRecord& record);
  void make_room(std::size_t lines);

  LogParserOptions options_;
  HotField by_;
  bool keep_query_;
  LogParser parser_;
  std::optional<LineMatch> match_;
  HotLineCounts counts_;
  Time latest_ = Time::max();
  std::vector<LogRecord> records_;
  std::array<LogLine, kLinesMax> outcomes_{};
  std::vector<std::string_view> keys_;
  std::vector<Time> times_;
  std::vector<Batch> batches_;
  std::deque<std::string> all_made_;  // of each batch: keys that no line contains, such as host and path
  std::string* made_ = nullptr;       // of this batch
};

/// Records of several logs in order: a Reader of a Pipeline, and its blocks.
class HotReader {
 public:
  struct Block {
    HotKeys keys;
    Duration future;  ///< skips records that are this much later than the clock
    LinesBlock lines{};
    bool is_parsed = false;

    [[nodiscard]] std::size_t size() const noexcept { return lines.size(); }
    void parse();
  };

  /// Reads logs as `keys` does. Errors: as Pipeline::open.
  [[nodiscard]] static Result<std::unique_ptr<Pipeline<HotReader>>> open(const InputRequest& request,
                                                                         const HotKeys& keys, Duration future,
                                                                         std::function<void()> before_waiting);

  /// Parses at once what depends on the lines before it. Errors: as LineReader.
  [[nodiscard]] Result<std::size_t> read(Block& block, bool keeps);
  [[nodiscard]] const Source& source() const noexcept { return lines_.source(); }

 private:
  HotReader(LineReader lines, HotKeys last) : lines_(std::move(lines)), last_(std::move(last)) {}

  LineReader lines_;
  HotKeys last_;
};

}  // namespace mankai::command
