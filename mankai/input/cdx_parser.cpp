#include "mankai/input/cdx_parser.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "mankai/base/ascii.hpp"
#include "mankai/input/detail/json_values.hpp"
#include "mankai/input/detail/text_fields.hpp"
#include "mankai/input/detail/time_scan.hpp"

namespace mankai {
namespace {

constexpr std::string_view kLegend = "CDX";
constexpr std::size_t kTimestampDigits = 14;
constexpr std::size_t kLongestTimestamp = 17;  // of timestamps with milliseconds

bool is_legend(std::string_view line) noexcept {
  return line.size() > kLegend.size() + 1 && line.substr(1, kLegend.size()) == kLegend &&
         line[kLegend.size() + 1] == line.front() && !is_digit(line.front());
}

// Metadata of a CDXJ file: "!OpenWayback-CDXJ 1.0", "!meta {...}", "@context ...".
bool is_remark(std::string_view line) noexcept { return line.starts_with('!') || line.starts_with('@'); }

bool is_timestamp(std::string_view text) noexcept {
  return text.size() >= kTimestampDigits && text.size() <= kLongestTimestamp && detail::is_digits(text);
}

// 20160919180353 is 2016-09-19T18:03:53Z.
std::optional<Time> cdx_time(std::string_view text) {
  if (!is_timestamp(text)) {
    return std::nullopt;
  }
  std::string iso = "yyyy-mm-ddThh:mm:ssZ";
  std::size_t digit = 0;
  for (char& character : iso) {
    if (character >= 'a' && character <= 'z') {
      character = text[digit++];
    }
  }
  return detail::scan_iso_time(iso).whole(iso);
}

bool is_number_or_none(std::string_view text) noexcept { return text == "-" || detail::is_digits(text); }

// Usual legends: N b a m s k r V g, N b a m s k r M S V g, N b a m s k S. S and V are numbers: length, offset.
bool has_usual_columns(std::string_view line) noexcept {
  constexpr std::size_t kTimestamp = 1;
  constexpr std::size_t kUrl = 2;
  constexpr std::size_t kStatus = 4;
  constexpr std::size_t kStatusDigits = 3;
  constexpr std::size_t kFewest = 7;
  constexpr std::array<std::size_t, 4> kCounts = {kFewest, 9, 10, 11};
  std::array<std::string_view, kCounts.back()> fields{};
  std::size_t count = 0;
  for (; !line.empty() && count < fields.size(); ++count) {
    fields[count] = detail::take_field(line, ' ');
  }
  if (!line.empty() || std::ranges::find(kCounts, count) == kCounts.end()) {
    return false;
  }
  const std::string_view number = fields.at(count == kFewest ? count - 1 : count - 2);
  return is_timestamp(fields[kTimestamp]) && fields[kUrl].contains(':') && is_number_or_none(fields[kStatus]) &&
         fields[kStatus].size() <= kStatusDigits && is_number_or_none(number);
}

}  // namespace

bool looks_like_cdx(std::string_view line) noexcept {
  if (is_legend(line) || line.starts_with("!OpenWayback-CDXJ")) {
    return true;
  }
  std::string_view rest = line;
  static_cast<void>(detail::take_field(rest, ' '));
  return (is_timestamp(detail::take_field(rest, ' ')) && rest.starts_with('{')) || has_usual_columns(line);
}

void CdxParser::parse(std::span<const std::string_view> lines, std::span<CdxCapture> captures) {
  texts_.reset();
  std::ranges::transform(lines, captures.begin(), [this](std::string_view line) { return parse_line(line); });
}

CdxCapture CdxParser::parse_line(std::string_view line) {
  if (is_legend(line)) {
    take_legend(line);
    return {.what = CdxLine::heading};
  }
  if (is_remark(line)) {
    return {.what = CdxLine::heading};
  }
  std::string_view rest = line;
  static_cast<void>(detail::take_field(rest, ' '));
  const std::string_view time = detail::take_field(rest, ' ');
  return rest.starts_with('{') ? parse_object(time, rest) : parse_columns(line);
}

void CdxParser::take_legend(std::string_view line) {
  columns_ = {.separator = line.front(), .time = kNone, .url = kNone};
  line.remove_prefix(kLegend.size() + 2);
  for (std::size_t column = 0; !line.empty(); ++column) {
    const std::string_view letter = detail::take_field(line, columns_.separator);
    if (letter == "a") {
      columns_.url = column;
    } else if (letter == "b") {
      columns_.time = column;
    }
  }
}

CdxCapture CdxParser::parse_columns(std::string_view line) const {
  CdxCapture capture{.what = CdxLine::capture};
  for (std::size_t column = 0; !line.empty(); ++column) {
    const std::string_view field = detail::take_field(line, columns_.separator);
    if (column == columns_.url) {
      capture.url = detail::unless_dash(field);
    } else if (column == columns_.time) {
      capture.time = cdx_time(field);
    }
  }
  return capture.url.empty() ? CdxCapture{} : capture;
}

CdxCapture CdxParser::parse_object(std::string_view time, std::string_view object) {
  std::string_view url;
  const bool is_object = detail::for_each_json_value(object, [&](const detail::JsonValue& value) {
    if (value.is_string && value.depth == 1 && value.path == "url" && url.empty()) {
      url = texts_.copy(value.text);
    }
  });
  return is_object && !url.empty() ? CdxCapture{.what = CdxLine::capture, .url = url, .time = cdx_time(time)}
                                   : CdxCapture{};
}

}  // namespace mankai
