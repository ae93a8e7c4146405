#include <array>
#include <cmath>

#include "mankai/base/number.hpp"
#include "mankai/input/detail/json_values.hpp"
#include "mankai/input/detail/log_formats.hpp"
#include "mankai/input/detail/text_fields.hpp"

namespace mankai::detail {
namespace {

enum Field : std::uint8_t { time, client, host, method, target, request, referrer, agent, status, bytes, count };

struct FieldNames {
  std::string LogFieldNames::* chosen;  // the caller's name for the field
  std::string_view usual;
};

// Indexed by Field; docs/logs.md has the list of names.
constexpr std::array<FieldNames, Field::count> kNames = {{
    {&LogFieldNames::time, "time timestamp @timestamp ts time_iso8601 time_local msec StartUTC datetime date"},
    {&LogFieldNames::client,
     "client_ip remote_addr request.client_ip request.remote_ip ClientHost httpRequest.remoteIp source.ip client.ip "
     "remote_ip client ip"},
    {&LogFieldNames::host, "host http_host request.host RequestHost url.domain server_name vhost"},
    {&LogFieldNames::method,
     "method request_method request.method RequestMethod httpRequest.requestMethod http.request.method"},
    {&LogFieldNames::target,
     "request_uri request.uri RequestPath httpRequest.requestUrl url.original target uri url path url.path"},
    {nullptr, "request request_line"},
    {&LogFieldNames::referrer,
     "referrer referer http_referer request.headers.Referer request_Referer httpRequest.referer http.request.referrer"},
    {&LogFieldNames::agent,
     "user_agent http_user_agent agent request.headers.User-Agent request_User-Agent httpRequest.userAgent "
     "user_agent.original"},
    {&LogFieldNames::status, "status status_code DownstreamStatus httpRequest.status http.response.status_code"},
    {&LogFieldNames::bytes,
     "bytes body_bytes_sent bytes_sent size DownstreamContentSize httpRequest.responseSize http.response.body.bytes"},
}};

// Seconds such as 1.4591664e9, a form that some writers use for large numbers.
std::optional<Time> time_with_exponent(std::string_view text) noexcept {
  constexpr double kMicro = 1e6;
  constexpr double kLargest = 1e11;
  const auto seconds = to_number<double>(text);
  if (!seconds || !(*seconds >= 0 && *seconds < kLargest)) {
    return std::nullopt;
  }
  return Time(Duration(std::llround(*seconds * kMicro)));
}

std::optional<Time> time_of(std::string_view text) noexcept {
  for (const auto scan : {scan_iso_time, scan_epoch_time, scan_log_time}) {
    if (const auto time = scan(text).whole(text)) {
      return time;
    }
  }
  return time_with_exponent(text);
}

}  // namespace

Result<JsonLog> JsonLog::create(const LogFieldNames& names) {
  const auto chosen = [&names](std::uint8_t field) {
    return kNames.at(field).chosen == nullptr ? std::string() : names.*kNames.at(field).chosen;
  };
  JsonLog log;
  for (std::uint8_t field = 0; field < Field::count; ++field) {
    const std::string name = chosen(field);
    if (!name.empty() && !log.roles_.try_emplace(name, Role{.field = field, .rank = 0}).second) {
      return fail(ErrorCode::invalid_argument, "the member \"" + name + "\" is given for two fields; name each once");
    }
  }
  for (std::uint8_t field = 0; field < Field::count; ++field) {
    // If the caller names the target, the request line does not set it.
    const bool is_chosen = !chosen(field).empty() || (field == Field::request && !names.target.empty());
    std::string_view usual = is_chosen ? std::string_view() : kNames.at(field).usual;
    for (std::uint8_t rank = 0; !usual.empty(); ++rank) {
      log.roles_.try_emplace(std::string(take_field(usual, ' ')), Role{.field = field, .rank = rank});
    }
  }
  return log;
}

LogLine JsonLog::parse(std::string_view line, TextArena& arena, LogRecord& out) const {
  constexpr std::uint8_t kNone = 255;
  out = {};
  std::array<std::uint8_t, Field::count> best{};
  best.fill(kNone);
  std::array<std::string_view, Field::count> texts;
  const bool is_object = for_each_json_value(line, [&](const JsonValue& value) {
    const auto role = roles_.find(value.path);
    if (role != roles_.end() && role->second.rank < best.at(role->second.field)) {
      best.at(role->second.field) = role->second.rank;
      texts.at(role->second.field) = arena.copy(value.text);
    }
  });
  if (!is_object) {
    return LogLine::malformed_shape;
  }
  out.client = unless_dash(texts[Field::client]);
  out.host = without_port(unless_dash(texts[Field::host]));
  out.method = unless_dash(texts[Field::method]);
  out.target = unless_dash(texts[Field::target]);
  out.referrer = unless_dash(texts[Field::referrer]);
  out.agent = unless_dash(texts[Field::agent]);
  if (out.target.empty()) {
    split_request(texts[Field::request], out);
  }
  take_host_of_target(out);
  out.time = time_of(texts[Field::time]);
  if (!out.time && !texts[Field::time].empty()) {
    return LogLine::malformed_time;
  }
  const bool are_numbers = read_status(texts[Field::status], out.status) && read_number(texts[Field::bytes], out.bytes);
  return are_numbers ? LogLine::record : LogLine::malformed_number;
}

}  // namespace mankai::detail
