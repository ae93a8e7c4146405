#include "mankai/input/detail/json_log.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "mankai/input/detail/request_line.hpp"
#include "mankai/input/detail/text_fields.hpp"
#include "mankai/input/detail/time_scan.hpp"

namespace mankai::detail {
namespace {

using Field = JsonLog::Field;
using Names = std::vector<std::string_view>;

constexpr std::size_t kFields = static_cast<std::size_t>(Field::count);
constexpr std::size_t kDepthMax = 32;

// What nginx, Caddy, Traefik, Google Cloud, Apache recipes and the Elastic schema call it; docs/logs.md has the list.
Names usual_names(Field field) {
  switch (field) {
    case Field::time:
      return {"time",       "timestamp", "@timestamp", "ts",       "time_iso8601",
              "time_local", "msec",      "StartUTC",   "datetime", "date"};
    case Field::client:
      return {"client_ip",
              "remote_addr",
              "request.client_ip",
              "request.remote_ip",
              "ClientHost",
              "httpRequest.remoteIp",
              "source.ip",
              "client.ip",
              "remote_ip",
              "client",
              "ip"};
    case Field::host: return {"host", "http_host", "request.host", "RequestHost", "url.domain", "server_name", "vhost"};
    case Field::method:
      return {"method",
              "request_method",
              "request.method",
              "RequestMethod",
              "httpRequest.requestMethod",
              "http.request.method"};
    case Field::target:
      return {"request_uri", "request.uri", "RequestPath", "httpRequest.requestUrl", "url.original", "target", "uri",
              "url",         "path",        "url.path"};
    case Field::request: return {"request", "request_line"};
    case Field::referrer:
      return {"referrer",
              "referer",
              "http_referer",
              "request.headers.Referer",
              "request_Referer",
              "httpRequest.referer",
              "http.request.referrer"};
    case Field::agent:
      return {"user_agent",
              "http_user_agent",
              "agent",
              "request.headers.User-Agent",
              "request_User-Agent",
              "httpRequest.userAgent",
              "user_agent.original"};
    case Field::status:
      return {"status", "status_code", "DownstreamStatus", "httpRequest.status", "http.response.status_code"};
    case Field::bytes:
      return {"bytes",
              "body_bytes_sent",
              "bytes_sent",
              "size",
              "DownstreamContentSize",
              "httpRequest.responseSize",
              "http.response.body.bytes"};
    case Field::count: break;
  }
  return {};
}

std::string_view wanted_name(const LogFieldNames& names, Field field) {
  switch (field) {
    case Field::time: return names.time;
    case Field::client: return names.client;
    case Field::host: return names.host;
    case Field::method: return names.method;
    case Field::target: return names.target;
    case Field::referrer: return names.referrer;
    case Field::agent: return names.agent;
    case Field::status: return names.status;
    case Field::bytes: return names.bytes;
    case Field::request:
    case Field::count: break;
  }
  return {};
}

/// What the reader of JSON calls back; it keeps the values of members that play a role, as text. A false ends the
/// reading: what it read is no line of a log.
class Values {
 public:
  Values(const JsonLog& log, TextArena& arena) : log_(log), arena_(arena) { best_.fill(kNone); }

  [[nodiscard]] std::string_view text(Field field) const noexcept { return texts_[static_cast<std::size_t>(field)]; }

  bool null() { return is_in_object(); }
  bool boolean(bool) { return is_in_object(); }
  bool number_integer(std::int64_t value) { return take(std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) { return take(std::to_string(value)); }
  bool number_float(double, const std::string& text) { return take(text); }
  bool string(const std::string& text) { return take(text); }
  static bool binary(const nlohmann::json::binary_t&) { return false; }

  bool start_object(std::size_t) {
    bases_.push_back(path_.size());
    return bases_.size() + arrays_ <= kDepthMax;
  }
  bool key(const std::string& name) {
    path_.resize(bases_.back());
    if (!path_.empty()) {
      path_ += '.';
    }
    path_ += name;
    return true;
  }
  bool end_object() {
    path_.resize(bases_.back());
    bases_.pop_back();
    return true;
  }
  bool start_array(std::size_t) {
    ++arrays_;
    return is_in_object() && bases_.size() + arrays_ <= kDepthMax;
  }
  bool end_array() {
    --arrays_;
    return true;
  }
  static bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) { return false; }

 private:
  static constexpr std::uint8_t kNone = 255;

  // A line that is a value but no object is no record.
  [[nodiscard]] bool is_in_object() const noexcept { return !bases_.empty(); }

  bool take(std::string_view value) {
    if (!is_in_object()) {
      return false;
    }
    const JsonLog::Role* const role = log_.role_of(path_);
    if (role == nullptr) {
      return true;
    }
    const auto field = static_cast<std::size_t>(role->field);
    if (role->rank < best_[field]) {
      best_[field] = role->rank;
      texts_[field] = arena_.copy(value);
    }
    return true;
  }

  const JsonLog& log_;
  TextArena& arena_;
  std::string path_;
  std::vector<std::size_t> bases_;  // length of the path at each object that is open
  std::size_t arrays_ = 0;
  std::array<std::uint8_t, kFields> best_;
  std::array<std::string_view, kFields> texts_;
};

bool is_whole(const ScannedTime& scanned, std::string_view text) noexcept {
  return scanned.shape == TimeShape::good && scanned.length == text.size();
}

// Seconds as 1.4591664e9, which some writers make of large numbers.
std::optional<Time> time_with_exponent(std::string_view text) noexcept {
  constexpr double kMicro = 1e6;
  constexpr double kLargest = 1e11;
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || !(seconds >= 0 && seconds < kLargest)) {
    return std::nullopt;
  }
  return Time(Duration(std::llround(seconds * kMicro)));
}

std::optional<Time> time_of(std::string_view text) noexcept {
  for (const auto scan : {scan_iso_time, scan_epoch_time, scan_log_time}) {
    if (const ScannedTime scanned = scan(text); is_whole(scanned, text)) {
      return scanned.time;
    }
  }
  return time_with_exponent(text);
}

}  // namespace

Result<JsonLog> JsonLog::create(const LogFieldNames& names) {
  JsonLog log;
  for (std::size_t i = 0; i < kFields; ++i) {
    const auto field = static_cast<Field>(i);
    const std::string_view wanted = wanted_name(names, field);
    if (!wanted.empty() && !log.roles_.try_emplace(std::string(wanted), Role{.field = field, .rank = 0}).second) {
      return fail(ErrorCode::invalid_argument,
                  "the member '" + std::string(wanted) + "' is given for two fields; give each its own");
    }
  }
  for (std::size_t i = 0; i < kFields; ++i) {
    const auto field = static_cast<Field>(i);
    // Who names the target does not want it from the request line.
    const bool is_named = !wanted_name(names, field).empty() || (field == Field::request && !names.target.empty());
    std::uint8_t rank = 0;
    for (const std::string_view usual : is_named ? Names() : usual_names(field)) {
      log.roles_.try_emplace(std::string(usual), Role{.field = field, .rank = rank++});
    }
  }
  return log;
}

const JsonLog::Role* JsonLog::role_of(std::string_view path) const noexcept {
  const auto found = roles_.find(path);
  return found == roles_.end() ? nullptr : &found->second;
}

LogLine JsonLog::parse(std::string_view line, TextArena& arena, LogRecord& out) const {
  out = {};
  Values values(*this, arena);
  if (!nlohmann::json::sax_parse(line.begin(), line.end(), &values)) {
    return LogLine::malformed_shape;
  }
  out.client = unless_dash(values.text(Field::client));
  out.host = without_port(unless_dash(values.text(Field::host)));
  out.method = unless_dash(values.text(Field::method));
  out.target = unless_dash(values.text(Field::target));
  out.referrer = unless_dash(values.text(Field::referrer));
  out.agent = unless_dash(values.text(Field::agent));
  if (out.target.empty()) {
    split_request(values.text(Field::request), out);
  }
  take_host_of_target(out);
  if (const std::string_view text = values.text(Field::time); !text.empty()) {
    out.time = time_of(text);
    if (!out.time) {
      return LogLine::malformed_time;
    }
  }
  const bool are_numbers =
      read_status(values.text(Field::status), out.status) && read_number(values.text(Field::bytes), out.bytes);
  return are_numbers ? LogLine::record : LogLine::malformed_number;
}

}  // namespace mankai::detail
