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

/// Names of the members of JSON lines, such as "request.uri" for a nested member. Empty: the names of nginx, Caddy,
/// Traefik, Google Cloud and the Elastic schema, listed in docs/logs.md.
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

/// Number of lines per outcome.
struct LogCounts {
  std::array<std::uint64_t, kLogLineKinds> of_kind{};  ///< indexed by LogLine

  [[nodiscard]] std::uint64_t of(LogLine line) const noexcept { return of_kind[static_cast<std::size_t>(line)]; }
  [[nodiscard]] std::uint64_t lines() const noexcept;
  [[nodiscard]] std::uint64_t malformed() const noexcept;
};

/// Reads the lines of access logs. Never fails: each line has an outcome. Keeps the directives of a W3C log and the
/// format that `automatic` detected: use a new parser per file. Threads: one at a time.
///
/// `automatic` chooses the first format that accepts a line: `w3c` for a directive such as "#Fields:", `json` for an
/// object, then `combined`, then `squid`. A line that no format accepts is read as `keys`; after kUndecidedLinesMax
/// such lines the format is `keys`. Within one call, the deciding line also applies to the lines before it: if the
/// first line is truncated, it is malformed instead of a wrong key.
class LogParser {
 public:
  static constexpr std::size_t kUndecidedLinesMax = 100;

  /// Errors: invalid_argument if two fields have the same name.
  [[nodiscard]] static Result<LogParser> create(const LogParserOptions& options = {});

  LogParser(LogParser&& other) noexcept;
  LogParser& operator=(LogParser&& other) noexcept;
  LogParser(const LogParser&) = delete;
  LogParser& operator=(const LogParser&) = delete;
  ~LogParser();

  /// Reads one line without its line feed. `out` is unspecified unless the outcome is `record`; its texts are valid
  /// until the next call of either `parse`, and as long as the line. Cost: combined: about 100 ns for 200 bytes. Copies
  /// JSON strings and targets of W3C lines into memory that is reused; else does not allocate.
  [[nodiscard]] LogLine parse(std::string_view line, LogRecord& out);

  /// As line by line, except for `automatic`. With `keeps_texts`, texts of earlier calls stay valid. Shape: lines[c],
  /// out[c], outcomes[c]; c >= 0.
  void parse(std::span<const std::string_view> lines, std::span<LogRecord> out, std::span<LogLine> outcomes,
             bool keeps_texts = false);

  /// The format in use; `automatic` until it is detected.
  [[nodiscard]] LogFormat format() const noexcept { return format_; }
  [[nodiscard]] const LogCounts& counts() const noexcept { return counts_; }

  /// Whether the lines that follow decide the format, or have directives; otherwise they can be parsed in any order.
  [[nodiscard]] bool depends_on_order() const noexcept {
    return format_ == LogFormat::automatic || format_ == LogFormat::w3c;
  }
  /// Takes the directives and the detected format of another parser with the same options, to parse what follows the
  /// lines that it has parsed. The counts stay.
  void continue_after(const LogParser& other);

 private:
  explicit LogParser(LogFormat format, std::unique_ptr<detail::LogFormats> formats);

  void decide(std::span<const std::string_view> lines);
  [[nodiscard]] LogFormat format_of(std::string_view line);

  LogFormat format_;
  std::size_t undecided_lines_ = 0;
  std::unique_ptr<detail::LogFormats> formats_;
  LogCounts counts_;
};

}  // namespace mankai
