#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "mankai/guard/detail/rule_table.hpp"
#include "mankai/guard/rule.hpp"
#include "mankai/hash/path_mix.hpp"

namespace mankai::detail {

/// The parts of a canonical URL that a rule can name, as text and as digests, which are computed on first use. The
/// texts are views into the URL, which must outlive them until the next reset. Memory is reused.
class UrlKeys {
 public:
  void reset(const url::CanonicalUrl& url, const Hasher& hasher) noexcept;

  /// Number of labels of the host's anchor; 0 if no rule can name it.
  [[nodiscard]] std::size_t anchor_labels() const noexcept { return std::min(labels_, kAnchorLabels); }
  /// Number of suffixes of the host that a rule can name; 1 for an address. Suffixes longer than any rule are omitted.
  [[nodiscard]] std::size_t labels() noexcept {
    find_labels(kRuleLabelsMax);
    return labels_;
  }
  /// Whether the host's last labels look like an address, which is not a parent of this host.
  [[nodiscard]] bool is_address(std::size_t labels) noexcept { return labels == address_labels(); }
  /// The last labels of the host, 1 to labels(); an address counts as one.
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

  /// Number of segments of the path; a trailing '/' adds none.
  [[nodiscard]] std::size_t depth() {
    if (!is_split_) {
      split();
    }
    return segments_.size();
  }
  [[nodiscard]] Digest segment(std::size_t index) {
    while (segment_digests_.size() <= index) {
      segment_digests_.push_back((*hasher_)(segments_[segment_digests_.size()]));
    }
    return segment_digests_[index];
  }
  /// The first segments of the path, each with its slash.
  [[nodiscard]] std::string_view path_text(std::size_t segments) const noexcept {
    const std::string_view last = segments == 0 ? std::string_view() : segments_[segments - 1];
    return segments == 0 ? last : path_.substr(0, static_cast<std::size_t>(last.data() + last.size() - path_.data()));
  }

  /// With its '?'; empty if the query is missing or empty.
  [[nodiscard]] std::string_view query_text() const noexcept { return query_; }
  [[nodiscard]] Digest query() noexcept {
    if (!query_digest_) {
      query_digest_ = (*hasher_)(query_);
    }
    return *query_digest_;
  }

 private:
  void add_label(std::size_t begin) noexcept;
  /// Finds the last labels of the host, at most so many.
  void find_labels(std::size_t count) noexcept;
  /// How many last labels of a name look like an address; 0 if none do.
  [[nodiscard]] std::size_t address_labels() noexcept;
  void split();

  const Hasher* hasher_ = nullptr;
  std::string_view host_;
  std::string_view path_;
  std::string_view query_;
  bool is_ip_ = false;
  std::size_t labels_ = 0;  ///< found so far
  bool has_more_labels_ = false;
  std::array<std::size_t, kRuleLabelsMax> begins_{};
  std::array<Digest, kRuleLabelsMax> hosts_{};
  std::bitset<kRuleLabelsMax> is_hashed_;
  bool is_split_ = false;
  std::vector<std::string_view> segments_;
  std::vector<Digest> segment_digests_;
  std::optional<Digest> query_digest_;
};

/// The expression that is a rule: the host's last labels, the path's first segments, and optionally the query.
struct Match {
  std::size_t labels = 0;
  std::size_t segments = 0;
  bool has_query = false;
};

/// A table of rules: a RuleTable or a RuleBase. Lookups may return false positives, but no false negatives.
template <class Table>
concept RuleLookup = requires(const Table& table, Digest digest) {
  { table.find_host(digest) } -> std::same_as<const HostEntry*>;
  { table.find_leaf(digest) } -> std::same_as<bool>;
  { table.has_single_labels() } -> std::same_as<bool>;
  { table.host_depth_max() } -> std::same_as<std::size_t>;
  { table.path_depth_max() } -> std::same_as<std::size_t>;
};

/// Looks up the anchor, then what its masks name: hosts from the shortest on, and the paths of each from the shortest
/// on. `confirms(digest)` decides whether a lookup's result is a rule.
/// Cost: one lookup if the anchor is absent; else one per depth that is in the masks and in the URL.
template <RuleLookup Table, std::predicate<Digest> Confirms>
class Walk {
 public:
  Walk(UrlKeys& keys, const Table& table, const Confirms& confirms) noexcept
      : keys_(&keys), table_(&table), confirms_(&confirms) {}

  /// Returns whether a rule covers the URL; then `match` is the rule.
  [[nodiscard]] bool run() {
    const std::size_t anchor = keys_->anchor_labels();
    if (anchor > 1 && table_->has_single_labels() && !keys_->is_address(1) && matches_host(1)) {
      return true;
    }
    if (anchor == 0) {
      return false;
    }
    ++probes_;
    const HostEntry* const entry = table_->find_host(keys_->host(anchor));
    if (entry == nullptr) {
      return false;
    }
    if (matches(anchor, *entry)) {
      return true;
    }
    if (entry->host_mask == 0) {
      return false;
    }
    const std::size_t below = keys_->labels() - anchor;
    const std::size_t deepest_host = deepest(entry->host_mask, std::min(below, table_->host_depth_max()));
    for (std::size_t depth = 1; depth <= deepest_host; ++depth) {
      const std::size_t at = anchor + depth;
      if (has_depth(entry->host_mask, depth) && !keys_->is_address(at) && matches_host(at)) {
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] const Match& match() const noexcept { return match_; }
  [[nodiscard]] unsigned probes() const noexcept { return probes_; }

 private:
  bool matches_host(std::size_t labels) {
    ++probes_;
    const HostEntry* const entry = table_->find_host(keys_->host(labels));
    return entry != nullptr && matches(labels, *entry);
  }
  bool matches(std::size_t labels, const HostEntry& entry) {
    const Digest host = keys_->host(labels);
    if (entry.is_rule && (*confirms_)(host)) {
      match_ = {.labels = labels};
      return true;
    }
    return (entry.path_mask != 0 && matches_path(labels, host, entry.path_mask)) ||
           (entry.has_query && !keys_->query_text().empty() && matches_query(labels, host));
  }
  bool matches_path(std::size_t labels, Digest digest, DepthMask mask) {
    const std::size_t last = deepest(mask, std::min(keys_->depth(), table_->path_depth_max()));
    for (std::size_t depth = 1; depth <= last; ++depth) {
      digest = chain(digest, keys_->segment(depth - 1), depth);
      if (has_depth(mask, depth) && is_rule(digest)) {
        match_ = {.labels = labels, .segments = depth};
        return true;
      }
    }
    return false;
  }
  bool matches_query(std::size_t labels, Digest digest) {
    const std::size_t depth = keys_->depth();
    for (std::size_t i = 0; i < depth; ++i) {
      digest = chain(digest, keys_->segment(i), i + 1);
    }
    if (!is_rule(chain(digest, keys_->query(), kQueryLevel))) {
      return false;
    }
    match_ = {.labels = labels, .segments = depth, .has_query = true};
    return true;
  }
  bool is_rule(Digest leaf) {
    ++probes_;
    return table_->find_leaf(leaf) && (*confirms_)(leaf);
  }

  UrlKeys* keys_;
  const Table* table_;
  const Confirms* confirms_;
  Match match_{};
  unsigned probes_ = 0;
};

[[nodiscard]] inline std::optional<Match> find_exact(UrlKeys& keys, const RuleTable& table) {
  const auto always = [](Digest /*rule*/) { return true; };
  Walk walk(keys, table, always);
  return walk.run() ? std::optional(walk.match()) : std::nullopt;
}

}  // namespace mankai::detail
