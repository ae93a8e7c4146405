#include "mankai/stream/detail/combined_log.hpp"

#include "mankai/stream/detail/request_line.hpp"
#include "mankai/stream/detail/text_fields.hpp"

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

// Takes `"text" ` off the front; without a closing quote the rest of the line is the text.
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

// The fields before the time. Three are client, ident and user; of four, or of more if a user's name has blanks, the
// first is a virtual host where the second is an address.
bool read_who(std::string_view who, LogRecord& out) noexcept {
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

// The bracket that the time stands in: a name before it may contain brackets, but hardly one with a date.
const char* opening_bracket(const char* begin, const char* end) noexcept {
  constexpr std::ptrdiff_t kSlashAfter = 3;
  for (const char* at = find(begin, end, '['); at != end; at = find(at + 1, end, '[')) {
    if (at > begin && at[-1] == ' ' && end - at > kSlashAfter && at[kSlashAfter] == '/') {
      return at;
    }
  }
  return end;
}

LogLine problem_of(const ScannedTime& time) noexcept {
  return time.shape == TimeShape::impossible ? LogLine::malformed_time : LogLine::malformed_shape;
}

}  // namespace

LogLine CombinedLog::parse(std::string_view line, LogRecord& out) noexcept {
  constexpr std::string_view kAfterTime = "] \"";
  out = {};
  const char* const end = line.data() + line.size();
  const char* const bracket = opening_bracket(line.data(), end);
  if (bracket == end || !read_who(between(line.data(), bracket - 1), out)) {
    return LogLine::malformed_shape;
  }
  const ScannedTime time = clock_.scan(between(bracket + 1, end));
  if (time.shape != TimeShape::good) {
    return problem_of(time);
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
  const std::string_view status = take_field(rest, ' ');
  const std::string_view bytes = take_field(rest, ' ');
  if (status.empty() || bytes.empty()) {
    return LogLine::malformed_shape;
  }
  if (!read_status(status, out.status) || !read_number(bytes, out.bytes)) {
    return LogLine::malformed_number;
  }
  out.referrer = unless_dash(take_quoted(rest));
  out.agent = unless_dash(take_quoted(rest));
  return LogLine::record;
}

}  // namespace mankai::detail
