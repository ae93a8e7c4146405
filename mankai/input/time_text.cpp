#include "mankai/input/time_text.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "mankai/input/detail/time_scan.hpp"

namespace mankai {
namespace {

constexpr Time kEarliest = std::chrono::sys_days(std::chrono::January / 1 / 0);
constexpr Time kLatest = std::chrono::sys_days(std::chrono::January / 1 / 10'000) - Duration(1);

std::optional<Time> time_of(std::string_view text) noexcept {
  if (text.starts_with('[') && text.ends_with(']')) {
    text = text.substr(1, text.size() - 2);
    return detail::scan_log_time(text).whole(text);
  }
  if (text.starts_with('@')) {
    text.remove_prefix(1);
    return detail::scan_epoch_time(text).whole(text);
  }
  std::optional<Time> time;
  for (const auto scan : {detail::scan_iso_time, detail::scan_log_time, detail::scan_epoch_time}) {
    time = time ? time : scan(text).whole(text);
  }
  return time;
}

}  // namespace

Result<Time> parse_time(std::string_view text) {
  if (const auto time = time_of(text)) {
    return *time;
  }
  return fail(ErrorCode::invalid_argument,
              "invalid time '" + std::string(text) +
                  "'; expected one such as 2016-03-28T12:00:00Z, 2016-03-28, or 1459166400 (seconds since 1970)");
}

std::string format_time(Time time) {
  time = std::clamp(time, kEarliest, kLatest);
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  const auto micros = static_cast<int>(clock.subseconds().count());
  const bool are_millis = micros % 1000 == 0;
  std::array<char, 64> text{};
  int size = std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
                           static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                           static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                           static_cast<int>(clock.seconds().count()));
  if (micros != 0) {
    size += std::snprintf(text.data() + size, text.size() - static_cast<std::size_t>(size), ".%0*d", are_millis ? 3 : 6,
                          are_millis ? micros / 1000 : micros);
  }
  return std::string(text.data(), static_cast<std::size_t>(size)) + "Z";
}

}  // namespace mankai
