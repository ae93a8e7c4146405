#include "mankai/input/time_text.hpp"

#include <algorithm>
#include <chrono>

#include "mankai/input/detail/time_scan.hpp"

namespace mankai {
namespace {

using detail::ScannedTime;
using detail::TimeShape;

constexpr Time kEarliest = std::chrono::sys_days(std::chrono::January / 1 / 0);
constexpr Time kLatest = std::chrono::sys_days(std::chrono::January / 1 / 10'000) - Duration(1);

// The whole text, or nothing.
bool is_whole(const ScannedTime& scanned, std::string_view text) noexcept {
  return scanned.shape == TimeShape::good && scanned.length == text.size();
}

void append_padded(std::string& out, std::int64_t value, std::size_t digits) {
  const std::string text = std::to_string(value);
  out.append(digits - std::min(digits, text.size()), '0').append(text);
}

void append_decimals(std::string& out, std::int64_t microseconds) {
  if (microseconds == 0) {
    return;
  }
  out += '.';
  const bool are_milliseconds = microseconds % 1000 == 0;
  append_padded(out, are_milliseconds ? microseconds / 1000 : microseconds, are_milliseconds ? 3 : 6);
}

}  // namespace

Result<Time> parse_time(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with('[') && rest.ends_with(']')) {
    rest = rest.substr(1, rest.size() - 2);
    if (const ScannedTime scanned = detail::scan_log_time(rest); is_whole(scanned, rest)) {
      return scanned.time;
    }
  } else if (rest.starts_with('@')) {
    rest.remove_prefix(1);
    if (const ScannedTime scanned = detail::scan_epoch_time(rest); is_whole(scanned, rest)) {
      return scanned.time;
    }
  } else {
    for (const auto scan : {detail::scan_iso_time, detail::scan_log_time, detail::scan_epoch_time}) {
      if (const ScannedTime scanned = scan(rest); is_whole(scanned, rest)) {
        return scanned.time;
      }
    }
  }
  return fail(ErrorCode::invalid_argument,
              "'" + std::string(text) +
                  "' is no time: give one such as 2016-03-28T12:00:00Z, 2016-03-28 or 1459166400, seconds since 1970");
}

std::string format_time(Time time) {
  time = std::clamp(time, kEarliest, kLatest);
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  std::string out;
  append_padded(out, static_cast<int>(date.year()), 4);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.month()), 2);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.day()), 2);
  out += 'T';
  append_padded(out, clock.hours().count(), 2);
  out += ':';
  append_padded(out, clock.minutes().count(), 2);
  out += ':';
  append_padded(out, clock.seconds().count(), 2);
  append_decimals(out, clock.subseconds().count());
  out += 'Z';
  return out;
}

}  // namespace mankai
