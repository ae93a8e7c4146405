#include "mankai/input/log_parser.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/input/detail/log_formats.hpp"

namespace mankai {

namespace detail {

/// The parsers that have a state, and the memory for the texts that they compose.
struct LogFormats {
  CombinedLog combined;
  W3cLog w3c;
  JsonLog json;
  TextArena arena;

  [[nodiscard]] LogLine parse(LogFormat format, std::string_view line, LogRecord& out) {
    const bool has_comments = format == LogFormat::combined || format == LogFormat::squid || format == LogFormat::json;
    if (line.empty() || (has_comments && line.starts_with('#'))) {
      return LogLine::skipped;
    }
    switch (format) {
      case LogFormat::combined: return combined.parse(line, out);
      case LogFormat::squid: return parse_squid(line, out);
      case LogFormat::w3c: return w3c.parse(line, arena, out);
      case LogFormat::json: return json.parse(line, arena, out);
      case LogFormat::automatic:
      case LogFormat::keys: break;
    }
    return parse_key(line, out);
  }
};

}  // namespace detail

namespace {

// Indexed by LogFormat and LogLine.
constexpr std::array<std::string_view, 6> kFormatNames = {"automatic", "combined", "squid", "w3c", "json", "keys"};
constexpr std::array<std::string_view, kLogLineKinds> kLineNames = {
    "a record", "empty, a comment or a directive", "not a line of the format", "a time that does not exist",
    "an invalid status or size"};

}  // namespace

std::string_view name(LogFormat format) noexcept { return kFormatNames.at(static_cast<std::size_t>(format)); }

Result<LogFormat> parse_log_format(std::string_view text) {
  if (text == "auto") {
    return LogFormat::automatic;
  }
  if (text == "common") {
    return LogFormat::combined;
  }
  const auto* const found = std::ranges::find(kFormatNames, text);
  if (found == kFormatNames.end()) {
    return fail(ErrorCode::invalid_argument,
                "unknown log format '" + std::string(text) + "'; expected auto, combined, squid, w3c, json or keys");
  }
  return static_cast<LogFormat>(found - kFormatNames.begin());
}

std::string_view name(LogLine line) noexcept { return kLineNames.at(static_cast<std::size_t>(line)); }

std::uint64_t LogCounts::lines() const noexcept {
  return std::accumulate(of_kind.begin(), of_kind.end(), std::uint64_t{0});
}

std::uint64_t LogCounts::malformed() const noexcept { return lines() - of(LogLine::record) - of(LogLine::skipped); }

LogParser::LogParser(LogFormat format, std::unique_ptr<detail::LogFormats> formats)
    : format_(format), formats_(std::move(formats)) {}

LogParser::LogParser(LogParser&& other) noexcept = default;
LogParser& LogParser::operator=(LogParser&& other) noexcept = default;
LogParser::~LogParser() = default;

Result<LogParser> LogParser::create(const LogParserOptions& options) {
  MANKAI_ASSIGN(auto json, detail::JsonLog::create(options.names));
  return LogParser(options.format, std::make_unique<detail::LogFormats>(detail::LogFormats{
                                       .combined = {}, .w3c = {}, .json = std::move(json), .arena = {}}));
}

LogLine LogParser::parse(std::string_view line, LogRecord& out) {
  LogLine outcome{};
  parse(std::span(&line, 1), std::span(&out, 1), std::span(&outcome, 1));
  return outcome;
}

void LogParser::parse(std::span<const std::string_view> lines, std::span<LogRecord> out, std::span<LogLine> outcomes,
                      bool keeps_texts) {
  MANKAI_ASSERT(lines.size() == out.size() && lines.size() == outcomes.size());
  if (!keeps_texts) {
    formats_->arena.reset();
  }
  if (format_ == LogFormat::automatic) {
    decide(lines);
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    outcomes[i] = formats_->parse(format_, lines[i], out[i]);
    ++counts_.of_kind[static_cast<std::size_t>(outcomes[i])];
  }
}

void LogParser::decide(std::span<const std::string_view> lines) {
  for (const std::string_view line : lines) {
    format_ = format_of(line);
    if (format_ != LogFormat::automatic) {
      return;
    }
    undecided_lines_ += line.empty() ? 0 : 1;
    if (undecided_lines_ >= kUndecidedLinesMax) {
      format_ = LogFormat::keys;
      return;
    }
  }
}

// A line may be parsed twice, since only directives change the meaning of later lines, and those are not parsed here.
LogFormat LogParser::format_of(std::string_view line) {
  if (detail::W3cLog::is_directive(line)) {
    return LogFormat::w3c;
  }
  LogRecord record;
  for (const LogFormat format : {LogFormat::json, LogFormat::combined, LogFormat::squid}) {
    const bool may_be_json = line.starts_with('{');
    if ((format == LogFormat::json) == may_be_json && formats_->parse(format, line, record) == LogLine::record) {
      return format;
    }
  }
  return LogFormat::automatic;
}

void LogParser::continue_after(const LogParser& other) {
  format_ = other.format_;
  undecided_lines_ = other.undecided_lines_;
  formats_->w3c = other.formats_->w3c;
}

}  // namespace mankai
