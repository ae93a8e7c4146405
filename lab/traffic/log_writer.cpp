#include "lab/traffic/log_writer.hpp"

#include <algorithm>
#include <chrono>
#include <concepts>

#include "lab/traffic/log_text.hpp"
#include "mankai/base/assert.hpp"

namespace mankai::detail {
namespace {

std::string_view or_dash(std::string_view text) { return text.empty() ? std::string_view("-") : text; }

void append_one(std::string& out, char letter) { out += letter; }
void append_one(std::string& out, std::string_view text) { out += text; }
void append_one(std::string& out, std::integral auto number) { append_number(number, out); }
void append_one(std::string& out, const std::invocable<std::string&> auto& append) { append(out); }

template <class... Parts>
void append_all(std::string& out, const Parts&... parts) {
  (append_one(out, parts), ...);
}

// The parts of a request that need more than its values.
auto client_of(const LogTraffic& traffic, const Request& request) {
  return [&](std::string& out) { traffic.append_client(request.client, out); };
}
auto host_of(const LogTraffic& traffic, const Request& request) {
  return [&](std::string& out) { traffic.append_host(request.path, out); };
}
auto path_of(const LogTraffic& traffic, const Request& request) {
  return [&](std::string& out) { traffic.append_path(request.path, out); };
}
auto target_of(const LogTraffic& traffic, const Request& request) {
  return [&](std::string& out) {
    traffic.append_path(request.path, out);
    if (!request.query.empty()) {
      append_all(out, '?', request.query);
    }
  };
}
template <void (*kAppend)(Time, std::string&)>
auto shown_as(Time time) {
  return [time](std::string& out) { kAppend(time, out); };
}

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
  append_all(out, "#Software: mankai gen\n#Version: 1.0\n#Date: ", shown_as<append_date>(start), ' ',
             shown_as<append_clock>(start),
             "\n#Fields: date time c-ip cs-method cs-host cs-uri-stem cs-uri-query sc-status sc-bytes cs(User-Agent) "
             "cs(Referer)\n");
}

void LogWriter::append(const Request& request, std::string& out) const {
  switch (format_) {
    case LogFormat::combined: append_combined(request, out); break;
    case LogFormat::squid: append_squid(request, out); break;
    case LogFormat::w3c: append_w3c(request, out); break;
    case LogFormat::json: append_json(request, out); break;
    case LogFormat::keys:
      append_all(out, shown_as<append_iso>(request.time), '\t', target_of(*traffic_, request));
      break;
    case LogFormat::automatic: MANKAI_ASSERT(false); break;
  }
}

void LogWriter::append_combined(const Request& request, std::string& out) const {
  append_all(out, client_of(*traffic_, request), " - - [", shown_as<append_log_time>(request.time), "] \"",
             request.method, ' ', target_of(*traffic_, request), " HTTP/1.1\" ", request.status, ' ');
  if (request.bytes == 0) {
    out += '-';
  } else {
    append_number(request.bytes, out);
  }
  if (!is_common_) {
    append_all(out, " \"", or_dash(request.referrer), "\" \"", request.agent, '"');
  }
}

void LogWriter::append_squid(const Request& request, std::string& out) const {
  constexpr std::uint64_t kBytesPerMillisecond = 1000;
  constexpr std::size_t kElapsedWidth = 6;
  append_all(out, seconds_of(request.time), '.');
  append_digits(milliseconds_of(request.time), 3, out);
  const std::string elapsed = std::to_string(1 + request.bytes / kBytesPerMillisecond);
  out.append(kElapsedWidth - std::min(elapsed.size(), kElapsedWidth) + 1, ' ');
  append_all(out, elapsed, ' ', client_of(*traffic_, request),
             request.status == 304 ? " TCP_REFRESH_UNMODIFIED/" : " TCP_MISS/", request.status, ' ', request.bytes, ' ',
             request.method, " http://", host_of(*traffic_, request), target_of(*traffic_, request),
             " - HIER_DIRECT/192.0.2.1 text/html");
}

void LogWriter::append_w3c(const Request& request, std::string& out) const {
  append_all(out, shown_as<append_date>(request.time), ' ', shown_as<append_clock>(request.time), ' ',
             client_of(*traffic_, request), ' ', request.method, ' ', host_of(*traffic_, request), ' ',
             path_of(*traffic_, request), ' ', or_dash(request.query), ' ', request.status, ' ', request.bytes, ' ');
  const std::size_t agent = out.size();
  out += request.agent;
  std::replace(out.begin() + static_cast<std::ptrdiff_t>(agent), out.end(), ' ', '+');
  append_all(out, ' ', or_dash(request.referrer));
}

// Generated text needs no escaping.
void LogWriter::append_json(const Request& request, std::string& out) const {
  append_all(out, R"({"time":")", shown_as<append_iso>(request.time), R"(","remote_addr":")",
             client_of(*traffic_, request), R"(","host":")", host_of(*traffic_, request), R"(","request_method":")",
             request.method, R"(","request_uri":")", target_of(*traffic_, request), R"(","status":)", request.status,
             R"(,"body_bytes_sent":)", request.bytes, R"(,"http_referer":")", request.referrer,
             R"(","http_user_agent":")", request.agent, R"("})");
}

}  // namespace mankai::detail
