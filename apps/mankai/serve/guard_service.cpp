#include "apps/mankai/serve/guard_service.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "apps/mankai/guard_report.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/serve/request_head.hpp"
#include "apps/mankai/serve/warning_page.hpp"
#include "mankai/base/ascii.hpp"

namespace mankai::command::serve {
namespace {

constexpr int kFound = 302;
constexpr int kBadRequest = 400;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kMethodNotAllowed = 405;
constexpr int kTooLarge = 413;
constexpr int kUnsupportedMedia = 415;

constexpr std::string_view kJsonLines = "application/x-ndjson";
constexpr std::string_view kText = "text/plain; charset=utf-8";
constexpr std::string_view kHtml = "text/html; charset=utf-8";

std::string_view name(Verdict::Answer answer) noexcept {
  return Metrics::kAnswerNames[static_cast<std::size_t>(answer)];
}

HttpResponse page_response(int status, std::string page) {
  return {.status = status,
          .content_type = kHtml,
          .body = std::move(page),
          .headers = {{"Content-Security-Policy", std::string(page_policy())}, {"X-Robots-Tag", "noindex"}}};
}

HttpResponse text_response(std::string_view content_type, std::string body) {
  return {.content_type = content_type, .body = std::move(body), .headers = {}};
}

// Whether JSON needs no escapes, which holds for nearly all URLs.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char byte) { return byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\'; });
}

std::string_view reason_name(Verdict::Answer answer) noexcept {
  return answer == Verdict::Answer::invalid ? "reason" : "rule";
}

// As json_line for arbitrary bytes: invalid UTF-8 is escaped and marked.
std::string json_line_of_bytes(std::string_view url, const Verdict& verdict) {
  Report report;
  add_bytes("url", url, report);
  report.add("answer", std::string(name(verdict.answer)));
  if (verdict.answer != Verdict::Answer::ok) {
    add_bytes(std::string(reason_name(verdict.answer)), verdict.rule, report);
  }
  return report.json();
}

// The format of `guard check --json`. A Report would double the cost of a request, so most URLs are formatted directly.
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

// The format of `guard check`, where an exception is ok.
std::string text_line(std::string_view url, const Verdict& verdict) {
  const bool is_ok = verdict.answer == Verdict::Answer::ok || verdict.answer == Verdict::Answer::allowed;
  std::string line(is_ok ? "ok" : name(verdict.answer));
  line.append("\t").append(url);
  if (!is_ok) {
    line.append("\t").append(verdict.rule);
  }
  return line + "\n";
}

enum class BatchForm : std::uint8_t { text, json, json_lines };

// Returns the format with the highest quality value, JSON lines if equal; text if Accept names neither.
BatchForm form_of(std::string_view accept) {
  const double lines = wanted(accept, kJsonLines);
  const double json = wanted(accept, kJson);
  const double text = wanted(accept, "text/plain");
  if (lines > 0 && lines >= json && lines >= text) {
    return BatchForm::json_lines;
  }
  return json > 0 && json >= text ? BatchForm::json : BatchForm::text;
}

std::string_view content_type(BatchForm form) {
  switch (form) {
    case BatchForm::json: return kJson;
    case BatchForm::json_lines: return kJsonLines;
    case BatchForm::text: return kText;
  }
  return kText;
}

// curl sends --data as a form, even if it contains one URL per line.
bool is_lines(std::string_view content_type) {
  const auto is = [&](std::string_view wanted) { return content_type.starts_with(wanted); };
  return content_type.empty() || is("text/plain") || is("application/x-www-form-urlencoded") ||
         is("application/octet-stream");
}

// "url=http%3A%2F%2F…", as sent by curl and browsers. A plain URL has a dot or a slash before its first '='.
bool is_form(std::string_view content_type, std::string_view body) {
  const std::string_view name = body.substr(0, std::min(body.find('='), body.size()));
  return content_type.starts_with("application/x-www-form-urlencoded") && name.size() < body.size() &&
         std::ranges::all_of(
             name, [](char byte) { return is_letter(byte) || is_digit(byte) || byte == '_' || byte == '-'; });
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
      answer.back() = ',';  // replaces the line feed
    }
  }
  if (form == BatchForm::json) {
    answer += answer.ends_with(',') ? "" : " ";
    answer.back() = ']';
    answer += '\n';
  }
  return answer;
}

std::optional<HttpResponse> method_refusal(const RequestHead& head, std::string_view methods) {
  if (methods.contains(head.method())) {
    return std::nullopt;
  }
  auto response = error_response(kMethodNotAllowed, std::string(head.path()) + " takes " + std::string(methods));
  response.headers.emplace_back("Allow", methods);
  return response;
}

GuardScratch& scratch_of_thread() {
  thread_local GuardScratch scratch;
  return scratch;
}

}  // namespace

HttpResponse GuardService::handle(const RequestHead& head, std::string_view body) const {
  const std::string_view path = head.path();
  const bool is_check = path == "/check";
  if (!is_check && !(path == "/redirect" && settings_.redirects) && path != "/metrics" && path != "/healthz") {
    return error_response(kNotFound, "there are /check?url=, /redirect?url=, /metrics and /healthz");
  }
  if (auto refusal = method_refusal(head, is_check ? "GET, HEAD, POST" : "GET, HEAD")) {
    return std::move(*refusal);
  }
  if (is_check) {
    return head.method() == "POST" ? check_batch(head, body) : check(head);
  }
  return path == "/redirect" ? redirect(head) : path == "/metrics" ? metrics() : text_response(kText, "ok\n");
}

Verdict GuardService::ask(const Guard& guard, std::string_view url, GuardScratch& scratch) const {
  const Verdict verdict = guard.check(url, scratch);
  metrics_.count_check(static_cast<std::size_t>(verdict.answer), verdict.probes);
  return verdict;
}

HttpResponse GuardService::check(const RequestHead& head) const {
  const auto url = query_value(head.target(), "url", OtherParameters::refused);
  if (!url) {
    return error_response(kBadRequest, url.error().detail);
  }
  const auto guard = guard_.current();
  return text_response(kJson, json_line(*url, ask(guard->guard, *url, scratch_of_thread())));
}

HttpResponse GuardService::check_batch(const RequestHead& head, std::string_view body) const {
  if (!is_lines(head.content_type) || !head.content_encoding.empty()) {
    return error_response(kUnsupportedMedia, "a batch is text/plain, one URL per line, not compressed");
  }
  if (is_form(head.content_type, body)) {
    return error_response(kBadRequest,
                          "a batch has one URL per line, but this is a form: send one URL as GET /check?url= (curl -G "
                          "--data-urlencode), or lines (curl --data-binary)");
  }
  if (static_cast<std::size_t>(std::ranges::count(body, '\n')) > kBatchUrlsMax) {
    return error_response(
        kTooLarge, "a batch may have at most " + std::to_string(kBatchUrlsMax) + " lines; send several requests");
  }
  const auto guard = guard_.current();
  const BatchForm form = form_of(head.accept);
  return text_response(content_type(form), batch_answer(body, form, [&](std::string_view url) {
                         return ask(guard->guard, url, scratch_of_thread());
                       }));
}

// Ignores other parameters, which sites add to shared links; redirects to the checked URL only.
HttpResponse GuardService::redirect(const RequestHead& head) const {
  const auto url = query_value(head.target(), "url", OtherParameters::ignored);
  if (!url) {
    return page_response(kBadRequest, refusal_page("", "The link is incomplete: " + url.error().detail + "."));
  }
  const auto guard = guard_.current();
  const Verdict verdict = ask(guard->guard, *url, scratch_of_thread());
  if (verdict.answer == Verdict::Answer::blocked) {
    const GuardFacts facts = guard->guard.facts();
    const Warning warning{.url = *url, .rule = verdict.rule, .false_positive_rate = facts.is_exact ? 0 : facts.fpr};
    return page_response(kForbidden, warning_page(warning));
  }
  const auto location = redirect_location(*url);
  if (!location || verdict.answer == Verdict::Answer::invalid) {
    const std::string why = location ? "The address cannot be understood." : location.error().detail;
    return page_response(kBadRequest, refusal_page(*url, why));
  }
  return {.status = kFound, .content_type = {}, .body = {}, .headers = {{"Location", *location}}};
}

HttpResponse GuardService::metrics() const {
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
             "Connections closed by the server, by reason: slow client, or to make room.");
  text.sample(counts.timed_out, {{"why", "slow"}});
  text.sample(counts.pushed_out, {{"why", "room"}});
  text.single("mankai_log_lines_lost_total", MetricType::counter, "Lines that could not be written to the access log.",
              settings_.lost_log_lines());
  return text_response(PrometheusText::kContentType, text.text());
}

}  // namespace mankai::command::serve
