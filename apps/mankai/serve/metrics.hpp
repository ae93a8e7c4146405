#pragma once

/// The counters of the service, for /metrics.

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "apps/mankai/report.hpp"
#include "apps/mankai/serve/http_server.hpp"

namespace mankai::command::serve {

enum class Route : std::uint8_t { check, check_batch, redirect, metrics, healthz, other };
inline constexpr std::array<std::string_view, 6> kRouteNames = {"check",   "check_batch", "redirect",
                                                                "metrics", "healthz",     "other"};

/// Parses a request line such as "GET /check?url=…".
[[nodiscard]] Route route_of(std::string_view request_line) noexcept;

/// Threads: any.
class Metrics {
 public:
  using Counter = std::atomic<std::uint64_t>;

  void count(const Exchange& exchange);
  /// `answer`: index into kAnswerNames.
  void count_check(std::size_t answer, std::uint64_t probes);
  void count_reload(bool is_good);

  void write(PrometheusText& out) const;

  static constexpr std::array<std::string_view, 4> kAnswerNames = {"ok", "blocked", "allowed", "invalid"};

 private:
  static constexpr std::array<int, 15> kStatuses = {200, 302, 400, 403, 404, 405, 408, 411,
                                                    413, 414, 415, 431, 500, 501, 505};
  static constexpr std::array<double, 11> kBounds = {20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3,
                                                     2e-3,  5e-3,  10e-3,  100e-3, 1};
  using Statuses = std::array<Counter, kStatuses.size() + 1>;  ///< the last element counts all other statuses

  std::array<Statuses, kRouteNames.size()> requests_{};
  std::array<Counter, kAnswerNames.size()> checks_{};
  Counter probes_ = 0;
  std::array<Counter, kBounds.size() + 1> latencies_{};  ///< not cumulative
  Counter latency_nanoseconds_ = 0;
  Counter good_reloads_ = 0;
  Counter failed_reloads_ = 0;
};

}  // namespace mankai::command::serve
