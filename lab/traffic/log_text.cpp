#include "lab/traffic/log_text.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <string_view>

namespace mankai::detail {
namespace {

constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";

}  // namespace

void append_number(std::uint64_t value, std::string& out, int base) {
  std::array<char, 20> digits;
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value, base).ptr);
}

void append_digits(std::uint64_t value, std::size_t digits, std::string& out) {
  out.append(digits, '0');
  for (std::size_t at = out.size(); digits > 0; --digits) {
    out[--at] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
}

void append_clock(Time time, std::string& out) {
  const std::chrono::hh_mm_ss clock(time - std::chrono::floor<std::chrono::days>(time));
  append_digits(static_cast<std::uint64_t>(clock.hours().count()), 2, out);
  out += ':';
  append_digits(static_cast<std::uint64_t>(clock.minutes().count()), 2, out);
  out += ':';
  append_digits(static_cast<std::uint64_t>(clock.seconds().count()), 2, out);
}

std::uint64_t milliseconds_of(Time time) {
  constexpr std::int64_t kMilliseconds = 1000;
  const auto since = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch());
  return static_cast<std::uint64_t>(since.count() % kMilliseconds);
}

std::uint64_t seconds_of(Time time) {
  return static_cast<std::uint64_t>(std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count());
}

void append_date(Time time, std::string& out) {
  const std::chrono::year_month_day date(std::chrono::floor<std::chrono::days>(time));
  append_digits(static_cast<std::uint64_t>(static_cast<int>(date.year())), 4, out);
  out += '-';
  append_digits(static_cast<unsigned>(date.month()), 2, out);
  out += '-';
  append_digits(static_cast<unsigned>(date.day()), 2, out);
}

void append_iso(Time time, std::string& out) {
  append_date(time, out);
  out += 'T';
  append_clock(time, out);
  out += '.';
  append_digits(milliseconds_of(time), 3, out);
  out += 'Z';
}

void append_log_time(Time time, std::string& out) {
  const std::chrono::year_month_day date(std::chrono::floor<std::chrono::days>(time));
  append_digits(static_cast<unsigned>(date.day()), 2, out);
  out += '/';
  constexpr std::size_t kNameLength = 3;
  out += kMonths.substr(kNameLength * (static_cast<unsigned>(date.month()) - 1), kNameLength);
  out += '/';
  append_digits(static_cast<std::uint64_t>(static_cast<int>(date.year())), 4, out);
  out += ':';
  append_clock(time, out);
  out += " +0000";
}

}  // namespace mankai::detail
