#include "lab/traffic/traffic_web.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "lab/traffic/draws.hpp"
#include "lab/traffic/log_text.hpp"
#include "lab/traffic/url_text.hpp"
#include "mankai/base/ascii.hpp"

namespace mankai::detail {
namespace {

constexpr double kLinkExponent = 0.9;
constexpr std::uint64_t kFirstLinkUrl = 100'000'000'000;  // beyond what a crawler reaches
constexpr std::uint64_t kSafeLinks = 64;  // the most popular links have been checked: none leads to a listed URL
// Ranks of hosts with many customers, some of whose pages are listed.
constexpr std::uint64_t kSharedHosts = 256;
constexpr std::array<std::string_view, 8> kBelow = {"www.", "cdn.", "login.", "m.", "a.b.", "img.", "", ""};

// Kinds of rules, in sixteenths.
constexpr std::uint64_t kRuleForms = 16;
constexpr std::uint64_t kPathOfBadHost = 4;
constexpr std::uint64_t kPathOfSharedHost = 1;

// Kinds of targets, in 64ths.
constexpr std::uint64_t kLinkForms = 64;
constexpr std::uint64_t kBelowRule = 3;
constexpr std::uint64_t kBesideRule = 3;

bool has_path(std::string_view rule) { return rule.contains('/'); }

char hexadecimal(unsigned value) { return "0123456789ABCDEF"[value & 0xF]; }

std::size_t host_begin(std::string_view url) { return url.find("://") + 3; }

std::size_t host_end(std::string_view url) { return std::min(url.find_first_of("/?", host_begin(url)), url.size()); }

// Percent-escapes a letter at or after `from`; without one the URL stays unchanged.
void escape_letter(std::size_t from, std::string& url) {
  const auto found = std::find_if(url.begin() + static_cast<std::ptrdiff_t>(from), url.end(), is_letter);
  if (found != url.end()) {
    const auto byte = static_cast<unsigned char>(*found);
    const std::array escape = {'%', hexadecimal(byte >> 4), hexadecimal(byte)};
    url.replace(static_cast<std::size_t>(found - url.begin()), 1, escape.data(), escape.size());
  }
}

void put_in_capitals(std::size_t end, std::string& url) {
  for (std::size_t i = 0; i < end; ++i) {
    url[i] = url[i] >= 'a' && url[i] <= 'z' ? static_cast<char>(url[i] - 'a' + 'A') : url[i];
  }
}

}  // namespace

TrafficWeb::TrafficWeb(std::uint64_t hosts, std::uint64_t rules, std::uint64_t links, std::uint64_t seed)
    : web_(hosts, 1.0, mix(seed + 21)),
      links_(links, kLinkExponent),
      hosts_(hosts),
      rules_(rules),
      rule_seed_(mix(mix(seed) + 22)),
      link_seed_(mix(mix(seed) + 23)) {}

void TrafficWeb::append_code(std::uint64_t link, std::string& out) const {
  constexpr std::string_view kLetters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  constexpr std::size_t kLength = 6;
  constexpr std::uint64_t kCodes = 56'800'235'584;  // 62^6
  constexpr std::uint64_t kStep = 35'103'478'099;   // coprime to kCodes, so codes of links differ
  std::uint64_t rest = (link * (kStep % kCodes) % kCodes + link_seed_ % kCodes) % kCodes;
  for (std::size_t i = 0; i < kLength; ++i) {
    out += kLetters[rest % kLetters.size()];
    rest /= kLetters.size();
  }
}

void TrafficWeb::append_target(std::uint64_t link, std::string& out) const {
  const std::uint64_t draw = mix(link_seed_ + mix(link));
  const std::uint64_t form = link < kSafeLinks ? kLinkForms : draw % kLinkForms;
  if (form < kBelowRule) {
    append_below_rule(mix(draw), out);
  } else if (form < kBelowRule + kBesideRule) {
    append_beside_rule(mix(draw), out);
  } else {
    web_.append_url(kFirstLinkUrl + link, out);
  }
}

std::uint64_t TrafficWeb::shared_host(std::uint64_t draw) const noexcept {
  return hosts_ < 2 * kSharedHosts ? fastrange(draw, hosts_) : kSharedHosts + fastrange(draw, kSharedHosts);
}

void TrafficWeb::append_rule(std::uint64_t number, std::string& out) const {
  Random random(rule_seed_ + mix(number));
  const std::uint64_t form = random.below(kRuleForms);
  const bool is_shared = form < kPathOfSharedHost;
  std::string host;
  // Ranks beyond the visited hosts, so that the names differ from theirs.
  web_.append_host(is_shared ? shared_host(random.next()) : hosts_ + number, host);
  constexpr std::string_view kUsual = "www.";
  out += host.starts_with(kUsual) && !is_shared ? std::string_view(host).substr(kUsual.size()) : host;
  if (form < kPathOfSharedHost + kPathOfBadHost) {
    out += '/';
    out += pick(kSections, random.next()).view();
    out += '/';
    out += pick(kWords, random.next()).view();
    out += '-';
    append_number(number, out);
  }
}

void TrafficWeb::append_below_rule(std::uint64_t draw, std::string& out) const {
  std::string rule;
  append_rule(fastrange(mix(draw + 1), rules_), rule);
  out += "https://";
  out += pick(kBelow, draw);
  out += rule;
  constexpr std::uint64_t kDeeper = 3;  // of 4; the others are the listed place itself
  if ((draw >> 8) % 4 < kDeeper) {
    out += '/';
    out += pick(kWords, draw >> 16).view();
    out += "/page.html?id=";
    append_number((draw >> 32) % 1000, out);
  } else if (!has_path(rule)) {
    out += '/';
  }
}

void TrafficWeb::append_beside_rule(std::uint64_t draw, std::string& out) const {
  std::string rule;
  append_rule(fastrange(mix(draw + 1), rules_), rule);
  out += has_path(rule) ? "https://" : "https://not";
  out += rule;
  out += has_path(rule) ? "x" : "/";
}

std::string respelled(std::string_view url, std::uint64_t draw) {
  std::string text(url);
  const std::size_t end = host_end(url);
  constexpr std::uint64_t kWays = 5;
  switch (draw % kWays) {
    case 0: put_in_capitals(end, text); break;
    case 1: text.insert(end, url.starts_with("https") ? ":443" : ":80"); break;
    case 2: text += "#top"; break;
    case 3: escape_letter(end, text); break;
    default: escape_letter(host_begin(url), text); break;
  }
  return text;
}

}  // namespace mankai::detail
