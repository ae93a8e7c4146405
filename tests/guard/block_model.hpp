#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>

#include "mankai/url/canonical_url.hpp"

namespace mankai::test {

/// What rules say, kept as texts: a set of "host/path?query", and a loop over all that a URL can be called by. Shares
/// nothing with the guard but the canonical form of URLs.
class BlockModel {
 public:
  /// Returns false for what is no rule, or was there.
  bool insert(std::string_view rule) {
    return url::canonicalize(rule, url_, url::UrlRules::safe_browsing).has_value() &&
           texts_.insert(text_of_url()).second;
  }
  bool erase(std::string_view rule) {
    return url::canonicalize(rule, url_, url::UrlRules::safe_browsing).has_value() && texts_.erase(text_of_url()) != 0;
  }
  /// Whether this text, in canonical form, is a rule.
  [[nodiscard]] bool has(std::string_view text) const { return texts_.contains(std::string(text)); }

  /// Whether a rule covers the URL. Pre: it is one.
  [[nodiscard]] bool covers(std::string_view raw) {
    static_cast<void>(url::canonicalize(raw, url_, url::UrlRules::safe_browsing));
    std::string_view host = url_.host();
    while (!covers_at(host)) {
      const std::size_t dot = host.find('.');
      if (url_.is_ip() || dot == std::string_view::npos) {
        return false;
      }
      host.remove_prefix(dot + 1);
    }
    return true;
  }

  [[nodiscard]] std::size_t size() const noexcept { return texts_.size(); }

 private:
  static std::string_view without_slash(std::string_view path) {
    return path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
  }
  [[nodiscard]] std::string_view query() const { return url_.query() == "?" ? std::string_view() : url_.query(); }

  [[nodiscard]] std::string text_of_url() const {
    return std::string(url_.host()).append(without_slash(url_.path())).append(query());
  }

  [[nodiscard]] bool covers_at(std::string_view host) {
    text_.assign(host);
    if (texts_.contains(text_)) {
      return true;
    }
    const std::string_view path = without_slash(url_.path());
    for (std::size_t end = 0; end < path.size();) {
      end = std::min(path.find('/', end + 1), path.size());
      text_.assign(host).append(path.substr(0, end));
      if (texts_.contains(text_)) {
        return true;
      }
    }
    return !query().empty() && texts_.contains(text_.assign(host).append(path).append(query()));
  }

  std::unordered_set<std::string> texts_;
  url::CanonicalUrl url_;
  std::string text_;
};

}  // namespace mankai::test
