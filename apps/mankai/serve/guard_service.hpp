#pragma once

#include <httplib.h>

#include <functional>

#include "apps/mankai/serve/live_guard.hpp"
#include "apps/mankai/serve/metrics.hpp"

namespace mankai::command::serve {

/// A batch beyond this is refused: its answer would be many times its size.
inline constexpr std::size_t kBatchUrlsMax = 10'000;

/// The endpoints over a guard; docs/guard-serve.md has them for users.
///
/// Threads: handle from any.
class GuardService {
 public:
  struct Settings {
    bool redirects = true;
    std::function<ServerCounts()> server_counts;
    std::function<std::uint64_t()> lost_log_lines;
  };

  GuardService(const LiveGuard& guard, Metrics& metrics, Settings settings)
      : guard_(guard), metrics_(metrics), settings_(std::move(settings)) {}

  void handle(const httplib::Request& request, httplib::Response& response) const;

 private:
  using Request = httplib::Request;
  using Response = httplib::Response;

  void check(const Request& request, Response& response) const;
  void check_batch(const Request& request, Response& response) const;
  void redirect(const Request& request, Response& response) const;
  void show_metrics(Response& response) const;
  [[nodiscard]] Verdict ask(const Guard& guard, std::string_view url, GuardScratch& scratch) const;

  const LiveGuard& guard_;
  Metrics& metrics_;
  Settings settings_;
};

}  // namespace mankai::command::serve
