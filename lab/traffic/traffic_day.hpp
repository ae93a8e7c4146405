#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "lab/traffic/random.hpp"
#include "lab/traffic/traffic_generator.hpp"
#include "lab/traffic/traffic_web.hpp"
#include "lab/traffic/url_generator.hpp"
#include "lab/traffic/zipf_table.hpp"

namespace mankai::detail {

/// The activity during the hours of a day. Maps times of a uniform day to times of this one.
class DayProfile {
 public:
  DayProfile();

  /// Returns the time by which the same share of the day's visits has begun. Pre: even_us is within the day.
  [[nodiscard]] std::uint64_t moment_us(std::uint64_t even_us) const noexcept;

 private:
  static constexpr std::size_t kQuarters = 96;

  std::array<std::uint64_t, kQuarters + 1> begun_;  // visits before each quarter of an hour, in units of the table
};

/// Draws the events of a TrafficGenerator; pending ones are in a heap by time.
class TrafficDay {
 public:
  explicit TrafficDay(const TrafficOptions& options, UrlGenerator frontier);

  bool next(TrafficEvent& out);

  [[nodiscard]] Time start() const noexcept { return start_; }
  [[nodiscard]] const TrafficWeb& web() const noexcept { return web_; }
  void append_product_path(std::uint64_t product, std::string& out) const;
  [[nodiscard]] std::uint64_t sale_product() const noexcept { return sale_product_; }
  [[nodiscard]] std::uint64_t sale_start_us() const noexcept { return sale_start_us_; }

 private:
  enum class Action : std::uint8_t { visit_begins, page, fill, buy, give_up, redirect, fetch };

  struct Pending {
    std::uint64_t at_us = 0;  // since the day began
    std::uint64_t order = 0;  // of equal times
    Action action = Action::page;
    bool is_buyer = false;
    std::uint32_t pages_left = 0;
    std::uint64_t shopper = 0;

    friend bool operator>(const Pending& a, const Pending& b) noexcept {
      return a.at_us != b.at_us ? a.at_us > b.at_us : a.order > b.order;
    }
  };
  struct Basket {
    std::uint64_t items;
    std::uint64_t changed_us;
  };

  void plan(Pending pending, std::uint64_t at_us);
  /// Returns false if there is no visible event: a visit began, or the basket was empty already.
  bool carry_out(const Pending& pending, TrafficEvent& out);
  void begin_visit(const Pending& pending);
  void view_page(const Pending& pending, TrafficEvent& out);
  /// Plans the next page. A buyer may fill the basket before it, and decides at the end of the visit.
  void go_on(const Pending& visit, bool fills_basket);
  bool change_basket(const Pending& pending, TrafficEvent& out);
  void follow_link(const Pending& pending, TrafficEvent& out);
  void fetch(const Pending& pending, TrafficEvent& out);

  [[nodiscard]] std::uint64_t gap_us(std::uint64_t mean_us) noexcept;
  [[nodiscard]] std::uint64_t draw_product(std::uint64_t at_us) noexcept;
  void append_cookie(std::uint64_t shopper, std::string& out) const;

  Time start_;
  std::uint64_t products_;
  TrafficWeb web_;
  ZipfTable ranks_;
  DayProfile profile_;
  UrlGenerator frontier_;
  Random random_;
  std::uint64_t shop_seed_;
  std::uint64_t cookie_seed_;
  std::uint64_t sale_product_;
  std::uint64_t sale_start_us_;
  std::uint64_t visit_gap_us_;
  std::uint64_t redirect_gap_us_;
  std::uint64_t fetch_gap_us_;
  std::uint64_t even_visits_us_ = 0;  // as if visits were uniform over the day
  std::uint64_t even_redirects_us_ = 0;
  std::uint64_t shoppers_ = 0;
  std::uint64_t orders_ = 0;
  std::priority_queue<Pending, std::vector<Pending>, std::greater<>> pending_;
  std::unordered_map<std::uint64_t, Basket> baskets_;  // the non-empty ones
};

}  // namespace mankai::detail
