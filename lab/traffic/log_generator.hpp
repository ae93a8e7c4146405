#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"
#include "mankai/input/log_record.hpp"

namespace mankai {

namespace detail {
class LogTraffic;
}  // namespace detail

/// LogGenerator::create checks the ranges.
struct LogGeneratorOptions {
  LogFormat format = LogFormat::combined;           ///< not automatic
  bool is_common = false;                           ///< combined only: omit referrer and agent
  std::uint64_t count = 1'000'000;                  ///< records; at most 10^12, and 100 years' worth
  Time start{std::chrono::seconds(1'704'067'200)};  ///< 1 January 2024; from 1970 to 2200
  double rate = 100;                                ///< records per second on average, 0.001 to 10^6
  std::uint64_t paths = 10'000;                     ///< 1 to 10^7
  double zipf_exponent = 1.0;                       ///< of the paths' popularity, 0 (uniform) to 10
  Duration drift = std::chrono::hours(6);  ///< mean time for which a path keeps its rank; 0: forever, else at least 1 s
  std::uint64_t clients = 5'000;           ///< 1 to 2^24
  double late_share = 0;                   ///< probability 0–1 that a record arrives late
  Duration late_by = std::chrono::minutes(1);  ///< maximal delay; 1 ms to 30 days
  double malformed_share = 0;                  ///< probability 0–1 that a line is malformed
  std::uint64_t seed = 1;
};

/// The content of a generated line, as ground truth for approximate answers.
struct GeneratedRecord {
  Time time;             ///< as shown in the line: whole seconds in combined and w3c, milliseconds elsewhere
  std::uint64_t path;    ///< below `paths`; identifies the path without its query
  std::uint64_t client;  ///< below `clients`; identifies the address
  unsigned status;
  bool is_late;       ///< its time was set back
  bool is_malformed;  ///< the format's parser refuses it
};

/// A reproducible access log of a small group of sites, with exact ground truth.
///
/// Requests are a Poisson process of the given rate. Each draws a rank by Zipf's law. Each rank moves to another path
/// every `drift`, at times of its own, so the popular paths change; otherwise decay and expiry would have no effect.
/// Clients follow Zipf's law with exponent 0.8; an eighth of them use IPv6. One request in ten has a query.
///
/// A malformed line is a truncated record. In the format `keys`, where any text is a key, its time has a thirteenth
/// month.
///
/// The output for `count` is a prefix of the output for any larger one, and the same on every machine.
///
/// Cost:    8 bytes per path and client; about 300 ns per record.
/// Threads: one at a time.
class LogGenerator {
 public:
  /// Errors: invalid_argument for an option out of range.
  [[nodiscard]] static Result<LogGenerator> create(const LogGeneratorOptions& options);

  LogGenerator(LogGenerator&& other) noexcept;
  LogGenerator& operator=(LogGenerator&& other) noexcept;
  LogGenerator(const LogGenerator&) = delete;
  LogGenerator& operator=(const LogGenerator&) = delete;
  ~LogGenerator();

  /// Appends the lines before the first record, each with its line feed: the directives of w3c.
  void append_header(std::string& out) const;

  [[nodiscard]] bool has_next() const noexcept { return emitted_ < options_.count; }
  /// Appends the next line, without a line feed. Pre: has_next().
  GeneratedRecord append_next(std::string& out);
  [[nodiscard]] std::uint64_t emitted_so_far() const noexcept { return emitted_; }

  /// Appends the path without a query; in squid an absolute URL. Pre: path < paths.
  void append_target(std::uint64_t path, std::string& out) const;
  /// Appends the address. Pre: client < clients.
  void append_client(std::uint64_t client, std::string& out) const;

 private:
  explicit LogGenerator(const LogGeneratorOptions& options);

  LogGeneratorOptions options_;
  std::unique_ptr<detail::LogTraffic> traffic_;
  std::uint64_t emitted_ = 0;
};

}  // namespace mankai
