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

/// What happened.
enum class TrafficKind : std::uint8_t {
  page,      ///< a shopper looked at a page of the shop
  basket,    ///< a shopper's basket has another number of items now
  redirect,  ///< somebody followed a link of the shortener
  fetch      ///< the crawler's frontier has a URL to fetch
};
inline constexpr std::size_t kTrafficKinds = 4;

/// Returns the kind's lower-case name, such as "page".
[[nodiscard]] std::string_view name(TrafficKind kind) noexcept;

/// What to generate; the ranges are checked by TrafficGenerator::create.
struct TrafficOptions {
  static constexpr std::uint64_t kEventsMin = 1'000;
  static constexpr std::uint64_t kEventsMax = 1'000'000'000;

  std::uint64_t events = 1'000'000;                 ///< about so many in the day; 1000 to 10^9
  Time start{std::chrono::seconds(1'704'067'200)};  ///< when the day begins: 1 January 2024; from 1970 to 2200
  std::uint64_t products = 20'000;                  ///< of the shop, 1 to 10^7
  std::uint64_t rules = 100'000;                    ///< of the block list, 1 to 10^7
  std::uint64_t hosts = 10'000;                     ///< that links and the crawler lead to, 1 to 10^7
  std::uint64_t seed = 1;
};

/// One event. What `number` counts is equal for equal things of a kind, however they are spelled, and for no others.
struct TrafficEvent {
  Time time;
  TrafficKind kind = TrafficKind::page;
  std::string who;           ///< page, basket: the shopper's cookie; redirect: the link's code; fetch: empty
  std::string what;          ///< page: its path; basket: empty; redirect, fetch: a URL
  std::uint64_t number = 0;  ///< page: of the path; basket: of the shopper; redirect: of the link; fetch: of the URL
  std::uint64_t items = 0;   ///< basket: in it from now on; 0 when it was bought or given up
};

/// How events are written as lines.
enum class TrafficFormat : std::uint8_t {
  tsv,      ///< time, kind, who, what (a basket: its items), separated by tabs; "-" where there is none
  json,     ///< an object per line: time, event, and cookie, path, items, code, url as the kind has them
  combined  ///< the access log of shop and shortener, which has pages and redirects only
};

/// Appends the event as a line without a line feed, or nothing where the format has no line for its kind. Times are cut
/// to milliseconds, in `combined` to seconds. Returns whether there is a line.
bool append_line(const TrafficEvent& event, TrafficFormat format, std::string& out);

/// A reproducible day of a shop, a link shortener and a crawler: what the four questions are asked about.
///
/// Shop.      Shoppers come in visits of 12 pages on average, few at night and many in the evening; every fifth has
/// come
///            before. Six pages of ten show a product, by Zipf's law; which product holds a rank changes with time, and
///            one that nobody knew is sold off in three quarters of an hour, when every third page is its own. In one
///            visit of twenty a basket is filled; six of ten are bought when the visit ends, the others are emptied
///            after six hours, or when their shopper comes back and buys them.
/// Shortener. A link is followed by Zipf's law and leads to one URL forever. About 5 % lead to what the block list
///            names, at it or below it; as many lead beside it (`/spam-1x` where `/spam-1` is listed).
/// Crawler.   Its frontier is that of UrlGenerator with 40 % of repeats; every fourth URL is spelled otherwise than
///            the canonical one.
///
/// The share of the kinds is fixed: of 100 events about 59 are pages, 15 redirects, 25 fetches, and 1 a basket's.
/// Another number of events gives another day: as many hours, but busier.
///
/// The output is the same on every machine.
///
/// Cost:    8 bytes per product, host and link (one for 20 events), and what is open at a time; about 400 ns per event.
/// Threads: one at a time; const calls may run concurrently.
class TrafficGenerator {
 public:
  /// Errors: invalid_argument when an option is outside the range given beside it.
  [[nodiscard]] static Result<TrafficGenerator> create(const TrafficOptions& options);

  TrafficGenerator(TrafficGenerator&& other) noexcept;
  TrafficGenerator& operator=(TrafficGenerator&& other) noexcept;
  TrafficGenerator(const TrafficGenerator&) = delete;
  TrafficGenerator& operator=(const TrafficGenerator&) = delete;
  ~TrafficGenerator();

  /// Replaces `out` by the next event, in the order of their times; returns false at the end of the day.
  [[nodiscard]] bool next(TrafficEvent& out);

  /// Appends a rule of the block list: a host, or a host and a path. Rules of different numbers differ, and are the
  /// same for the same seed and hosts, whatever the other options are. Pre: number < 10^7.
  void append_rule(std::uint64_t number, std::string& out) const;
  /// Appends the path of the product that is sold off.
  void append_sale_path(std::string& out) const;
  [[nodiscard]] Time sale_start() const noexcept;

  static constexpr Duration kSaleLength = std::chrono::minutes(45);

 private:
  explicit TrafficGenerator(std::unique_ptr<detail::TrafficDay> day) noexcept;

  std::unique_ptr<detail::TrafficDay> day_;
};

}  // namespace mankai
