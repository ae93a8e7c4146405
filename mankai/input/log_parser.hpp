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

/// Where JSON lines keep what: names of members, nested ones as "request.uri". Empty: the names that nginx, Caddy,
/// Traefik, Google Cloud and the Elastic schema use, listed in docs/logs.md.
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

/// What a LogParser is told about the lines to come.
struct LogParserOptions {
  LogFormat format = LogFormat::automatic;
  LogFieldNames names;
};

/// How many lines were what.
struct LogCounts {
  std::array<std::uint64_t, kLogLineKinds> of_kind{};  ///< by LogLine

  [[nodiscard]] std::uint64_t of(LogLine line) const noexcept { return of_kind[static_cast<std::size_t>(line)]; }
  [[nodiscard]] std::uint64_t lines() const noexcept;
  [[nodiscard]] std::uint64_t malformed() const noexcept;
};

/// Reads access logs, line by line: it never fails, it says what each line is.
///
/// It remembers what lines need of those before them: the directives of a W3C log, and which format `automatic` found.
/// A file of its own is best given a parser of its own, or `restart`.
///
/// `automatic` takes the first format that accepts a line: `w3c` for one that begins with "#Fields:" or another of its
/// directives, `json` for an object, then `combined`, then `squid`. A line that none of them accepts decides nothing
/// and is read as `keys`; after kUndecidedLinesMax such lines the format is `keys` for good. Of the lines given at once
/// the first that decides, decides for those before it too, so that a log whose first line was cut off has one
/// malformed line and not a strange key.
///
/// Threads: one at a time.
class LogParser {
 public:
  static constexpr std::size_t kUndecidedLinesMax = 100;

  /// Errors: invalid_argument when two fields are to be read from one member.
  [[nodiscard]] static Result<LogParser> create(const LogParserOptions& options = {});

  LogParser(LogParser&& other) noexcept;
  LogParser& operator=(LogParser&& other) noexcept;
  LogParser(const LogParser&) = delete;
  LogParser& operator=(const LogParser&) = delete;
  ~LogParser();

  /// Reads one line, without its line feed; `out` is good only for a `record`, otherwise anything.
  ///
  /// The texts are valid until the next call of either `parse`, and as long as the line.
  ///
  /// Cost:    combined: about 100 ns for 200 bytes. No allocation, except that JSON strings and the targets of W3C
  /// lines
  ///          are copied into memory which is used again by the next call.
  [[nodiscard]] LogLine parse(std::string_view line, LogRecord& out);

  /// Reads many lines; the same as one by one, except for what `automatic` says.
  /// Shape:   lines[c], out[c], outcomes[c]; same length, may be 0.
  void parse(std::span<const std::string_view> lines, std::span<LogRecord> out, std::span<LogLine> outcomes);

  /// Returns the format in use: `automatic` until it is found out.
  [[nodiscard]] LogFormat format() const noexcept { return format_; }
  [[nodiscard]] const LogCounts& counts() const noexcept { return counts_; }

  /// Forgets the directives and the format found, for the next file. The counts go on.
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
