#include <algorithm>

#include "mankai/input/detail/log_formats.hpp"
#include "mankai/input/detail/text_fields.hpp"

namespace mankai::detail {
namespace {

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
