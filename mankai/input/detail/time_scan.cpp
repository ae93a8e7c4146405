#include "mankai/input/detail/time_scan.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

#include "mankai/input/detail/text_fields.hpp"

namespace mankai::detail {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr unsigned kNotADigit = 10;
constexpr std::size_t kTimeOfDayLength = 8;  // "13:55:36"
constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";

constexpr unsigned digit(char character) noexcept {
  const auto value = static_cast<unsigned>(static_cast<unsigned char>(character)) - '0';
  return std::min(value, kNotADigit);
}

// Returns more than 99 for other texts.
constexpr unsigned two_digits(const char* text) noexcept {
  constexpr unsigned kNone = 100;
  const unsigned tens = digit(text[0]);
  const unsigned ones = digit(text[1]);
  return std::max(tens, ones) < kNotADigit ? tens * 10 + ones : kNone;
}

/// Reads fixed fields in sequence; once one is missing, is_good() stays false.
class Fields {
 public:
  explicit Fields(std::string_view text) noexcept : text_(text) {}

  unsigned number(std::size_t digits) noexcept {
    unsigned value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const unsigned next = at_ < text_.size() ? digit(text_[at_]) : kNotADigit;
      is_good_ = is_good_ && next < kNotADigit;
      value = value * 10 + next;
      ++at_;
    }
    return value;
  }
  void expect(char character) noexcept {
    is_good_ = is_good_ && at_ < text_.size() && text_[at_] == character;
    ++at_;
  }
  bool skip(char character) noexcept {
    const bool is_there = peek() == character;
    at_ += static_cast<std::size_t>(is_there);
    return is_there;
  }
  std::string_view take(std::size_t length) noexcept {
    is_good_ = is_good_ && at_ + length <= text_.size();
    const std::string_view taken = is_good_ ? text_.substr(at_, length) : std::string_view();
    at_ += length;
    return taken;
  }
  [[nodiscard]] char peek(std::size_t ahead = 0) const noexcept {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  [[nodiscard]] bool is_good() const noexcept { return is_good_; }
  [[nodiscard]] std::size_t at() const noexcept { return at_; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  bool is_good_ = true;
};

// Reads decimals after a point; drops digits below the microsecond.
Duration fraction(Fields& fields) noexcept {
  constexpr std::int64_t kTenths = 100'000;
  std::int64_t microseconds = 0;
  for (std::int64_t place = kTenths; is_digit(fields.peek()); place /= 10) {
    microseconds += place * fields.number(1);
  }
  return Duration(microseconds);
}

Duration optional_fraction(Fields& fields) noexcept {
  const bool has_point = (fields.peek() == '.' || fields.peek() == ',') && is_digit(fields.peek(1));
  if (!has_point) {
    return Duration::zero();
  }
  fields.take(1);
  return fraction(fields);
}

// A second 60 is a leap second and lasts until the next minute begins.
std::optional<Duration> time_of_day(unsigned hour, unsigned minute, unsigned second) noexcept {
  if (hour > 23 || minute > 59 || second > 60) {
    return std::nullopt;
  }
  return Duration(hours(hour) + minutes(minute) + seconds(second));
}

std::optional<Time> day_of(unsigned year, unsigned month, unsigned day) noexcept {
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok()) {
    return std::nullopt;
  }
  return Time(std::chrono::sys_days(date));
}

unsigned month_named(std::string_view text) noexcept {
  constexpr std::size_t kNameLength = 3;
  const std::size_t at = text.size() == kNameLength ? kMonths.find(text) : std::string_view::npos;
  const bool is_month = at != std::string_view::npos && at % kNameLength == 0;
  return is_month ? static_cast<unsigned>(at / kNameLength) + 1 : 0;
}

// After the sign: hh, hhmm or hh:mm.
std::optional<Duration> zone_offset(bool is_west, Fields& fields) noexcept {
  const unsigned hour = fields.number(2);
  unsigned minute = 0;
  if (fields.skip(':') || is_digit(fields.peek())) {
    minute = fields.number(2);
  }
  if (!fields.is_good() || hour > 23 || minute > 59) {
    return std::nullopt;
  }
  const Duration offset = hours(hour) + minutes(minute);
  return is_west ? -offset : offset;
}

ScannedTime impossible() noexcept { return {.shape = TimeShape::impossible}; }

ScannedTime good(Time time, std::size_t length) noexcept {
  return {.shape = TimeShape::good, .time = time, .length = length};
}

// hh:mm, hh:mm:ss and decimals; then Z, a zone or nothing.
ScannedTime scan_iso_rest(Time midnight, Fields& fields) noexcept {
  const unsigned hour = fields.number(2);
  fields.expect(':');
  const unsigned minute = fields.number(2);
  const unsigned second = fields.skip(':') ? fields.number(2) : 0;
  const auto since = time_of_day(hour, minute, second);
  if (!fields.is_good() || !since) {
    return impossible();
  }
  Time time = midnight + *since + optional_fraction(fields);
  if (fields.peek() == '+' || fields.peek() == '-') {
    const auto offset = zone_offset(fields.take(1) == "-", fields);
    if (!offset) {
      return impossible();
    }
    time -= *offset;
  } else if (!fields.skip('Z')) {
    fields.skip('z');
  }
  return good(time, fields.at());
}

bool has_time_of_day(const Fields& fields) noexcept {
  const char separator = fields.peek();
  return separator == 'T' || separator == 't' ||
         (separator == ' ' && is_digit(fields.peek(1)) && is_digit(fields.peek(2)) && fields.peek(3) == ':');
}

}  // namespace

ScannedTime scan_iso_time(std::string_view text) noexcept {
  Fields fields(text);
  const unsigned year = fields.number(4);
  fields.expect('-');
  const unsigned month = fields.number(2);
  fields.expect('-');
  const unsigned day = fields.number(2);
  if (!fields.is_good()) {
    return {};
  }
  const auto midnight = day_of(year, month, day);
  if (!midnight) {
    return impossible();
  }
  if (!has_time_of_day(fields)) {
    return good(*midnight, fields.at());
  }
  fields.take(1);
  return scan_iso_rest(*midnight, fields);
}

ScannedTime scan_time_of_day(std::string_view text) noexcept {
  Fields fields(text);
  const unsigned hour = fields.number(2);
  fields.expect(':');
  const unsigned minute = fields.number(2);
  fields.expect(':');
  const unsigned second = fields.number(2);
  if (!fields.is_good()) {
    return {};
  }
  const auto since = time_of_day(hour, minute, second);
  if (!since) {
    return impossible();
  }
  const Duration decimals = optional_fraction(fields);
  return good(Time(*since + decimals), fields.at());
}

ScannedTime scan_log_time(std::string_view text) noexcept {
  Fields fields(text);
  const unsigned day = fields.number(2);
  fields.expect('/');
  const unsigned month = month_named(fields.take(3));
  fields.expect('/');
  const unsigned year = fields.number(4);
  fields.expect(':');
  if (!fields.is_good()) {
    return {};
  }
  const auto midnight = day_of(year, month, day);
  const ScannedTime clock = scan_time_of_day(text.substr(fields.at()));
  if (!midnight || clock.shape != TimeShape::good) {
    return impossible();
  }
  Fields zone(text.substr(fields.at() + clock.length));
  zone.expect(' ');
  const std::string_view sign = zone.take(1);
  const auto offset = zone_offset(sign == "-", zone);
  if (!offset || (sign != "-" && sign != "+")) {
    return impossible();
  }
  return good(*midnight + clock.time.time_since_epoch() - *offset, fields.at() + clock.length + zone.at());
}

ScannedTime scan_epoch_time(std::string_view text) noexcept {
  constexpr std::size_t kDigitsMax = 18;
  constexpr std::int64_t kMicro = 1'000'000;
  const auto digits = static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
  if (digits == 0) {
    return {};
  }
  if (digits > kDigitsMax) {
    return impossible();
  }
  Fields fields(text);
  std::int64_t value = 0;
  while (fields.at() < digits) {
    value = value * 10 + fields.number(1);
  }
  const Duration decimals = optional_fraction(fields);  // of the unit, which is a second unless the number is large
  if (value < 100'000'000'000) {
    return good(Time(Duration(value * kMicro) + decimals), fields.at());
  }
  if (value < 100'000'000'000'000) {
    return good(Time(Duration(value * 1000) + decimals / 1000), fields.at());
  }
  return good(Time(Duration(value < 100'000'000'000'000'000 ? value : value / 1000)), fields.at());
}

ScannedTime LogClock::scan(std::string_view text) noexcept {
  constexpr std::size_t kLength = kDayLength + kTimeOfDayLength + kZoneLength;
  const char* const clock = text.data() + kDayLength;
  const bool is_known = text.size() >= kLength && std::memcmp(text.data(), day_.data(), kDayLength) == 0 &&
                        std::memcmp(clock + kTimeOfDayLength, zone_.data(), kZoneLength) == 0;
  if (is_known && clock[2] == ':' && clock[5] == ':') {
    const unsigned hour = two_digits(clock);
    const unsigned minute = two_digits(clock + 3);
    const unsigned second = two_digits(clock + 6);
    if (hour > 23 || minute > 59 || second > 60) {
      return impossible();
    }
    constexpr unsigned kMinute = 60;
    return good(midnight_ + seconds((hour * kMinute + minute) * kMinute + second), kLength);
  }
  const ScannedTime scanned = scan_log_time(text);
  if (scanned.shape == TimeShape::good && scanned.length == kLength && clock[kTimeOfDayLength] == ' ') {
    std::memcpy(day_.data(), text.data(), kDayLength);
    std::memcpy(zone_.data(), clock + kTimeOfDayLength, kZoneLength);
    midnight_ = scanned.time - scan_time_of_day(text.substr(kDayLength)).time.time_since_epoch();
  }
  return scanned;
}

}  // namespace mankai::detail
