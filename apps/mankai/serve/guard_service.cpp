#include "apps/mankai/serve/guard_service.hpp"

#include <algorithm>

#include "apps/mankai/escape.hpp"
#include "apps/mankai/guard_report.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/serve/accept.hpp"
#include "apps/mankai/serve/query.hpp"
#include "apps/mankai/serve/warning_page.hpp"

namespace mankai::command::serve {
namespace {

constexpr int kFound = 302;
constexpr int kBadRequest = 400;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kMethodNotAllowed = 405;
constexpr int kTooLarge = 413;
constexpr int kUnsupportedMedia = 415;

constexpr const char* kJson = "application/json";
constexpr const char* kJsonLines = "application/x-ndjson";
constexpr const char* kText = "text/plain; charset=utf-8";
constexpr const char* kHtml = "text/html; charset=utf-8";

std::string_view name(Verdict::Answer answer) noexcept {
  return Metrics::kAnswerNames[static_cast<std::size_t>(answer)];
}

void refuse(int status, const std::string& why, httplib::Response& response) {
  Report report;
  report.add("error", why);
  response.status = status;
  response.set_content(report.json(), kJson);
}

void show_page(int status, const std::string& page, httplib::Response& response) {
  response.status = status;
  response.set_header("Content-Security-Policy", std::string(page_policy()));
  response.set_header("X-Robots-Tag", "noindex");
  response.set_content(page, kHtml);
}

// Whether JSON has these bytes as they are, as it has nearly every URL.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char byte) { return byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\'; });
}

std::string_view reason_name(Verdict::Answer answer) noexcept {
  return answer == Verdict::Answer::invalid ? "reason" : "rule";
}

// For any bytes, with the same members: what is no UTF-8 is escaped, and said to be.
std::string json_line_of_bytes(std::string_view url, const Verdict& verdict) {
  Report report;
  add_bytes("url", url, report);
  report.add("answer", std::string(name(verdict.answer)));
  if (verdict.answer != Verdict::Answer::ok) {
    add_bytes(std::string(reason_name(verdict.answer)), verdict.rule, report);
  }
  return report.json();
}

// As `guard check --json` prints it. A report costs as much as all the rest of a request, so most do without.
std::string json_line(std::string_view url, const Verdict& verdict) {
  if (!is_plain(url) || !is_plain(verdict.rule)) {
    return json_line_of_bytes(url, verdict);
  }
  std::string line;
  constexpr std::size_t kMembers = 64;
  line.reserve(url.size() + verdict.rule.size() + kMembers);
  line.append(R"({"url":")").append(url).append(R"(","answer":")").append(name(verdict.answer));
  if (verdict.answer != Verdict::Answer::ok) {
    line.append(R"(",")").append(reason_name(verdict.answer)).append(R"(":")").append(verdict.rule);
  }
  return line + "\"}\n";
}

// As `guard check` prints it: an exception is no news to whoever reads lines.
std::string text_line(std::string_view url, const Verdict& verdict) {
  const bool is_ok = verdict.answer == Verdict::Answer::ok || verdict.answer == Verdict::Answer::allowed;
  std::string line(is_ok ? "ok" : name(verdict.answer));
  line.append("\t").append(url);
  if (!is_ok) {
    line.append("\t").append(verdict.rule);
  }
  return line + "\n";
}

/// How a batch is answered.
enum class BatchForm : std::uint8_t { text, json, json_lines };

// What is wanted most, and of equals the lines; text where none of them is named.
BatchForm form_of(std::string_view accept) {
  const double lines = wanted(accept, kJsonLines);
  const double json = wanted(accept, kJson);
  const double text = wanted(accept, "text/plain");
  if (lines > 0 && lines >= json && lines >= text) {
    return BatchForm::json_lines;
  }
  return json > 0 && json >= text ? BatchForm::json : BatchForm::text;
}

const char* content_type(BatchForm form) {
  switch (form) {
    case BatchForm::json: return kJson;
    case BatchForm::json_lines: return kJsonLines;
    case BatchForm::text: return kText;
  }
  return kText;
}

// curl sends --data as a form, and a form of one line a URL is what it is not.
bool is_lines(const std::string& content_type) {
  const auto is = [&](std::string_view wanted) { return content_type.starts_with(wanted); };
  return content_type.empty() || is("text/plain") || is("application/x-www-form-urlencoded") ||
         is("application/octet-stream");
}

// "url=http%3A%2F%2F…", as curl and browsers send a form. In front of a URL's '=' there is a dot or a slash.
bool is_form(const std::string& content_type, std::string_view body) {
  const std::string_view name = body.substr(0, std::min(body.find('='), body.size()));
  return content_type.starts_with("application/x-www-form-urlencoded") && name.size() < body.size() &&
         std::ranges::all_of(
             name,
             [](char byte) {
               return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
                      byte == '_' || byte == '-';
             });
}

std::string_view next_line(std::string_view& lines) {
  std::string_view line = lines.substr(0, lines.find('\n'));
  lines.remove_prefix(std::min(lines.size(), line.size() + 1));
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

std::string batch_answer(std::string_view lines, BatchForm form, const std::function<Verdict(std::string_view)>& ask) {
  std::string answer = form == BatchForm::json ? "[" : "";
  while (!lines.empty()) {
    const std::string_view url = next_line(lines);
    if (url.empty()) {
      continue;
    }
    const Verdict verdict = ask(url);
    if (form == BatchForm::text) {
      answer += text_line(url, verdict);
      continue;
    }
    answer += json_line(url, verdict);
    if (form == BatchForm::json) {
      answer.back() = ',';  // in place of the line feed
    }
  }
  if (form == BatchForm::json) {
    answer += answer.ends_with(',') ? "" : " ";
    answer.back() = ']';
    answer += '\n';
  }
  return answer;
}

bool allows(const httplib::Request& request, std::string_view methods, httplib::Response& response) {
  if (methods.find(request.method) != std::string_view::npos) {
    return true;
  }
  response.set_header("Allow", std::string(methods));
  refuse(kMethodNotAllowed, request.path + " takes " + std::string(methods), response);
  return false;
}

GuardScratch& scratch_of_thread() {
  thread_local GuardScratch scratch;
  return scratch;
}

}  // namespace

void GuardService::handle(const Request& request, Response& response) const {
  constexpr std::string_view kReading = "GET, HEAD";
  response.set_header("Cache-Control", "no-store");
  response.set_header("Referrer-Policy", "no-referrer");
  response.set_header("X-Content-Type-Options", "nosniff");
  if (request.path == "/check") {
    if (allows(request, "GET, HEAD, POST", response)) {
      request.method == "POST" ? check_batch(request, response) : check(request, response);
    }
  } else if (request.path == "/redirect" && settings_.redirects) {
    if (allows(request, kReading, response)) {
      redirect(request, response);
    }
  } else if (request.path == "/metrics") {
    if (allows(request, kReading, response)) {
      show_metrics(response);
    }
  } else if (request.path == "/healthz") {
    if (allows(request, kReading, response)) {
      response.set_content("ok\n", kText);
    }
  } else {
    refuse(kNotFound, "there are /check?url=, /redirect?url=, /metrics and /healthz", response);
  }
}

Verdict GuardService::ask(const Guard& guard, std::string_view url, GuardScratch& scratch) const {
  const Verdict verdict = guard.check(url, scratch);
  metrics_.count_check(static_cast<std::size_t>(verdict.answer), verdict.probes);
  return verdict;
}

void GuardService::check(const Request& request, Response& response) const {
  const auto url = query_value(request.target, "url", OtherParameters::refused);
  if (!url) {
    return refuse(kBadRequest, url.error().detail, response);
  }
  const auto guard = guard_.current();
  response.set_content(json_line(*url, ask(guard->guard, *url, scratch_of_thread())), kJson);
}

void GuardService::check_batch(const Request& request, Response& response) const {
  if (!is_lines(request.get_header_value("Content-Type")) || request.has_header("Content-Encoding")) {
    return refuse(kUnsupportedMedia, "a batch is text/plain, one URL a line, not compressed", response);
  }
  if (is_form(request.get_header_value("Content-Type"), request.body)) {
    return refuse(kBadRequest,
                  "a batch is one URL a line, and this is a form: send one URL as GET /check?url= (curl -G "
                  "--data-urlencode), or lines (curl --data-binary)",
                  response);
  }
  if (static_cast<std::size_t>(std::ranges::count(request.body, '\n')) > kBatchUrlsMax) {
    return refuse(kTooLarge, "a batch may have " + std::to_string(kBatchUrlsMax) + " lines; send several", response);
  }
  const auto guard = guard_.current();
  const BatchForm form = form_of(request.get_header_value("Accept"));
  response.set_content(batch_answer(request.body, form,
                                    [&](std::string_view url) { return ask(guard->guard, url, scratch_of_thread()); }),
                       content_type(form));
}

// Others add parameters to links that people share; the person goes where was checked, whatever is behind.
void GuardService::redirect(const Request& request, Response& response) const {
  const auto url = query_value(request.target, "url", OtherParameters::ignored);
  if (!url) {
    return show_page(kBadRequest, refusal_page("", "The link is incomplete: " + url.error().detail + "."), response);
  }
  const auto guard = guard_.current();
  const Verdict verdict = ask(guard->guard, *url, scratch_of_thread());
  if (verdict.answer == Verdict::Answer::blocked) {
    const GuardFacts facts = guard->guard.facts();
    const Warning warning{.url = *url, .rule = verdict.rule, .false_positive_rate = facts.is_exact ? 0 : facts.fpr};
    return show_page(kForbidden, warning_page(warning), response);
  }
  const auto location = redirect_location(*url);
  if (!location || verdict.answer == Verdict::Answer::invalid) {
    const std::string why = location ? "The address cannot be understood." : location.error().detail;
    return show_page(kBadRequest, refusal_page(*url, why), response);
  }
  response.status = kFound;
  response.set_header("Location", *location);
}

void GuardService::show_metrics(Response& response) const {
  PrometheusText text;
  metrics_.write(text);
  const auto guard = guard_.current();
  add_metrics(guard->guard.facts(), text);
  constexpr double kSecondsPerNanosecond = 1e-9;
  text.single("mankai_guard_file_modified_timestamp_seconds", MetricType::gauge,
              "When the file in use was made, since 1970; time() minus this is its age.",
              static_cast<double>(guard->stamp.modified_nanoseconds) * kSecondsPerNanosecond);
  text.single("mankai_guard_file_bytes", MetricType::gauge, "Size of the file in use.", guard->stamp.bytes);
  const ServerCounts counts = settings_.server_counts();
  text.single("mankai_http_connections", MetricType::gauge, "Open connections.", counts.open);
  text.single("mankai_http_connections_total", MetricType::counter, "Connections accepted.", counts.accepted);
  text.begin("mankai_http_connections_ended_total", MetricType::counter,
             "Connections ended by the server, by why: a client was too slow, or an idle one made room.");
  text.sample(counts.timed_out, {{"why", "slow"}});
  text.sample(counts.pushed_out, {{"why", "room"}});
  text.single("mankai_log_lines_lost_total", MetricType::counter, "Lines that the access log could not take.",
              settings_.lost_log_lines());
  response.set_content(text.text(), std::string(PrometheusText::kContentType));
}

}  // namespace mankai::command::serve
