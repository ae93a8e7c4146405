#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"

namespace mankai {

namespace detail {
class TrafficDay;
}  // namespace detail

enum class TrafficKind : std::uint8_t {
  page,      ///< a shopper looked at a page of the shop
  basket,    ///< the number of items in a shopper's basket changed
  redirect,  ///< somebody followed a link of the shortener
  fetch      ///< the crawler's frontier has a URL to fetch
};
inline constexpr std::size_t kTrafficKinds = 4;

/// Returns the lower-case name, such as "page".
[[nodiscard]] std::string_view name(TrafficKind kind) noexcept;

/// TrafficGenerator::create checks the ranges.
struct TrafficOptions {
  static constexpr std::uint64_t kEventsMin = 1'000;
  static constexpr std::uint64_t kEventsMax = 1'000'000'000;

  std::uint64_t events = 1'000'000;                 ///< approximate number in the day; 1000 to 10^9
  Time start{std::chrono::seconds(1'704'067'200)};  ///< of the day: 1 January 2024; from 1970 to 2200
  std::uint64_t products = 20'000;                  ///< of the shop, 1 to 10^7
  std::uint64_t rules = 100'000;                    ///< of the block list, 1 to 10^7
  std::uint64_t hosts = 10'000;                     ///< of links and the crawler, 1 to 10^7
  std::uint64_t seed = 1;
};

/// One event. `number` identifies the thing within its kind, independent of spelling.
struct TrafficEvent {
  Time time;
  TrafficKind kind = TrafficKind::page;
  std::string who;           ///< page, basket: the shopper's cookie; redirect: the link's code; fetch: empty
  std::string what;          ///< page: its path; basket: empty; redirect, fetch: a URL
  std::uint64_t number = 0;  ///< page: of the path; basket: of the shopper; redirect: of the link; fetch: of the URL
  std::uint64_t items = 0;   ///< basket: number of items; 0 after a purchase or when abandoned
};

enum class TrafficFormat : std::uint8_t {
  tsv,      ///< time, kind, who, what (basket: items), separated by tabs; "-" if there is none
  json,     ///< an object per line: time, event, and the kind's members of cookie, path, items, code, url
  combined  ///< the access log of shop and shortener: pages and redirects only
};

/// Appends the event as a line without a line feed, or nothing if the format has no line for its kind. Times are
/// truncated to milliseconds, in `combined` to seconds. Returns whether there is a line.
bool append_line(const TrafficEvent& event, TrafficFormat format, std::string& out);

/// A reproducible day of a shop, a link shortener and a crawler: the data of the demo's four questions.
///
/// Shop.      A visit has 12 pages on average; few visits are at night, most in the evening. Every fifth shopper
/// returns.
///            Six pages of ten show a product, drawn by Zipf's law; the products' ranks change with time. For 45
///            minutes one obscure product is on sale and gets every third page. One visit in 20 fills a basket. Six of
///            ten baskets are bought at the end of the visit; the others are emptied after six hours, or bought in a
///            later visit.
/// Shortener. Links are drawn by Zipf's law; each leads to one URL forever. About 5% lead to a listed place or below
/// it;
///            as many lead next to one (`/spam-1x` where `/spam-1` is listed).
/// Crawler.   Its frontier is a UrlGenerator with 40% repeats; every fourth URL is not in canonical spelling.
///
/// Shares are fixed: of 100 events about 59 are pages, 15 redirects, 25 fetches, and 1 concerns a basket. Another
/// number of events gives another day, with more or less activity. The output is the same on every machine.
///
/// Cost:    8 bytes per product, host and link (one per 20 events), plus pending events; about 400 ns per event.
/// Threads: one at a time; const calls may run concurrently.
class TrafficGenerator {
 public:
  /// Errors: invalid_argument for an option out of range.
  [[nodiscard]] static Result<TrafficGenerator> create(const TrafficOptions& options);

  TrafficGenerator(TrafficGenerator&& other) noexcept;
  TrafficGenerator& operator=(TrafficGenerator&& other) noexcept;
  TrafficGenerator(const TrafficGenerator&) = delete;
  TrafficGenerator& operator=(const TrafficGenerator&) = delete;
  ~TrafficGenerator();

  /// Replaces `out` with the next event in time; returns false at the end of the day.
  [[nodiscard]] bool next(TrafficEvent& out);

  /// Appends a rule of the block list: a host, or a host and a path. Different numbers give different rules, which
  /// depend only on seed and hosts. Pre: number < 10^7.
  void append_rule(std::uint64_t number, std::string& out) const;
  void append_sale_path(std::string& out) const;
  [[nodiscard]] Time sale_start() const noexcept;

  static constexpr Duration kSaleLength = std::chrono::minutes(45);

 private:
  explicit TrafficGenerator(std::unique_ptr<detail::TrafficDay> day) noexcept;

  std::unique_ptr<detail::TrafficDay> day_;
};

}  // namespace mankai
