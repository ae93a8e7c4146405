// Any bytes as a URL, as an authority and as a path: an answer or an error that says why, the same answer when it is
// canonicalized again, or split again as browsers do, all readings different, the shortcut and the rules of one mind,
// views that make up the text, segments that join to it, ladders within their bounds. The same bytes as a public suffix
// list.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/url/browser_url.hpp"
#include "mankai/url/canonical_url.hpp"
#include "mankai/url/detail/canonicalizer.hpp"
#include "mankai/url/ladders.hpp"
#include "mankai/url/public_suffixes.hpp"
#include "mankai/url/readings.hpp"
#include "mankai/url/segments.hpp"

namespace mankai::url {
namespace {

void check_parts(const CanonicalUrl& url) {
  const std::string text(url.text());
  for (std::size_t i = 0; i < text.size(); ++i) {
    MANKAI_ASSERT(is_plain(text[i]) || (text[i] == '%' && i + 2 < text.size()));
  }
  MANKAI_ASSERT(std::string(url.scheme()).append("://").append(url.without_scheme()) == text);
  MANKAI_ASSERT(std::string(url.authority()).append(url.path()).append(url.query()) == url.without_scheme());
  MANKAI_ASSERT(!url.host().empty() && url.authority().starts_with(url.host()));
  MANKAI_ASSERT(url.path().starts_with('/') && url.path().find('?') == std::string_view::npos);
  MANKAI_ASSERT(url.path().find("//") == std::string_view::npos);
  MANKAI_ASSERT(url.query().empty() || url.query().starts_with('?'));
}

void check_same(const CanonicalUrl& a, const CanonicalUrl& b) {
  MANKAI_ASSERT(a.text() == b.text() && a.scheme() == b.scheme() && a.authority() == b.authority());
  MANKAI_ASSERT(a.host() == b.host() && a.path() == b.path() && a.query() == b.query() && a.is_ip() == b.is_ip());
}

void check_segments(const CanonicalUrl& url) {
  std::vector<std::string_view> segments;
  split_segments(url, segments);
  MANKAI_ASSERT(segments.size() >= 2 && segments.front() == url.authority());
  std::string joined;
  for (const std::string_view segment : segments) {
    joined.append(joined.empty() ? "" : "/").append(segment);
  }
  MANKAI_ASSERT(joined == url.without_scheme());
  std::vector<Digest> digests;
  prefix_digests(Hasher({}), segments, digests);
  MANKAI_ASSERT(digests.size() == segments.size());
}

void check_ladders(const CanonicalUrl& url) {
  for (const HostLadder ladder : {HostLadder::safe_browsing_v4, HostLadder::safe_browsing_v5, HostLadder::uncapped}) {
    std::vector<std::string_view> hosts;
    append_hosts(url, ladder, hosts);
    MANKAI_ASSERT(hosts.front() == url.host() && (!url.is_ip() || hosts.size() == 1));
    MANKAI_ASSERT(ladder == HostLadder::uncapped || hosts.size() <= kMaxSafeBrowsingHosts);
    for (std::size_t i = 1; i < hosts.size(); ++i) {
      MANKAI_ASSERT(!hosts[i].empty() && hosts[i].size() < url.host().size());
      MANKAI_ASSERT(url.host().ends_with(hosts[i]) && hosts[i].data()[-1] == '.');
    }
  }
  std::vector<std::string_view> paths;
  append_paths(url, PathLadder::uncapped, paths);
  const std::size_t all = paths.size();
  paths.clear();
  append_paths(url, PathLadder::safe_browsing, paths);
  MANKAI_ASSERT(paths.size() <= all && paths.size() <= kMaxSafeBrowsingPaths);
}

// Any bytes as a list of public suffixes: refused, or a list whose answers are suffixes of what it is asked.
void check_suffixes(std::string_view text) {
  static_cast<void>(PublicSuffixes::builtin().registrable_domain(text));
  const auto list = PublicSuffixes::from_bytes(text);
  if (!list) {
    MANKAI_ASSERT(list.error().code == ErrorCode::invalid_argument || list.error().code == ErrorCode::corrupt);
    return;
  }
  for (const std::string_view host : {std::string_view("www.example.co.uk"), text.substr(0, text.find('\n'))}) {
    MANKAI_ASSERT(host.ends_with(list->registrable_domain(host)));
  }
}

// The host is one that stays as it is, and the parts make up the text.
void check_browser_url(std::string_view raw, Deviations deviations) {
  BrowserUrl url;
  if (const auto parsed = parse_browser_url(raw, deviations, url); !parsed) {
    MANKAI_ASSERT(parsed.error().code == ErrorCode::invalid_argument && !parsed.error().detail.empty());
    MANKAI_ASSERT(url.text().empty() && url.host().empty() && url.path_and_query().empty());
    return;
  }
  MANKAI_ASSERT(!url.host().empty() && url.authority().starts_with(url.host()));
  MANKAI_ASSERT(url.path_and_query().starts_with('/'));
  MANKAI_ASSERT(std::string(url.scheme()).append("://").append(url.authority()).append(url.path_and_query()) ==
                url.text());
  BrowserUrl again;
  MANKAI_ASSERT(parse_browser_url(url.text(), deviations, again).has_value());
  MANKAI_ASSERT(again.authority() == url.authority() && again.scheme() == url.scheme() && !again.has_deviations());
}

// What is canonical is the first reading, and every other one differs from those before it.
void check_readings(std::string_view raw) {
  UrlReadings readings;
  readings.read(raw);
  const auto all = readings.all();
  const auto canonical = canonicalize(raw, UrlRules::safe_browsing);
  MANKAI_ASSERT(!canonical || (!all.empty() && all.front() == *canonical));
  MANKAI_ASSERT(!all.empty() || !readings.error().detail.empty());
  for (std::size_t i = 0; i < all.size(); ++i) {
    check_parts(all[i]);
    MANKAI_ASSERT(std::find(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i), all[i]) ==
                  all.begin() + static_cast<std::ptrdiff_t>(i));
  }
  BrowserUrl browser;
  if (parse_browser_url(raw, Deviations::kept, browser)) {
    if (const auto form = canonicalize(browser.text(), UrlRules::safe_browsing)) {
      MANKAI_ASSERT(std::find(all.begin(), all.end(), *form) != all.end());
    }
  }
}

void check_by(UrlRules rules, std::string_view raw) {
  CanonicalUrl url;
  const auto done = canonicalize(raw, url, rules);
  CanonicalUrl by_rules;
  MANKAI_ASSERT(Canonicalizer::rewrite(raw, by_rules, rules).has_value() == done.has_value());
  check_same(url, by_rules);
  if (!done) {
    MANKAI_ASSERT(done.error().code == ErrorCode::invalid_argument && !done.error().detail.empty());
    MANKAI_ASSERT(url.text().empty() && url.host().empty() && url.path().empty() && url.query().empty());
    return;
  }
  check_parts(url);
  check_same(url, canonicalize(url.text(), rules).value());
  check_segments(url);
  check_ladders(url);
}

void check(std::string_view raw) {
  check_by(UrlRules::safe_browsing, raw);
  check_by(UrlRules::keys, raw);
  check_browser_url(raw, Deviations::kept);
  check_browser_url(raw, Deviations::mapped);
  check_readings(raw);
}

}  // namespace
}  // namespace mankai::url

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  mankai::url::check(text);
  mankai::url::check("https://" + text);
  mankai::url::check("http://example.org/" + text);
  mankai::url::check_suffixes(text);
  return 0;
}
