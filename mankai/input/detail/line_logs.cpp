#include <algorithm>

#include "mankai/input/detail/log_formats.hpp"
#include "mankai/input/detail/text_fields.hpp"

namespace mankai::detail {
namespace {

bool is_escaped(const char* begin, const char* quote) noexcept {
  const char* first = quote;
  while (first > begin && first[-1] == '\\') {
    --first;
  }
  return (quote - first) % 2 != 0;
}

// Returns the quote that ends the text beginning at `begin`, or the end of the line.
const char* closing_quote(const char* begin, const char* end) noexcept {
  for (const char* quote = find(begin, end, '"'); quote != end; quote = find(quote + 1, end, '"')) {
    const bool is_at_the_end = quote + 1 == end || quote[1] == ' ';
    if (is_at_the_end && !is_escaped(begin, quote)) {
      return quote;
    }
  }
  return end;
}

// Removes `"text" ` from the front and returns the text; without a closing quote, the text is the rest of the line.
std::string_view take_quoted(std::string_view& rest) noexcept {
  if (!rest.starts_with('"')) {
    return {};
  }
  const char* const end = rest.data() + rest.size();
  const char* const begin = rest.data() + 1;
  const char* const quote = closing_quote(begin, end);
  rest = between(quote, end);
  rest.remove_prefix(rest.size() < 2 ? rest.size() : 2);
  return between(begin, quote);
}

bool looks_like_an_address(std::string_view text) noexcept {
  return text.find_first_of(".:") != std::string_view::npos;
}

// Reads the fields before the time. Three are client, ident and user. Of four, or more if a user's name has spaces, the
// first is a virtual host if the second is an address.
bool read_who(std::string_view who, LogRecord& out) noexcept {
  constexpr std::string_view kUsual = " - -";
  if (who.ends_with(kUsual)) {
    const std::string_view client = who.substr(0, who.size() - kUsual.size());
    if (!client.empty() && client.find(' ') == std::string_view::npos) {
      out.client = client;
      return true;
    }
  }
  std::string_view rest = who;
  const std::string_view first = take_field(rest, ' ');
  const std::string_view second = take_field(rest, ' ');
  if (first.empty() || rest.empty()) {
    return false;
  }
  const bool has_four = rest.find(' ') != std::string_view::npos;
  if (has_four && looks_like_an_address(second)) {
    out.host = without_port(first);
    out.client = second;
  } else {
    out.client = first;
  }
  return true;
}

// Returns the bracket that opens the time. A name before it may contain brackets, but hardly a date in them.
const char* opening_bracket(const char* begin, const char* end) noexcept {
  constexpr std::ptrdiff_t kSlashAfter = 3;
  for (const char* at = find(begin, end, '['); at != end; at = find(at + 1, end, '[')) {
    if (at > begin && at[-1] == ' ' && end - at > kSlashAfter && at[kSlashAfter] == '/') {
      return at;
    }
  }
  return end;
}

// Removes digits, or "-" for none, and the space after them.
template <class Number>
LogLine take_number(std::string_view& rest, Number end, std::optional<Number>& out) noexcept {
  constexpr std::size_t kDigitsMax = 18;  // fit 64 bits; `end` bounds narrower Numbers
  std::uint64_t value = 0;
  std::size_t length = 0;
  for (; length < rest.size() && length <= kDigitsMax; ++length) {
    const unsigned digit = static_cast<unsigned char>(rest[length]) - unsigned{'0'};
    if (digit > 9) {
      break;
    }
    value = value * 10 + digit;
  }
  const bool is_number = length > 0 && length <= kDigitsMax && value < end;
  if (is_number) {
    out = static_cast<Number>(value);
  } else if (!rest.starts_with('-')) {
    return rest.empty() || rest.front() == ' ' ? LogLine::malformed_shape : LogLine::malformed_number;
  } else {
    length = 1;
  }
  if (length < rest.size() && rest[length] != ' ') {
    return LogLine::malformed_number;
  }
  rest.remove_prefix(std::min(length + 1, rest.size()));
  return LogLine::record;
}

LogLine take_status_and_bytes(std::string_view& rest, LogRecord& out) noexcept {
  constexpr unsigned kStatusEnd = 1000;
  constexpr std::uint64_t kBytesEnd = std::uint64_t{1} << 62;
  if (const LogLine status = take_number(rest, kStatusEnd, out.status); status != LogLine::record) {
    return status;
  }
  if (out.status == 0U) {
    out.status.reset();
  }
  return take_number(rest, kBytesEnd, out.bytes);
}

std::string_view take_padded(std::string_view& rest) noexcept {
  skip_all(rest, ' ');
  return take_field(rest, ' ');
}

// A duration; negative if the clock was set back.
bool is_elapsed(std::string_view text) noexcept {
  text.remove_prefix(text.starts_with('-') ? 1 : 0);
  return is_digits(text);
}

ScannedTime scan_leading_time(std::string_view line) noexcept {
  constexpr std::size_t kUnitDigits = 3;  // between two units
  constexpr std::size_t kDigitsMin = 9;   // of seconds, since 1973
  constexpr std::size_t kDigitsMax = 16;
  const auto digits = static_cast<std::size_t>(std::ranges::find_if_not(line, is_digit) - line.begin());
  if (digits < kDigitsMin) {
    return scan_iso_time(line);
  }
  const bool is_time = digits <= kDigitsMax && (digits - kDigitsMin) % kUnitDigits < 2;
  return is_time ? scan_epoch_time(line) : ScannedTime{};
}

// A key may begin like a date: "2016-99-00.html".
bool is_meant_as_time(std::string_view line) noexcept {
  constexpr std::size_t kDateLength = 10;
  return line.size() > kDateLength && std::string_view("Tt \t").find(line[kDateLength]) != std::string_view::npos;
}

}  // namespace

LogLine CombinedLog::parse(std::string_view line, LogRecord& out) noexcept {
  constexpr std::string_view kAfterTime = "] \"";
  out = {};
  const char* const begin = line.data();
  const char* const end = begin + line.size();
  const char* const bracket = opening_bracket(begin, end);
  if (bracket == end || !read_who(between(begin, bracket - 1), out)) {
    return LogLine::malformed_shape;
  }
  const ScannedTime time = clock_.scan(between(bracket + 1, end));
  if (time.shape != TimeShape::good) {
    return time.shape == TimeShape::impossible ? LogLine::malformed_time : LogLine::malformed_shape;
  }
  out.time = time.time;
  std::string_view rest = between(bracket + 1 + time.length, end);
  if (!rest.starts_with(kAfterTime)) {
    return LogLine::malformed_shape;
  }
  const char* const request = rest.data() + kAfterTime.size();
  const char* const quote = closing_quote(request, end);
  if (end - quote < 2) {
    return LogLine::malformed_shape;
  }
  split_request(between(request, quote), out);
  rest = between(quote + 2, end);
  if (const LogLine outcome = take_status_and_bytes(rest, out); outcome != LogLine::record) {
    return outcome;
  }
  out.referrer = unless_dash(take_quoted(rest));
  out.agent = unless_dash(take_quoted(rest));
  return LogLine::record;
}

LogLine parse_squid(std::string_view line, LogRecord& out) noexcept {
  out = {};
  std::string_view rest = line;
  const std::string_view when = take_padded(rest);
  const std::string_view elapsed = take_padded(rest);
  out.client = take_padded(rest);
  const std::string_view result = take_padded(rest);
  const std::string_view bytes = take_padded(rest);
  out.method = unless_dash(take_padded(rest));
  const std::string_view url = take_padded(rest);
  out.target = unless_dash(url);
  const std::size_t slash = result.rfind('/');
  const std::size_t point = when.find('.');
  const bool has_shape = point != std::string_view::npos && is_digits(when.substr(0, point)) &&
                         is_digits(when.substr(point + 1)) && is_elapsed(elapsed) && slash != std::string_view::npos &&
                         slash > 0 && !url.empty();
  if (!has_shape) {
    return LogLine::malformed_shape;
  }
  const ScannedTime time = scan_epoch_time(when);
  if (time.shape != TimeShape::good) {
    return LogLine::malformed_time;
  }
  out.time = time.time;
  if (!read_status(result.substr(slash + 1), out.status) || !read_number(bytes, out.bytes)) {
    return LogLine::malformed_number;
  }
  if (out.target.starts_with("error:")) {  // a request that Squid could not read
    out.method = out.target = {};
  }
  take_host_of_target(out);
  return LogLine::record;
}

LogLine parse_key(std::string_view line, LogRecord& out) noexcept {
  out = {};
  out.target = line;
  const ScannedTime time = scan_leading_time(line);
  if (time.shape == TimeShape::impossible && is_meant_as_time(line)) {
    return LogLine::malformed_time;
  }
  const bool is_followed = time.shape == TimeShape::good && time.length < line.size() &&
                           (line[time.length] == ' ' || line[time.length] == '\t');
  if (is_followed) {
    out.time = time.time;
    out.target = line.substr(time.length + 1);
  }
  return out.target.empty() ? LogLine::malformed_shape : LogLine::record;
}

}  // namespace mankai::detail
