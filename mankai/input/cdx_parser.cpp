#include "mankai/input/cdx_parser.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "mankai/input/detail/text_fields.hpp"
#include "mankai/input/detail/time_scan.hpp"

namespace mankai {
namespace {

constexpr std::string_view kLegend = "CDX";
constexpr std::size_t kTimestampDigits = 14;
constexpr std::size_t kLongestTimestamp = 17;  // of those with milliseconds
constexpr std::size_t kDepthMax = 32;

bool is_digit(char character) noexcept { return character >= '0' && character <= '9'; }

bool is_legend(std::string_view line) noexcept {
  return line.size() > kLegend.size() + 1 && line.substr(1, kLegend.size()) == kLegend &&
         line[kLegend.size() + 1] == line.front() && !is_digit(line.front());
}

// What a CDXJ file says about itself: "!OpenWayback-CDXJ 1.0", "!meta {...}", "@context ...".
bool is_remark(std::string_view line) noexcept { return line.starts_with('!') || line.starts_with('@'); }

bool is_timestamp(std::string_view text) noexcept {
  return text.size() >= kTimestampDigits && text.size() <= kLongestTimestamp && std::ranges::all_of(text, is_digit);
}

// 20160919180353 is 2016-09-19T18:03:53Z.
std::optional<Time> time_of(std::string_view text) {
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
  const detail::ScannedTime scanned = detail::scan_iso_time(iso);
  return scanned.shape == detail::TimeShape::good ? std::optional(scanned.time) : std::nullopt;
}

/// What the reader of JSON calls back: keeps the outermost object's "url". A false ends the reading.
class UrlMember {
 public:
  explicit UrlMember(detail::TextArena& texts) : texts_(texts) {}

  [[nodiscard]] std::string_view url() const noexcept { return url_; }

  [[nodiscard]] bool null() const noexcept { return depth_ > 0; }
  [[nodiscard]] bool boolean(bool) const noexcept { return depth_ > 0; }
  [[nodiscard]] bool number_integer(std::int64_t) const noexcept { return depth_ > 0; }
  [[nodiscard]] bool number_unsigned(std::uint64_t) const noexcept { return depth_ > 0; }
  [[nodiscard]] bool number_float(double, const std::string&) const noexcept { return depth_ > 0; }
  bool string(const std::string& text) {
    if (is_url_) {
      url_ = texts_.copy(text);
      is_url_ = false;
    }
    return depth_ > 0;
  }
  static bool binary(const nlohmann::json::binary_t&) { return false; }
  bool start_object(std::size_t) noexcept { return enter(); }
  bool key(const std::string& name) {
    is_url_ = depth_ == 1 && name == "url" && url_.empty();
    return true;
  }
  bool end_object() noexcept { return leave(); }
  bool start_array(std::size_t) noexcept { return depth_ > 0 && enter(); }
  bool end_array() noexcept { return leave(); }
  static bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) { return false; }

 private:
  bool enter() noexcept {
    is_url_ = false;
    ++depth_;
    return depth_ <= kDepthMax;
  }
  bool leave() noexcept {
    --depth_;
    return true;
  }

  detail::TextArena& texts_;
  std::string_view url_;
  std::size_t depth_ = 0;
  bool is_url_ = false;
};

bool is_number_or_none(std::string_view text) noexcept {
  return text == "-" || (!text.empty() && std::ranges::all_of(text, is_digit));
}

// N b a m s k r V g, and with M and S in front of V, as crawlers write them; N b a m s k S, as archives answer. S and
// V, how long a record is and where it stands, are numbers.
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
      capture.time = time_of(field);
    }
  }
  return capture.url.empty() ? CdxCapture{} : capture;
}

CdxCapture CdxParser::parse_object(std::string_view time, std::string_view object) {
  UrlMember member(texts_);
  if (!nlohmann::json::sax_parse(object.begin(), object.end(), &member) || member.url().empty()) {
    return {};
  }
  return {.what = CdxLine::capture, .url = member.url(), .time = time_of(time)};
}

}  // namespace mankai
