#include "lab/traffic/traffic_generator.hpp"

#include <array>
#include <utility>

#include "lab/traffic/log_text.hpp"
#include "lab/traffic/random.hpp"
#include "lab/traffic/traffic_day.hpp"
#include "mankai/base/assert.hpp"

namespace mankai {
namespace {

constexpr std::uint64_t kThingsMax = 10'000'000;
constexpr std::uint64_t kFrontierMax = 1'000'000'000'000;
constexpr double kRepeatShare = 0.4;

bool is_from_to(std::uint64_t value, std::uint64_t smallest, std::uint64_t largest) {
  return smallest <= value && value <= largest;
}

const char* problem_of(const TrafficOptions& options) {
  if (!is_from_to(options.events, TrafficOptions::kEventsMin, TrafficOptions::kEventsMax)) {
    return "the number of events is out of range; give 1000 to 1e9";
  }
  if (options.start < Time() || options.start > detail::kLatestStart) {
    return "the start must be from 1970 to 2200";
  }
  if (!is_from_to(options.products, 1, kThingsMax)) {
    return "products must be from 1 to 10000000";
  }
  if (!is_from_to(options.rules, 1, kThingsMax)) {
    return "rules must be from 1 to 10000000";
  }
  if (!is_from_to(options.hosts, 1, kThingsMax)) {
    return "hosts must be from 1 to 10000000";
  }
  return nullptr;
}

std::string_view or_dash(std::string_view text) { return text.empty() ? std::string_view("-") : text; }

void append_tsv(const TrafficEvent& event, std::string& out) {
  detail::append_iso(event.time, out);
  out += '\t';
  out += name(event.kind);
  out += '\t';
  out += or_dash(event.who);
  out += '\t';
  if (event.kind == TrafficKind::basket) {
    detail::append_number(event.items, out);
  } else {
    out += event.what;
  }
}

// Generated text needs no escaping.
void append_json(const TrafficEvent& event, std::string& out) {
  const auto append_member = [&out](std::string_view key, std::string_view value) {
    out += ",\"";
    out += key;
    out += "\":\"";
    out += value;
    out += '"';
  };
  out += R"({"time":")";
  detail::append_iso(event.time, out);
  out += '"';
  append_member("event", name(event.kind));
  const bool is_shop = event.kind == TrafficKind::page || event.kind == TrafficKind::basket;
  if (event.kind != TrafficKind::fetch) {
    append_member(is_shop ? "cookie" : "code", event.who);
  }
  if (event.kind == TrafficKind::basket) {
    out += ",\"items\":";
    detail::append_number(event.items, out);
  } else {
    append_member(event.kind == TrafficKind::page ? "path" : "url", event.what);
  }
  out += '}';
}

// Addresses are derived from cookies and codes, within a network reserved for examples.
void append_address(std::string_view who, std::string& out) {
  std::uint64_t draw = 0;
  for (const char byte : who) {
    draw = detail::mix(draw + static_cast<unsigned char>(byte));
  }
  constexpr std::uint64_t kByte = 256;
  out += "10.";
  detail::append_number(draw % kByte, out);
  out += '.';
  detail::append_number((draw >> 8) % kByte, out);
  out += '.';
  detail::append_number((draw >> 16) % kByte, out);
}

void append_combined(const TrafficEvent& event, std::string& out) {
  const bool is_page = event.kind == TrafficKind::page;
  append_address(event.who, out);
  out += " - ";
  out += is_page ? std::string_view(event.who) : std::string_view("-");
  out += " [";
  detail::append_log_time(event.time, out);
  out += is_page ? "] \"GET " : "] \"GET /r/";
  out += is_page ? event.what : event.who;
  out += is_page ? " HTTP/1.1\" 200 4096 \"-\" \"-\"" : " HTTP/1.1\" 302 0 \"-\" \"-\"";
}

}  // namespace

std::string_view name(TrafficKind kind) noexcept {
  constexpr std::array<std::string_view, kTrafficKinds> kNames = {"page", "basket", "redirect", "fetch"};
  return kNames.at(static_cast<std::size_t>(kind));
}

bool append_line(const TrafficEvent& event, TrafficFormat format, std::string& out) {
  switch (format) {
    case TrafficFormat::tsv: append_tsv(event, out); return true;
    case TrafficFormat::json: append_json(event, out); return true;
    default: break;
  }
  if (event.kind != TrafficKind::page && event.kind != TrafficKind::redirect) {
    return false;
  }
  append_combined(event, out);
  return true;
}

TrafficGenerator::TrafficGenerator(std::unique_ptr<detail::TrafficDay> day) noexcept : day_(std::move(day)) {}
TrafficGenerator::TrafficGenerator(TrafficGenerator&& other) noexcept = default;
TrafficGenerator& TrafficGenerator::operator=(TrafficGenerator&& other) noexcept = default;
TrafficGenerator::~TrafficGenerator() = default;

Result<TrafficGenerator> TrafficGenerator::create(const TrafficOptions& options) {
  if (const char* const problem = problem_of(options); problem != nullptr) {
    return fail(ErrorCode::invalid_argument, problem);
  }
  MANKAI_ASSIGN(auto frontier, UrlGenerator::create({.count = kFrontierMax,
                                                     .hosts = options.hosts,
                                                     .repeat_share = kRepeatShare,
                                                     .seed = detail::mix(options.seed + 1)}));
  return TrafficGenerator(std::make_unique<detail::TrafficDay>(options, std::move(frontier)));
}

bool TrafficGenerator::next(TrafficEvent& out) { return day_->next(out); }

void TrafficGenerator::append_rule(std::uint64_t number, std::string& out) const {
  MANKAI_ASSERT(number < kThingsMax);
  day_->web().append_rule(number, out);
}

void TrafficGenerator::append_sale_path(std::string& out) const {
  day_->append_product_path(day_->sale_product(), out);
}

Time TrafficGenerator::sale_start() const noexcept {
  return day_->start() + Duration(static_cast<std::int64_t>(day_->sale_start_us()));
}

}  // namespace mankai
