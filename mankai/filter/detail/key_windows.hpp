#pragma once

/// Keys on their way to digests: made canonical where the filter says so, taken apart where they are paths, and hashed,
/// in windows, so that what is held is bounded.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "mankai/filter/parts/hash_windows.hpp"
#include "mankai/url/canonical_url.hpp"
#include "mankai/url/segments.hpp"

namespace mankai::detail {

using Keys = std::span<const std::string_view>;

/// Keys go through the URL rules in windows of so many.
inline constexpr std::size_t kUrlWindow = 512;

/// The rules by which a filter's URLs are made canonical. Opening refuses versions that are unknown; a filter of paths
/// that was created without the catalog has none, and has always been of the first.
template <class F>
url::UrlRules rules_of(const F& filter) noexcept {
  return url::url_rules(filter.canonical_version()).value_or(url::UrlRules::safe_browsing);
}

/// URLs in canonical form; what is no URL is taken as it is.
class CanonicalKeys {
 public:
  explicit CanonicalKeys(std::size_t most) : urls_(std::min(kUrlWindow, most)), keys_(urls_.size()) {}

  /// At most kUrlWindow keys; the result refers to this object until the next call.
  Keys of(Keys keys, url::UrlRules rules) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      keys_[i] = url::canonicalize(keys[i], urls_[i], rules) ? urls_[i].text() : keys[i];
    }
    return std::span(keys_).first(keys.size());
  }

 private:
  std::vector<url::CanonicalUrl> urls_;
  std::vector<std::string_view> keys_;
};

/// URLs taken apart: their segments, one URL after the other. What is no URL is a path of one segment, its bytes; a URL
/// has at least two.
class Paths {
 public:
  explicit Paths(std::size_t most) : urls_(std::min(kUrlWindow, most)) {}

  /// At most kUrlWindow keys. What is read stands, and refers to the keys, until the next call.
  void read(Keys keys, url::UrlRules rules) {
    segments_.clear();
    ends_.clear();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      append(keys[i], urls_[i], rules);
    }
  }
  [[nodiscard]] Keys segments() const noexcept { return segments_; }
  /// Where each key's segments end.
  [[nodiscard]] std::span<const std::uint32_t> ends() const noexcept { return ends_; }

 private:
  void append(std::string_view key, url::CanonicalUrl& url, url::UrlRules rules) {
    if (url::canonicalize(key, url, rules)) {
      url::split_segments(url, of_one_);
      segments_.insert(segments_.end(), of_one_.begin(), of_one_.end());
    } else {
      segments_.push_back(key);
    }
    ends_.push_back(static_cast<std::uint32_t>(segments_.size()));
  }

  std::vector<url::CanonicalUrl> urls_;
  std::vector<std::string_view> of_one_;
  std::vector<std::string_view> segments_;
  std::vector<std::uint32_t> ends_;
};

/// Calls `use(start, keys)` for window after window.
template <class Use>
void for_each_url_window(Keys keys, const Use& use) {
  for (std::size_t start = 0; start < keys.size(); start += kUrlWindow) {
    use(start, keys.subspan(start, std::min(kUrlWindow, keys.size() - start)));
  }
}

/// Calls `use(start, keys)` with the keys as they are hashed: all of them, or window after window in canonical form.
template <class F, class Use>
void for_each_key_window(const F& filter, Keys keys, const Use& use) {
  if (filter.canonical_version() == 0) {
    use(std::size_t{0}, keys);
    return;
  }
  CanonicalKeys canonical(keys.size());
  const url::UrlRules rules = rules_of(filter);
  for_each_url_window(keys, [&](std::size_t start, Keys window) { use(start, canonical.of(window, rules)); });
}

/// The same, hashed: calls `use(start, digests)`.
template <class F, class Use>
void for_each_digest_window(const F& filter, Keys keys, const Use& use) {
  for_each_key_window(filter, keys, [&](std::size_t start, Keys window) {
    for_each_hashed_window(filter.hasher(), window,
                           [&](std::size_t offset, std::span<const Digest> digests) { use(start + offset, digests); });
  });
}

/// One by one: calls `use(index, digest)`.
template <class F, class Use>
void for_each_digest(const F& filter, Keys keys, const Use& use) {
  for_each_digest_window(filter, keys, [&](std::size_t start, std::span<const Digest> digests) {
    for (std::size_t i = 0; i < digests.size(); ++i) {
      use(start + i, digests[i]);
    }
  });
}

}  // namespace mankai::detail
