#include "lab/traffic/log_traffic.hpp"

#include <algorithm>
#include <array>

#include "lab/traffic/draws.hpp"
#include "lab/traffic/log_text.hpp"
#include "lab/traffic/url_text.hpp"

namespace mankai::detail {
namespace {

// The tables encode frequencies by repetition. Each length is a power of two, so a few bits choose.

constexpr std::array<unsigned, 64> kStatuses = {
    200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200,
    200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200,
    200, 200, 200, 200, 200, 200, 200, 206, 301, 302, 304, 304, 304, 304, 304, 403, 404, 404, 404, 500};
constexpr std::array<std::string_view, 32> kMethods = {
    "GET", "GET", "GET", "GET", "GET", "GET", "GET", "GET", "GET", "GET", "GET", "GET",  "GET",  "GET",  "GET",  "GET",
    "GET", "GET", "GET", "GET", "GET", "GET", "GET", "GET", "GET", "GET", "GET", "POST", "POST", "HEAD", "HEAD", "GET"};
constexpr std::array<std::string_view, 16> kAgents = {
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/119.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 "
    "Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.2 "
    "Safari/605.1.15",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.2 "
    "Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/119.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:121.0) Gecko/20100101 Firefox/121.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36 "
    "Edg/120.0.0.0",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
    "Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.6 Mobile/15E148 "
    "Safari/604.1",
    "curl/8.4.0",
    "python-requests/2.31.0",
    "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0"};
constexpr std::array<std::string_view, 8> kReferrers = {
    "https://www.google.com/", "https://www.google.com/", "https://www.google.com/", "https://www.bing.com/",
    "https://duckduckgo.com/", "https://t.co/",           "https://www.reddit.com/", "https://news.ycombinator.com/"};
constexpr std::array<std::string_view, 8> kQueries = {
    "page=2", "page=3", "lang=en", "ref=home", "sort=price", "utm_source=newsletter", "print=1", "q=mankai"};
constexpr std::array<std::string_view, 8> kExtensions = {"", "", "", "/", ".html", ".html", ".png", ".css"};
constexpr double kClientExponent = 0.8;
constexpr std::uint64_t kSites = 8;
constexpr unsigned kClientBits = 24;

}  // namespace

LogTraffic::LogTraffic(const LogGeneratorOptions& options)
    : options_(options),
      ranks_(options.paths, options.zipf_exponent),
      clients_(options.clients, kClientExponent),
      random_(mix(mix(options.seed) + 11)),
      drift_seed_(mix(mix(options.seed) + 12)),
      path_seed_(mix(mix(options.seed) + 13)),
      client_seed_(mix(mix(options.seed) + 14)),
      mean_gap_ns_(static_cast<std::uint64_t>(1e9 / options.rate)) {}

void LogTraffic::next(Request& out) {
  elapsed_ns_ += scale(mean_gap_ns_, exponential_q32(random_));
  out.path = path_of_rank(ranks_.rank(random_.next()));
  out.client = clients_.rank(random_.next());
  const std::uint64_t kind = random_.next();
  constexpr std::uint64_t kTenth = 10;
  out.method = pick(kMethods, kind);
  out.status = pick(kStatuses, kind >> 8);
  out.query = random_.below(kTenth) == 0 ? pick(kQueries, kind >> 16) : std::string_view();
  out.agent = pick(kAgents, mix(client_seed_ + out.client) >> 32);
  // Most sizes are between 256 bytes and 64 KiB, equally many per octave; those of one path are similar.
  const std::uint64_t octave = 8 + (mix(path_seed_ + out.path) >> 61);
  out.bytes = out.status == 304 ? 0 : (std::uint64_t{1} << octave) + random_.below(std::uint64_t{1} << octave);
  draw_referrer(out);
  out.time = options_.start + std::chrono::floor<Duration>(std::chrono::nanoseconds(elapsed_ns_));
  out.is_late = happens(options_.late_share, random_);
  if (out.is_late) {
    const auto most = static_cast<std::uint64_t>(options_.late_by.count());
    out.time = std::max(Time(), out.time - Duration(static_cast<std::int64_t>(1 + random_.below(most))));
  }
}

void LogTraffic::draw_referrer(Request& out) {
  out.referrer.clear();
  const std::uint64_t uniform = random_.next();
  switch (uniform >> 62) {
    case 0: out.referrer = pick(kReferrers, uniform); break;
    case 1: {
      const std::uint64_t from = fastrange(mix(uniform), options_.paths);
      out.referrer = "https://";
      append_host(from, out.referrer);
      append_path(from, out.referrer);
      break;
    }
    default: break;
  }
}

// A rank belongs to one path for the length of the drift, then to another; the times of change differ between ranks.
std::uint64_t LogTraffic::path_of_rank(std::uint64_t rank) const noexcept {
  const std::uint64_t seed = mix(drift_seed_ + mix(rank));
  std::uint64_t turn = 0;
  if (options_.drift > Duration::zero()) {
    const auto period = static_cast<std::uint64_t>(options_.drift.count());
    constexpr std::uint64_t kNanosecondsPerMicrosecond = 1000;
    turn = (elapsed_ns_ / kNanosecondsPerMicrosecond + fastrange(seed, period)) / period;
  }
  return fastrange(mix(seed + turn), options_.paths);
}

// The number at the end makes paths unique.
void LogTraffic::append_path(std::uint64_t path, std::string& out) const {
  Random random(mix(path_seed_ + mix(path)));
  UrlText text;
  text.put('/');
  text.put(pick(kSections, random.next()));
  text.put('/');
  const std::uint64_t uniform = random.next();
  if (uniform >> 63 != 0) {
    text.put(pick(kWords, uniform));
    text.put('/');
  }
  text.put(pick(kWords, uniform >> 8));
  text.put('-');
  text.put(pick(kWords, uniform >> 16));
  text.put('-');
  text.put_number(path);
  text.put(pick(kExtensions, uniform >> 24));
  out.append(text.view());
}

void LogTraffic::append_host(std::uint64_t path, std::string& out) const {
  const std::uint64_t seed = mix(path_seed_ + path % kSites);
  UrlText text;
  text.put(std::string_view("www."));
  text.put(pick(kWords, seed));
  text.put(pick(kWords, seed >> 8));
  text.put(std::string_view(".example"));
  out.append(text.view());
}

void LogTraffic::append_client(std::uint64_t client, std::string& out) const {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << kClientBits) - 1;
  constexpr std::uint64_t kByte = 0xFF;
  constexpr unsigned kIpv6Share = 8;
  const std::uint64_t address = (client * (client_seed_ | 1) + mix(client_seed_)) & kMask;  // injective
  if (mix(client_seed_ + client) % kIpv6Share == 0) {
    out += "2001:db8::";
    append_number(address >> 8, out, 16);
    out += ':';
    append_number(address & kByte, out, 16);
    return;
  }
  out += "10.";
  append_number(address >> 16, out);
  out += '.';
  append_number(address >> 8 & kByte, out);
  out += '.';
  append_number(address & kByte, out);
}

}  // namespace mankai::detail
