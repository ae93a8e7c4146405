#include "apps/mankai/serve/metrics.hpp"

#include <algorithm>
#include <string>

namespace mankai::command::serve {
namespace {

void add(Metrics::Counter& counter, std::uint64_t count = 1) { counter.fetch_add(count, std::memory_order_relaxed); }

std::uint64_t value(const Metrics::Counter& counter) { return counter.load(std::memory_order_relaxed); }

}  // namespace

Route route_of(std::string_view request_line) noexcept {
  const std::size_t space = request_line.find(' ');
  if (space == std::string_view::npos) {
    return Route::other;
  }
  const std::string_view method = request_line.substr(0, space);
  const std::string_view target = target_of(request_line);
  const std::string_view path = target.substr(0, target.find_first_of("?#"));
  if (path == "/check") {
    return method == "POST" ? Route::check_batch : Route::check;
  }
  const auto named = [&](std::string_view name) { return path.starts_with('/') && path.substr(1) == name; };
  for (const Route route : {Route::redirect, Route::metrics, Route::healthz}) {
    if (named(kRouteNames[static_cast<std::size_t>(route)])) {
      return route;
    }
  }
  return Route::other;
}

void Metrics::count(const Exchange& exchange) {
  constexpr double kNanosecondsPerSecond = 1e9;
  const auto status = static_cast<std::size_t>(std::ranges::find(kStatuses, exchange.status) - kStatuses.begin());
  const Route route = exchange.is_refused ? Route::other : route_of(exchange.request_line);
  add(requests_[static_cast<std::size_t>(route)][status]);
  const auto bound = static_cast<std::size_t>(std::ranges::lower_bound(kBounds, exchange.seconds) - kBounds.begin());
  add(latencies_[bound]);
  add(latency_nanoseconds_, static_cast<std::uint64_t>(exchange.seconds * kNanosecondsPerSecond));
}

void Metrics::count_check(std::size_t answer, std::uint64_t probes) {
  add(checks_[answer]);
  add(probes_, probes);
}

void Metrics::count_reload(bool is_good) { add(is_good ? good_reloads_ : failed_reloads_); }

void Metrics::write(PrometheusText& out) const {
  out.begin("mankai_http_requests_total", MetricType::counter, "Requests by endpoint and status code.");
  for (std::size_t route = 0; route < requests_.size(); ++route) {
    for (std::size_t i = 0; i < requests_[route].size(); ++i) {
      if (const std::uint64_t count = value(requests_[route][i]); count > 0) {
        const std::string code = i < kStatuses.size() ? std::to_string(kStatuses[i]) : "other";
        out.sample(count, {{"endpoint", kRouteNames[route]}, {"code", code}});
      }
    }
  }
  constexpr double kSecondsPerNanosecond = 1e-9;
  out.begin("mankai_http_request_duration_seconds", MetricType::histogram,
            "Time from a complete request to its complete response, without the time of the client.");
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < latencies_.size(); ++i) {
    sum += value(latencies_[i]);
    out.part("_bucket", sum, {{"le", i < kBounds.size() ? PrometheusText::number(kBounds[i]) : "+Inf"}});
  }
  out.part("_sum", static_cast<double>(value(latency_nanoseconds_)) * kSecondsPerNanosecond);
  out.part("_count", sum);
  out.begin("mankai_guard_checks_total", MetricType::counter, "URLs checked, by answer.");
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    out.sample(value(checks_[i]), {{"answer", kAnswerNames[i]}});
  }
  out.single("mankai_guard_probes_total", MetricType::counter, "Probes of the filter that the checks took.",
             value(probes_));
  out.begin("mankai_guard_reloads_total", MetricType::counter, "Reloads of the file, by result.");
  out.sample(value(good_reloads_), {{"result", "good"}});
  out.sample(value(failed_reloads_), {{"result", "failed"}});
}

}  // namespace mankai::command::serve
