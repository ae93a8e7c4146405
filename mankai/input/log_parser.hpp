#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/input/log_record.hpp"

namespace mankai {

namespace detail {
struct LogFormats;
}  // namespace detail

/// Names of the members of JSON lines, nested ones as "request.uri". Empty: the names that nginx, Caddy, Traefik,
/// Google Cloud and the Elastic schema use, listed in docs/logs.md.
struct LogFieldNames {
  std::string time;
  std::string client;
  std::string host;
  std::string method;
  std::string target;
  std::string referrer;
  std::string agent;
  std::string status;
  std::string bytes;
};

/// Settings of a LogParser.
struct LogParserOptions {
  LogFormat format = LogFormat::automatic;
  LogFieldNames names;
};

/// Numbers of lines by outcome.
struct LogCounts {
  std::array<std::uint64_t, kLogLineKinds> of_kind{};  ///< by LogLine

  [[nodiscard]] std::uint64_t of(LogLine line) const noexcept { return of_kind[static_cast<std::size_t>(line)]; }
  [[nodiscard]] std::uint64_t lines() const noexcept;
  [[nodiscard]] std::uint64_t malformed() const noexcept;
};

/// Reads the lines of access logs. It never fails: each line has an outcome.
///
/// It keeps the directives of a W3C log and the format that `automatic` detected. Use a new parser, or `restart`, for
/// each file.
///
/// `automatic` chooses the first format that accepts a line: `w3c` for one that begins with "#Fields:" or another of
/// its directives, `json` for an object, then `combined`, then `squid`. A line that no format accepts is read as `keys`
/// and decides nothing; after kUndecidedLinesMax such lines the format is `keys`. Within one call, the line that
/// decides also decides for the lines before it: so a log whose first line is truncated has one malformed line, not a
/// wrong key.
///
/// Threads: one at a time.
class LogParser {
 public:
  static constexpr std::size_t kUndecidedLinesMax = 100;

  /// Errors: invalid_argument when two fields have the same name.
  [[nodiscard]] static Result<LogParser> create(const LogParserOptions& options = {});

  LogParser(LogParser&& other) noexcept;
  LogParser& operator=(LogParser&& other) noexcept;
  LogParser(const LogParser&) = delete;
  LogParser& operator=(const LogParser&) = delete;
  ~LogParser();

  /// Reads one line, without its line feed; `out` is unspecified unless the outcome is `record`.
  ///
  /// The texts are valid until the next call of either `parse`, and as long as the line.
  ///
  /// Cost:    combined: about 100 ns for 200 bytes. JSON strings and the targets of W3C lines are copied into memory
  ///          that the next call reuses; otherwise no allocation.
  [[nodiscard]] LogLine parse(std::string_view line, LogRecord& out);

  /// Reads many lines; the same as one by one, except for `automatic`.
  /// Shape:   lines[c], out[c], outcomes[c]; same length, may be 0.
  void parse(std::span<const std::string_view> lines, std::span<LogRecord> out, std::span<LogLine> outcomes);

  /// Returns the format in use: `automatic` until it is detected.
  [[nodiscard]] LogFormat format() const noexcept { return format_; }
  [[nodiscard]] const LogCounts& counts() const noexcept { return counts_; }

  /// Resets the directives and the detected format, for the next file. The counts stay.
  void restart();

 private:
  explicit LogParser(LogFormat format, std::unique_ptr<detail::LogFormats> formats);

  void decide(std::span<const std::string_view> lines);
  [[nodiscard]] LogFormat format_of(std::string_view line);

  LogFormat wanted_;
  LogFormat format_;
  std::size_t undecided_lines_ = 0;
  std::unique_ptr<detail::LogFormats> formats_;
  LogCounts counts_;
};

}  // namespace mankai
