#include "lab/traffic/traffic_day.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "lab/traffic/draws.hpp"
#include "lab/traffic/url_text.hpp"

namespace mankai::detail {
namespace {

constexpr std::uint64_t kSecondUs = 1'000'000;
constexpr std::uint64_t kHourUs = 3600 * kSecondUs;
constexpr std::uint64_t kDayUs = 24 * kHourUs;
constexpr std::uint64_t kMeanPauseUs = 35 * kSecondUs;  // between two pages of a visit
constexpr std::uint64_t kGivenUpUs = 6 * kHourUs;       // after which an abandoned basket is emptied
constexpr std::uint64_t kRankHeldUs = 5 * kHourUs;
constexpr std::uint64_t kQuarterUs = kHourUs / 4;
constexpr std::uint64_t kEarliestSaleUs = 11 * kHourUs;
constexpr std::uint64_t kSaleStarts = 32;  // quarters of an hour in which the sale may begin
constexpr std::uint64_t kCategories = 64;

/// Activity at the start of each hour: lowest at 4:00, highest at 20:00.
constexpr std::array<std::uint64_t, 25> kBusy = {30, 20, 13, 9,  8,  10, 18, 33,  50, 62, 70, 74, 78,
                                                 76, 72, 70, 72, 78, 86, 96, 100, 94, 76, 50, 30};

// Shares of events, in hundredths; the remainder changes baskets.
constexpr std::uint64_t kPages = 59;
constexpr std::uint64_t kRedirects = 15;
constexpr std::uint64_t kFetches = 25;
constexpr std::uint64_t kHundred = 100;
constexpr std::uint64_t kPagesPerVisit = 12;
constexpr double kBuyers = 0.05;
constexpr double kReturning = 0.2;
constexpr double kBought = 0.6;
constexpr double kRespelled = 0.25;
constexpr std::uint64_t kLinkEvents = 20;  // events per link

// Numbers of other pages follow those of the products.
enum OtherPage : std::uint8_t { home, basket_page, first_category };

std::uint64_t mean_gap(std::uint64_t events, std::uint64_t share) {
  return std::max<std::uint64_t>(1, kDayUs / std::max<std::uint64_t>(1, events * share / kHundred));
}

void append_other_path(std::uint64_t page, std::string& out) {
  switch (page) {
    case home: out += '/'; break;
    case basket_page: out += "/basket"; break;
    default:
      out += "/category/";
      out += kSections.at((page - first_category) % kSections.size()).view();
      break;
  }
}

}  // namespace

DayProfile::DayProfile() : begun_() {
  constexpr std::size_t kQuartersPerHour = 4;
  for (std::size_t quarter = 0; quarter < kQuarters; ++quarter) {
    const std::size_t hour = quarter / kQuartersPerHour;
    const std::size_t within = quarter % kQuartersPerHour;
    begun_.at(quarter + 1) =
        begun_.at(quarter) + kBusy.at(hour) * (kQuartersPerHour - within) + kBusy.at(hour + 1) * within;
  }
}

std::uint64_t DayProfile::moment_us(std::uint64_t even_us) const noexcept {
  const std::uint64_t begun = even_us * begun_.back();  // in units of the table, times the day
  const auto next = std::upper_bound(begun_.begin() + 1, begun_.end() - 1, begun / kDayUs);
  const auto quarter = static_cast<std::uint64_t>(next - begun_.begin()) - 1;
  const std::uint64_t before = *(next - 1) * kDayUs;
  return quarter * kQuarterUs + (begun - before) / (*next - *(next - 1)) / kQuarters;
}

TrafficDay::TrafficDay(const TrafficOptions& options, UrlGenerator frontier)
    : start_(options.start),
      products_(options.products),
      web_(options.hosts, options.rules, std::max<std::uint64_t>(1, options.events / kLinkEvents), options.seed),
      ranks_(options.products, 1.0),
      frontier_(std::move(frontier)),
      random_(mix(mix(options.seed) + 31)),
      shop_seed_(mix(mix(options.seed) + 32)),
      cookie_seed_(mix(mix(options.seed) + 33)),
      sale_product_(fastrange(mix(shop_seed_ + 1), options.products)),
      sale_start_us_(kEarliestSaleUs + fastrange(mix(shop_seed_ + 2), kSaleStarts) * kQuarterUs),
      visit_gap_us_(mean_gap(options.events, kPages) * kPagesPerVisit),
      redirect_gap_us_(mean_gap(options.events, kRedirects)),
      fetch_gap_us_(mean_gap(options.events, kFetches)) {
  even_visits_us_ = gap_us(visit_gap_us_);
  even_redirects_us_ = gap_us(redirect_gap_us_);
  const auto first = [this](Action action, std::uint64_t at_us) { plan({.action = action}, at_us); };
  first(Action::visit_begins, profile_.moment_us(std::min(even_visits_us_, kDayUs - 1)));
  first(Action::redirect, profile_.moment_us(std::min(even_redirects_us_, kDayUs - 1)));
  first(Action::fetch, gap_us(fetch_gap_us_));
}

std::uint64_t TrafficDay::gap_us(std::uint64_t mean_us) noexcept {
  return 1 + scale(mean_us, exponential_q32(random_));
}

void TrafficDay::plan(Pending pending, std::uint64_t at_us) {
  if (at_us < kDayUs) {
    pending.at_us = at_us;
    pending.order = orders_++;
    pending_.push(pending);
  }
}

bool TrafficDay::next(TrafficEvent& out) {
  while (!pending_.empty()) {
    const Pending pending = pending_.top();
    pending_.pop();
    out.who.clear();
    out.what.clear();
    out.items = 0;
    if (carry_out(pending, out)) {
      out.time = start_ + Duration(static_cast<std::int64_t>(pending.at_us));
      return true;
    }
  }
  return false;
}

bool TrafficDay::carry_out(const Pending& pending, TrafficEvent& out) {
  switch (pending.action) {
    case Action::visit_begins: begin_visit(pending); return false;
    case Action::page: view_page(pending, out); return true;
    case Action::redirect: follow_link(pending, out); return true;
    case Action::fetch: fetch(pending, out); return true;
    default: return change_basket(pending, out);
  }
}

void TrafficDay::begin_visit(const Pending& pending) {
  const bool is_known = shoppers_ > 0 && happens(kReturning, random_);
  const std::uint64_t shopper = is_known ? shoppers_ - log_uniform(shoppers_, random_) : shoppers_++;
  // A geometric number of pages, at least 1.
  constexpr std::uint64_t kTwiceTheMean = 2 * kPagesPerVisit - 1;
  const std::uint64_t more = (exponential_q32(random_) * kTwiceTheMean) >> 33;
  plan({.action = Action::page,
        .is_buyer = happens(kBuyers, random_),
        .pages_left = static_cast<std::uint32_t>(1 + more),
        .shopper = shopper},
       pending.at_us);
  even_visits_us_ += gap_us(visit_gap_us_);
  if (even_visits_us_ < kDayUs) {
    plan(pending, std::max(pending.at_us, profile_.moment_us(even_visits_us_)));
  }
}

void TrafficDay::view_page(const Pending& pending, TrafficEvent& out) {
  out.kind = TrafficKind::page;
  append_cookie(pending.shopper, out.who);
  const std::uint64_t draw = random_.next();
  constexpr std::array<std::uint8_t, 16> kOthers = {
      home, home, home, first_category, first_category, first_category, 0xFF, 0xFF,
      0xFF, 0xFF, 0xFF, 0xFF,           0xFF,           0xFF,           0xFF, 0xFF};
  const std::uint8_t other = pending.is_buyer && draw % 8 == 0 ? std::uint8_t{basket_page} : pick(kOthers, draw >> 8);
  if (other == 0xFF) {
    out.number = draw_product(pending.at_us);
    append_product_path(out.number, out.what);
  } else {
    const std::uint64_t page = other == first_category ? first_category + (draw >> 16) % kCategories : other;
    out.number = products_ + page;
    append_other_path(page, out.what);
  }
  go_on(pending, draw >> 62 == 0);
}

void TrafficDay::go_on(const Pending& visit, bool fills_basket) {
  Pending then = visit;
  then.pages_left -= 1;
  const std::uint64_t next_us = visit.at_us + gap_us(kMeanPauseUs);
  if (then.pages_left > 0) {
    plan(then, next_us);
  }
  if (visit.is_buyer && then.pages_left == 0) {
    then.action = happens(kBought, random_) ? Action::buy : Action::give_up;
    plan(then, then.action == Action::buy ? next_us : visit.at_us + kGivenUpUs);
  } else if (visit.is_buyer && fills_basket) {
    then.action = Action::fill;
    plan(then, visit.at_us + (next_us - visit.at_us) / 2);
  }
}

bool TrafficDay::change_basket(const Pending& pending, TrafficEvent& out) {
  const auto found = baskets_.find(pending.shopper);
  if (pending.action != Action::fill) {
    const bool is_newer = found != baskets_.end() && pending.action == Action::give_up &&
                          found->second.changed_us + kGivenUpUs > pending.at_us + kHourUs;
    if (found == baskets_.end() || is_newer) {
      return false;
    }
    baskets_.erase(found);
  } else if (found != baskets_.end()) {
    found->second = {.items = found->second.items + 1, .changed_us = pending.at_us};
    out.items = found->second.items;
  } else {
    baskets_.emplace(pending.shopper, Basket{.items = 1, .changed_us = pending.at_us});
    out.items = 1;
  }
  out.kind = TrafficKind::basket;
  out.number = pending.shopper;
  append_cookie(pending.shopper, out.who);
  return true;
}

void TrafficDay::follow_link(const Pending& pending, TrafficEvent& out) {
  out.kind = TrafficKind::redirect;
  out.number = web_.link(random_.next());
  web_.append_code(out.number, out.who);
  web_.append_target(out.number, out.what);
  even_redirects_us_ += gap_us(redirect_gap_us_);
  if (even_redirects_us_ < kDayUs) {
    plan(pending, std::max(pending.at_us, profile_.moment_us(even_redirects_us_)));
  }
}

void TrafficDay::fetch(const Pending& pending, TrafficEvent& out) {
  out.kind = TrafficKind::fetch;
  out.number = frontier_.next(out.what).number;
  if (happens(kRespelled, random_)) {
    out.what = respelled(out.what, random_.next());
  }
  plan(pending, pending.at_us + gap_us(fetch_gap_us_));
}

// A rank belongs to one product for a while, then to another; the times of change differ between ranks.
std::uint64_t TrafficDay::draw_product(std::uint64_t at_us) noexcept {
  const std::uint64_t draw = random_.next();
  const auto length_us = static_cast<std::uint64_t>(TrafficGenerator::kSaleLength.count());
  const bool is_sale = at_us >= sale_start_us_ && at_us < sale_start_us_ + length_us;
  constexpr std::uint64_t kHalf = 2;
  if (is_sale && mix(draw) % kHalf == 0) {
    return sale_product_;
  }
  const std::uint64_t seed = mix(shop_seed_ + mix(ranks_.rank(draw)));
  const std::uint64_t turn = (at_us + fastrange(seed, kRankHeldUs)) / kRankHeldUs;
  return fastrange(mix(seed + turn), products_);
}

// The number at the end makes products unique.
void TrafficDay::append_product_path(std::uint64_t product, std::string& out) const {
  const std::uint64_t draw = mix(shop_seed_ + mix(product));
  UrlText text;
  text.put(std::string_view("/product/"));
  text.put(pick(kWords, draw));
  text.put('-');
  text.put(pick(kWords, draw >> 8));
  text.put('-');
  text.put_number(product);
  out.append(text.view());
}

// Mixing is injective, so cookies are unique.
void TrafficDay::append_cookie(std::uint64_t shopper, std::string& out) const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::uint64_t cookie = mix(cookie_seed_ + shopper);
  for (unsigned shift = 64; shift > 0; shift -= 4) {
    out += kDigits[cookie >> (shift - 4) & 0xF];
  }
}

}  // namespace mankai::detail
