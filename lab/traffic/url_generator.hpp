#pragma once

#include <cstdint>
#include <string>

#include "lab/traffic/random.hpp"
#include "lab/traffic/synthetic_web.hpp"
#include "mankai/base/error.hpp"

namespace mankai {

/// What to generate; the ranges are checked by UrlGenerator::create.
struct UrlGeneratorOptions {
  std::uint64_t count = 1'000'000;  ///< URLs in all, repeats included; at most 10^12
  std::uint64_t hosts = 10'000;     ///< 1 to 10^7
  double zipf_exponent = 1.0;       ///< of the hosts' popularity, 0 (all alike) to 10
  double repeat_share = 0.3;        ///< probability 0–1 that a URL repeats an earlier one
  std::uint64_t seed = 1;
};

/// Which URL the generator emitted, to compare approximate answers with.
struct GeneratedUrl {
  std::uint64_t number;  ///< equal for equal URLs and for no others; new URLs are numbered from 0
  bool is_repeat;        ///< the same URL was emitted before
};

/// A reproducible stream of plausible URLs whose exact truth is known without storing one of them.
///
/// A new URL lives on one of `hosts` hosts, chosen by Zipf's law, below a tree of directories that its neighbors
/// share; it differs from all other new URLs. A repeat is, half of the time each, a recent URL (the distance back
/// follows Zipf's law with exponent 1) or an early one (its number does). URL `number` is a pure function of seed,
/// hosts and exponent; hence constant memory per URL, and equal bytes on every machine. URLs are 67 bytes long on
/// average, 244 at most, and pure ASCII.
///
/// The output for `count` is a prefix of the output for any larger one.
///
/// Cost:    8 bytes per host; about 120 ns per URL, and 300 when the hosts' table (10^6 of them) leaves the caches.
/// Threads: one at a time; const calls may run concurrently.
class UrlGenerator {
 public:
  /// Cost:    about 150 ns per host, and 16 bytes while it builds.
  /// Errors:  invalid_argument when an option is outside the range given beside it.
  [[nodiscard]] static Result<UrlGenerator> create(const UrlGeneratorOptions& options);

  /// Returns whether fewer than `count` URLs have been emitted.
  [[nodiscard]] bool has_next() const noexcept { return emitted_ < options_.count; }

  /// Replaces `out` with the next URL. Pre: has_next().
  GeneratedUrl next(std::string& out);
  /// Appends the next URL to `out`, for callers that fill a large buffer. Pre: has_next().
  GeneratedUrl append_next(std::string& out);

  [[nodiscard]] std::uint64_t emitted_so_far() const noexcept { return emitted_; }
  /// Returns how many different URLs have been emitted; exact.
  [[nodiscard]] std::uint64_t distinct_so_far() const noexcept { return distinct_; }

  /// Appends URL `number`, emitted or not yet. Pre: number < 10^12, here and below.
  void append_url(std::uint64_t number, std::string& out) const { web_.append_url(number, out); }
  /// Returns the popularity rank, from 0, of that URL's host.
  [[nodiscard]] std::uint64_t host_rank(std::uint64_t number) const noexcept { return web_.host_rank(number); }
  /// Appends the host of that rank. Pre: rank < hosts. Hosts of different ranks differ.
  void append_host(std::uint64_t rank, std::string& out) const { web_.append_host(rank, out); }

 private:
  explicit UrlGenerator(const UrlGeneratorOptions& options);

  [[nodiscard]] std::uint64_t choose_repeat();

  UrlGeneratorOptions options_;
  detail::SyntheticWeb web_;
  detail::Random random_;
  std::uint64_t repeat_threshold_;  // of 53 uniform bits
  std::uint64_t emitted_ = 0;
  std::uint64_t distinct_ = 0;
};

}  // namespace mankai
