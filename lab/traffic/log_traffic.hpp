#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lab/traffic/log_generator.hpp"
#include "lab/traffic/random.hpp"
#include "lab/traffic/zipf_table.hpp"

namespace mankai::detail {

/// A request, independent of the log's format.
struct Request {
  Time time;
  std::uint64_t path = 0;
  std::uint64_t client = 0;
  std::string_view method;
  std::string_view query;  // "page=2", or empty
  unsigned status = 0;
  std::uint64_t bytes = 0;
  std::string_view agent;
  std::string referrer;  // empty for none
  bool is_late = false;
};

/// Draws the requests of a LogGenerator, and names paths, hosts and clients.
class LogTraffic {
 public:
  explicit LogTraffic(const LogGeneratorOptions& options);

  /// Replaces `out` with the next request.
  void next(Request& out);
  /// For malformed lines.
  [[nodiscard]] Random& random() noexcept { return random_; }

  void append_path(std::uint64_t path, std::string& out) const;
  void append_host(std::uint64_t path, std::string& out) const;
  void append_client(std::uint64_t client, std::string& out) const;

 private:
  [[nodiscard]] std::uint64_t path_of_rank(std::uint64_t rank) const noexcept;
  void draw_referrer(Request& out);

  LogGeneratorOptions options_;
  ZipfTable ranks_;
  ZipfTable clients_;
  Random random_;
  std::uint64_t drift_seed_;
  std::uint64_t path_seed_;
  std::uint64_t client_seed_;
  std::uint64_t mean_gap_ns_;
  std::uint64_t elapsed_ns_ = 0;
};

}  // namespace mankai::detail
