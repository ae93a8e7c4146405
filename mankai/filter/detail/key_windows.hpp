#pragma once

/// Converts keys to digests in windows, which bound the memory: canonicalizes them if the filter does, splits paths,
/// and hashes.

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

inline constexpr std::size_t kUrlWindow = 512;

/// The rules that canonicalize a filter's URLs. Opening fails for unknown versions. A filter of paths that was not
/// created by the catalog stores version 0, and uses the first version.
template <class F>
url::UrlRules rules_of(const F& filter) noexcept {
  return url::url_rules(filter.canonical_version()).value_or(url::UrlRules::safe_browsing);
}

/// Canonical forms of URLs; other keys are unchanged.
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

/// The segments of URLs, one URL after the other. A URL has at least two; any other key is one segment.
class Paths {
 public:
  explicit Paths(std::size_t most) : urls_(std::min(kUrlWindow, most)) {}

  /// At most kUrlWindow keys. The results refer to this object and the keys until the next call.
  void read(Keys keys, url::UrlRules rules) {
    segments_.clear();
    ends_.clear();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      append(keys[i], urls_[i], rules);
    }
  }
  [[nodiscard]] Keys segments() const noexcept { return segments_; }
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

/// Calls `use(start, keys)` per window.
template <class Use>
void for_each_url_window(Keys keys, const Use& use) {
  for (std::size_t start = 0; start < keys.size(); start += kUrlWindow) {
    use(start, keys.subspan(start, std::min(kUrlWindow, keys.size() - start)));
  }
}

/// Calls `use(start, keys)` with the keys to hash: all of them at once, or per window if they are canonicalized.
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

/// As for_each_key_window, hashed: calls `use(start, digests)`.
template <class F, class Use>
void for_each_digest_window(const F& filter, Keys keys, const Use& use) {
  for_each_key_window(filter, keys, [&](std::size_t start, Keys window) {
    for_each_hashed_window(filter.hasher(), window,
                           [&](std::size_t offset, std::span<const Digest> digests) { use(start + offset, digests); });
  });
}

/// As for_each_key_window, one by one: calls `use(index, digest)`.
template <class F, class Use>
void for_each_digest(const F& filter, Keys keys, const Use& use) {
  for_each_digest_window(filter, keys, [&](std::size_t start, std::span<const Digest> digests) {
    for (std::size_t i = 0; i < digests.size(); ++i) {
      use(start + i, digests[i]);
    }
  });
}

}  // namespace mankai::detail
