#pragma once

#include <functional>

#include "apps/mankai/serve/live_guard.hpp"
#include "apps/mankai/serve/metrics.hpp"

namespace mankai::command::serve {

/// Larger batches are refused: the response would be many times their size.
inline constexpr std::size_t kBatchUrlsMax = 10'000;

/// The endpoints; docs/guard-serve.md describes them for users.
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

  [[nodiscard]] HttpResponse handle(const RequestHead& head, std::string_view body) const;

 private:
  [[nodiscard]] HttpResponse check(const RequestHead& head) const;
  [[nodiscard]] HttpResponse check_batch(const RequestHead& head, std::string_view body) const;
  [[nodiscard]] HttpResponse redirect(const RequestHead& head) const;
  [[nodiscard]] HttpResponse metrics() const;
  [[nodiscard]] Verdict ask(const Guard& guard, std::string_view url, GuardScratch& scratch) const;

  const LiveGuard& guard_;
  Metrics& metrics_;
  Settings settings_;
};

}  // namespace mankai::command::serve
