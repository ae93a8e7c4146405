#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "mankai/input/detail/log_formats.hpp"
#include "mankai/input/detail/text_fields.hpp"

namespace mankai::detail {
namespace {

constexpr std::string_view kFields = "#Fields:";
constexpr std::string_view kDate = "#Date:";
constexpr std::array<std::string_view, 7> kDirectives = {
    kFields, kDate, "#Version:", "#Software:", "#Start-Date:", "#End-Date:", "#Remark:"};
constexpr std::size_t kColumnsMax = 1024;  // real logs have about twenty

// Removes a column and its separator from the front, and returns its text without quotes.
std::string_view take_column_text(std::string_view& rest, char separator) noexcept {
  if (separator == ' ') {
    skip_all(rest, ' ');
  }
  if (!rest.starts_with('"')) {
    return take_field(rest, separator);
  }
  std::size_t quote = rest.find('"', 1);
  while (quote != std::string_view::npos && quote + 1 < rest.size() && rest[quote + 1] == '"') {
    quote = rest.find('"', quote + 2);
  }
  if (quote == std::string_view::npos) {
    return take_field(rest, separator);
  }
  const std::string_view text = rest.substr(1, quote - 1);
  rest.remove_prefix(quote + 1);
  static_cast<void>(take_field(rest, separator));
  return text;
}

std::string_view join(std::string_view stem, std::string_view query, TextArena& arena) {
  if (stem.empty() || query.empty()) {
    return stem;
  }
  const std::span<char> room = arena.allocate(stem.size() + 1 + query.size());
  stem.copy(room.data(), stem.size());
  room[stem.size()] = '?';
  query.copy(room.data() + stem.size() + 1, query.size());
  return {room.data(), room.size()};
}

}  // namespace

bool W3cLog::is_directive(std::string_view line) noexcept {
  return std::ranges::any_of(kDirectives, [line](std::string_view directive) { return line.starts_with(directive); });
}

W3cLog::Column W3cLog::column_named(std::string_view name) noexcept {
  // sc-bytes, sent by the server, is the size in other formats; cs-bytes was sent by the client.
  static constexpr auto kNames = std::to_array<std::pair<std::string_view, Column>>({{"date", Column::date},
                                                                                     {"time", Column::time},
                                                                                     {"c-ip", Column::client},
                                                                                     {"c-dns", Column::client},
                                                                                     {"cs-host", Column::host},
                                                                                     {"cs(Host)", Column::host},
                                                                                     {"cs-method", Column::method},
                                                                                     {"cs-uri-stem", Column::stem},
                                                                                     {"cs-uri-query", Column::query},
                                                                                     {"cs-uri", Column::uri},
                                                                                     {"cs(Referer)", Column::referrer},
                                                                                     {"cs(Referrer)", Column::referrer},
                                                                                     {"cs(User-Agent)", Column::agent},
                                                                                     {"sc-status", Column::status},
                                                                                     {"sc-bytes", Column::bytes}});
  const auto* const found = std::ranges::find(kNames, name, &std::pair<std::string_view, Column>::first);
  return found == kNames.end() ? Column::other : found->second;
}

void W3cLog::take_directive(std::string_view line) {
  if (line.starts_with(kDate)) {
    line.remove_prefix(kDate.size());
    skip_all(line, ' ');
    const ScannedTime scanned = scan_iso_time(line);
    if (scanned.shape == TimeShape::good) {
      directive_moment_ = scanned.time;
      directive_date_ = std::chrono::floor<std::chrono::days>(scanned.time);
    }
    return;
  }
  if (!line.starts_with(kFields)) {
    return;
  }
  line.remove_prefix(kFields.size());
  columns_.clear();
  while (columns_.size() < kColumnsMax) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.empty()) {
      return;
    }
    const std::string_view name = line.substr(0, line.find_first_of(" \t"));
    line.remove_prefix(name.size());
    columns_.push_back(column_named(name));
  }
}

LogLine W3cLog::parse(std::string_view line, TextArena& arena, LogRecord& out) {
  out = {};
  if (line.starts_with('#')) {
    take_directive(line);
    return LogLine::skipped;
  }
  if (columns_.empty()) {
    return LogLine::malformed_shape;
  }
  const char separator = line.find('\t') == std::string_view::npos ? ' ' : '\t';
  line_date_.reset();
  line_clock_.reset();
  Target target;
  std::string_view rest = line;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    // A tab at the end is followed by an empty column.
    const bool may_be_empty = line.ends_with('\t') && i + 1 == columns_.size();
    if (rest.empty() && !may_be_empty) {
      return LogLine::malformed_shape;
    }
    const std::string_view text = take_column_text(rest, separator);
    if (const LogLine outcome = take_column(columns_[i], unless_dash(text), target, out); outcome != LogLine::record) {
      return outcome;
    }
  }
  if (!target.stem.empty()) {
    out.target = join(target.stem, target.query, arena);
  }
  out.time = time_of_line();
  take_host_of_target(out);
  return LogLine::record;
}

LogLine W3cLog::take_column(Column column, std::string_view text, Target& target, LogRecord& out) {
  switch (column) {
    case Column::other: break;
    case Column::date:
      line_date_ = scan_iso_time(text).whole(text);
      return line_date_ ? LogLine::record : LogLine::malformed_time;
    case Column::time:
      line_clock_ = scan_time_of_day(text).whole(text);
      return line_clock_ ? LogLine::record : LogLine::malformed_time;
    case Column::client: out.client = text; break;
    case Column::host: out.host = without_port(text); break;
    case Column::method: out.method = text; break;
    case Column::stem: target.stem = text; break;
    case Column::query: target.query = text; break;
    case Column::uri: out.target = text; break;
    case Column::referrer: out.referrer = text; break;
    case Column::agent: out.agent = text; break;
    case Column::status: return read_status(text, out.status) ? LogLine::record : LogLine::malformed_number;
    case Column::bytes: return read_number(text, out.bytes) ? LogLine::record : LogLine::malformed_number;
  }
  return LogLine::record;
}

std::optional<Time> W3cLog::time_of_line() const noexcept {
  const std::optional<Time> date = line_date_ ? line_date_ : directive_date_;
  if (!line_date_ && !line_clock_) {
    return directive_moment_;
  }
  return date ? std::optional(*date + line_clock_.value_or(Time()).time_since_epoch()) : std::nullopt;
}

}  // namespace mankai::detail
