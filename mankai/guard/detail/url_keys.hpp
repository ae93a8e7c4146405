#pragma once

/// The digests of everything that a rule about a URL can be called by, each computed when it is first asked for.

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "mankai/guard/rule.hpp"
#include "mankai/hash/path_mix.hpp"

namespace mankai::detail {

/// Views into a canonical URL, which outlives them until the next reset. Memory is kept from URL to URL.
class UrlKeys {
 public:
  /// Takes another URL. Cost: one look over the host's dots.
  void reset(const url::CanonicalUrl& url, const Hasher& hasher) noexcept;

  /// How many suffixes of the host rules can name; 1 for an address. Longer ones than any rule's are left out.
  [[nodiscard]] std::size_t labels() const noexcept { return labels_; }
  /// Whether the host's last labels spell an address, and so are no host above this one.
  [[nodiscard]] bool is_address(std::size_t labels) const noexcept { return labels == address_labels_; }
  /// The host's last labels, 1 to labels(); an address is one.
  [[nodiscard]] std::string_view host_text(std::size_t labels) const noexcept {
    return host_.substr(begins_[labels - 1]);
  }
  [[nodiscard]] Digest host(std::size_t labels) noexcept {
    if (!is_hashed_[labels - 1]) {
      hosts_[labels - 1] = (*hasher_)(host_text(labels));
      is_hashed_.set(labels - 1);
    }
    return hosts_[labels - 1];
  }

  /// Segments of the path; a last '/' adds none.
  [[nodiscard]] std::size_t depth() {
    if (!is_split_) {
      split();
    }
    return segments_.size();
  }
  /// The path's segment 0 to depth() - 1.
  [[nodiscard]] Digest segment(std::size_t index) {
    while (segment_digests_.size() <= index) {
      segment_digests_.push_back((*hasher_)(segments_[segment_digests_.size()]));
    }
    return segment_digests_[index];
  }
  /// The path's first segments, with the slash before each.
  [[nodiscard]] std::string_view path_text(std::size_t segments) const noexcept {
    const std::string_view last = segments == 0 ? std::string_view() : segments_[segments - 1];
    return segments == 0 ? last : path_.substr(0, static_cast<std::size_t>(last.data() + last.size() - path_.data()));
  }

  /// With its '?'; empty where there is none, or nothing in it.
  [[nodiscard]] std::string_view query_text() const noexcept { return query_; }
  [[nodiscard]] Digest query() noexcept {
    if (!query_digest_) {
      query_digest_ = (*hasher_)(query_);
    }
    return *query_digest_;
  }

 private:
  void find_labels(std::string_view host) noexcept;
  void find_address() noexcept;
  void split();

  const Hasher* hasher_ = nullptr;
  std::string_view host_;
  std::string_view path_;
  std::string_view query_;
  std::size_t labels_ = 0;
  std::size_t address_labels_ = 0;  ///< of a name that ends like an address; else 0
  /// Where the last 1, 2, ... labels begin.
  std::array<std::size_t, kRuleLabelsMax> begins_{};
  std::array<Digest, kRuleLabelsMax> hosts_{};
  std::bitset<kRuleLabelsMax> is_hashed_;
  bool is_split_ = false;
  std::vector<std::string_view> segments_;
  std::vector<Digest> segment_digests_;
  std::optional<Digest> query_digest_;
};

}  // namespace mankai::detail
