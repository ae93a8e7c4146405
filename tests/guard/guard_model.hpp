#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/guard/rule.hpp"
#include "mankai/url/readings.hpp"

namespace mankai::test {

/// A rule or a URL taken apart, in the plainest way.
struct UrlParts {
  std::vector<std::string> labels;  ///< of an address: the address, which has no hosts below it
  std::vector<std::string> segments;
  std::string query;
  bool is_address = false;
  friend auto operator<=>(const UrlParts&, const UrlParts&) = default;
};

inline std::vector<std::string> split_at(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

inline UrlParts url_parts(const url::CanonicalUrl& url) {
  UrlParts parts;
  parts.labels = url.is_ip() ? std::vector{std::string(url.host())} : split_at(url.host(), '.');
  parts.segments = split_at(url.path().substr(1), '/');
  if (parts.segments.back().empty()) {
    parts.segments.pop_back();
  }
  parts.query = url.query() == "?" ? "" : url.query();
  parts.is_address = url.is_ip();
  return parts;
}

inline std::vector<UrlParts> parts_of(std::span<const url::CanonicalUrl> urls) {
  std::vector<UrlParts> parts;
  std::ranges::transform(urls, std::back_inserter(parts), url_parts);
  return parts;
}

/// Nothing for what is no URL.
inline std::vector<UrlParts> url_readings(std::string_view text) {
  url::UrlReadings readings;
  readings.read(text);
  return parts_of(readings.all());
}

/// Those that rules can cover.
inline std::vector<UrlParts> nameable_readings(std::string_view text) {
  url::UrlReadings readings;
  readings.read(text);
  return parts_of(readings.nameable());
}

/// Whether a rule covers a URL: the meaning, without any hash.
inline bool covers(const UrlParts& rule, const UrlParts& url) {
  if (rule.is_address != url.is_address) {
    return false;
  }
  const bool is_below = rule.labels.size() <= url.labels.size() &&
                        std::equal(rule.labels.rbegin(), rule.labels.rend(), url.labels.rbegin());
  if (!is_below) {
    return false;
  }
  if (!rule.query.empty()) {
    return rule.segments == url.segments && rule.query == url.query;
  }
  return rule.segments.size() <= url.segments.size() &&
         std::equal(rule.segments.begin(), rule.segments.end(), url.segments.begin());
}

/// Pre: it is a rule.
inline UrlParts rule_parts(std::string_view text) {
  return url_parts(
      url::canonicalize("http://" + GuardRule::parse(text).value().text(), url::UrlRules::safe_browsing).value());
}

/// What a guard must answer, by looking at every rule.
class GuardModel {
 public:
  bool add(std::string_view rule, std::uint64_t id) { return rules_[rule_parts(rule)].insert(id).second; }
  /// Whether it was there.
  bool remove(std::string_view rule, std::optional<std::uint64_t> id) {
    const auto found = rules_.find(rule_parts(rule));
    if (found == rules_.end() || (id && found->second.erase(*id) == 0)) {
      return false;
    }
    if (!id || found->second.empty()) {
      rules_.erase(found);
    }
    return true;
  }
  bool holds(std::string_view rule) const { return rules_.contains(rule_parts(rule)); }
  bool allow(std::string_view rule) { return exceptions_.insert(rule_parts(rule)).second; }
  bool disallow(std::string_view rule) { return exceptions_.erase(rule_parts(rule)) != 0; }
  bool excepts(std::string_view rule) const { return exceptions_.contains(rule_parts(rule)); }

  /// Whether a rule covers any reading of the URL.
  bool is_covered(std::string_view text) const {
    return std::ranges::any_of(url_readings(text), [&](const UrlParts& url) {
      return std::ranges::any_of(rules_, [&](const auto& rule) { return covers(rule.first, url); });
    });
  }
  /// Whether exceptions cover all of its readings.
  bool is_excepted(std::string_view text) const {
    return std::ranges::all_of(nameable_readings(text), [&](const UrlParts& url) {
      return std::ranges::any_of(exceptions_, [&](const UrlParts& rule) { return covers(rule, url); });
    });
  }
  std::size_t rule_count() const { return rules_.size(); }

 private:
  std::map<UrlParts, std::set<std::uint64_t>> rules_;
  std::set<UrlParts> exceptions_;
};

}  // namespace mankai::test
