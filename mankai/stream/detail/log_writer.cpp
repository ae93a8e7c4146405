#include "mankai/stream/detail/log_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "mankai/base/assert.hpp"

namespace mankai::detail {
namespace {

constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";

void append_number(std::uint64_t value, std::string& out) {
  std::array<char, 20> digits;
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
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

void append_or_dash(std::string_view text, std::string& out) { out += text.empty() ? std::string_view("-") : text; }

}  // namespace

Time LogWriter::shown(Time time) const noexcept {
  if (format_ == LogFormat::combined || format_ == LogFormat::w3c) {
    return std::chrono::floor<std::chrono::seconds>(time);
  }
  return std::chrono::floor<std::chrono::milliseconds>(time);
}

void LogWriter::append_header(Time start, std::string& out) const {
  if (format_ != LogFormat::w3c) {
    return;
  }
  out += "#Software: mankai gen\n#Version: 1.0\n#Date: ";
  append_date(start, out);
  out += ' ';
  append_clock(start, out);
  out +=
      "\n#Fields: date time c-ip cs-method cs-host cs-uri-stem cs-uri-query sc-status sc-bytes cs(User-Agent) "
      "cs(Referer)\n";
}

void LogWriter::append(const Request& request, std::string& out) const {
  switch (format_) {
    case LogFormat::combined: append_combined(request, out); break;
    case LogFormat::squid: append_squid(request, out); break;
    case LogFormat::w3c: append_w3c(request, out); break;
    case LogFormat::json: append_json(request, out); break;
    case LogFormat::keys:
      append_iso(request.time, out);
      out += '\t';
      append_target(request, out);
      break;
    case LogFormat::automatic: MANKAI_ASSERT(false); break;
  }
}

void LogWriter::append_target(const Request& request, std::string& out) const {
  traffic_->append_path(request.path, out);
  if (!request.query.empty()) {
    out += '?';
    out += request.query;
  }
}

void LogWriter::append_combined(const Request& request, std::string& out) const {
  traffic_->append_client(request.client, out);
  out += " - - [";
  append_log_time(request.time, out);
  out += "] \"";
  out += request.method;
  out += ' ';
  append_target(request, out);
  out += " HTTP/1.1\" ";
  append_number(request.status, out);
  out += ' ';
  if (request.bytes == 0) {
    out += '-';
  } else {
    append_number(request.bytes, out);
  }
  if (!is_common_) {
    out += " \"";
    append_or_dash(request.referrer, out);
    out += "\" \"";
    out += request.agent;
    out += '"';
  }
}

void LogWriter::append_squid(const Request& request, std::string& out) const {
  constexpr std::uint64_t kBytesPerMillisecond = 1000;
  append_number(seconds_of(request.time), out);
  out += '.';
  append_digits(milliseconds_of(request.time), 3, out);
  const std::string elapsed = std::to_string(1 + request.bytes / kBytesPerMillisecond);
  constexpr std::size_t kElapsedWidth = 6;
  out.append(kElapsedWidth - std::min(elapsed.size(), kElapsedWidth) + 1, ' ');
  out += elapsed;
  out += ' ';
  traffic_->append_client(request.client, out);
  out += request.status == 304 ? " TCP_REFRESH_UNMODIFIED/" : " TCP_MISS/";
  append_number(request.status, out);
  out += ' ';
  append_number(request.bytes, out);
  out += ' ';
  out += request.method;
  out += " http://";
  traffic_->append_host(request.path, out);
  append_target(request, out);
  out += " - HIER_DIRECT/192.0.2.1 text/html";
}

void LogWriter::append_w3c(const Request& request, std::string& out) const {
  append_date(request.time, out);
  out += ' ';
  append_clock(request.time, out);
  out += ' ';
  traffic_->append_client(request.client, out);
  out += ' ';
  out += request.method;
  out += ' ';
  traffic_->append_host(request.path, out);
  out += ' ';
  traffic_->append_path(request.path, out);
  out += ' ';
  append_or_dash(request.query, out);
  out += ' ';
  append_number(request.status, out);
  out += ' ';
  append_number(request.bytes, out);
  out += ' ';
  const std::size_t agent = out.size();
  out += request.agent;
  std::replace(out.begin() + static_cast<std::ptrdiff_t>(agent), out.end(), ' ', '+');
  out += ' ';
  append_or_dash(request.referrer, out);
}

// Nothing that is generated needs escaping.
void LogWriter::append_json(const Request& request, std::string& out) const {
  out += R"({"time":")";
  append_iso(request.time, out);
  out += R"(","remote_addr":")";
  traffic_->append_client(request.client, out);
  out += R"(","host":")";
  traffic_->append_host(request.path, out);
  out += R"(","request_method":")";
  out += request.method;
  out += R"(","request_uri":")";
  append_target(request, out);
  out += R"(","status":)";
  append_number(request.status, out);
  out += R"(,"body_bytes_sent":)";
  append_number(request.bytes, out);
  out += R"(,"http_referer":")";
  out += request.referrer;
  out += R"(","http_user_agent":")";
  out += request.agent;
  out += R"("})";
}

}  // namespace mankai::detail
