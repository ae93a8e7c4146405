#include "mankai/input/detail/log_formats.hpp"
#include "mankai/input/detail/text_fields.hpp"

namespace mankai::detail {
namespace {

std::string_view take_padded(std::string_view& rest) noexcept {
  skip_all(rest, ' ');
  return take_field(rest, ' ');
}

// A duration; it is negative where the clock was set back.
bool is_elapsed(std::string_view text) noexcept {
  text.remove_prefix(text.starts_with('-') ? 1 : 0);
  return is_digits(text);
}

}  // namespace

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
  if (out.target.starts_with("error:")) {  // for a request that Squid could not read
    out.method = out.target = {};
  }
  take_host_of_target(out);
  return LogLine::record;
}

}  // namespace mankai::detail
