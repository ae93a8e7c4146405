#include "lab/traffic/log_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "lab/traffic/log_text.hpp"
#include "mankai/base/assert.hpp"

namespace mankai::detail {
namespace {

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
