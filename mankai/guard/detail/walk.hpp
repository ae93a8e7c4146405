#pragma once

/// From a URL to the first rule that covers it: the same way through every kind of table.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>

#include "mankai/guard/detail/labels.hpp"
#include "mankai/guard/detail/node_section.hpp"
#include "mankai/guard/detail/rule_base.hpp"
#include "mankai/guard/detail/rule_nodes.hpp"
#include "mankai/guard/detail/rule_table.hpp"
#include "mankai/guard/detail/tombstones.hpp"
#include "mankai/guard/detail/url_keys.hpp"

namespace mankai::detail {

/// The expression that is a rule: the host's last labels, the path's first segments, and the query or not.
struct Match {
  std::size_t labels = 0;
  std::size_t segments = 0;
  bool has_query = false;
};

/// A table to look in. Both looks may take what is not there for something that is, and never the other way round;
/// `confirms` has the last word on what they found to be a rule.
template <class Table>
concept RuleSource = requires(const Table& table, Digest digest) {
  { table.find_host(digest) } -> std::same_as<std::optional<HostEntry>>;
  { table.find_leaf(digest) } -> std::same_as<bool>;
  { table.confirms(digest) } -> std::same_as<bool>;
  { table.has_single_labels() } -> std::same_as<bool>;
  { table.host_depth_max() } -> std::same_as<std::size_t>;
  { table.path_depth_max() } -> std::same_as<std::size_t>;
};

/// Looks for the anchor, and where it is there for what its masks name: hosts from the shortest on, and at each its
/// paths from the shortest on.
///
/// Cost:    a host whose anchor is not there is one look; else one for each depth that the masks name and the URL has.
template <RuleSource Source>
class Walk {
 public:
  Walk(UrlKeys& keys, const Source& source) noexcept : keys_(&keys), source_(&source) {}

  [[nodiscard]] std::optional<Match> run() {
    const std::size_t labels = keys_->labels();
    if (labels > 1 && source_->has_single_labels() && !keys_->is_address(1) && look_at_host(1)) {
      return match_;
    }
    const std::size_t anchor = std::min(labels, kAnchorLabels);
    if (anchor == 0) {
      return std::nullopt;
    }
    const auto entry = find_host(anchor);
    if (!entry) {
      return std::nullopt;
    }
    if (matches(anchor, *entry)) {
      return match_;
    }
    const std::size_t deepest_host = deepest(entry->host_mask, std::min(labels - anchor, source_->host_depth_max()));
    for (std::size_t depth = 1; depth <= deepest_host; ++depth) {
      const std::size_t at = anchor + depth;
      if (has_depth(entry->host_mask, depth) && !keys_->is_address(at) && look_at_host(at)) {
        return match_;
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] unsigned probes() const noexcept { return probes_; }

 private:
  std::optional<HostEntry> find_host(std::size_t labels) {
    ++probes_;
    return source_->find_host(keys_->host(labels));
  }
  bool look_at_host(std::size_t labels) {
    const auto entry = find_host(labels);
    return entry && matches(labels, *entry);
  }
  bool matches(std::size_t labels, const HostEntry& entry) {
    const Digest host = keys_->host(labels);
    if (entry.is_rule && source_->confirms(host)) {
      match_ = {.labels = labels};
      return true;
    }
    return (entry.path_mask != 0 && matches_path(labels, host, entry.path_mask)) ||
           (entry.has_query && !keys_->query_text().empty() && matches_query(labels, host));
  }
  bool matches_path(std::size_t labels, Digest digest, DepthMask mask) {
    const std::size_t last = deepest(mask, std::min(keys_->depth(), source_->path_depth_max()));
    for (std::size_t depth = 1; depth <= last; ++depth) {
      digest = chain(digest, keys_->segment(depth - 1), depth);
      if (has_depth(mask, depth) && is_leaf(digest)) {
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
    if (!is_leaf(chain(digest, keys_->query(), kQueryLevel))) {
      return false;
    }
    match_ = {.labels = labels, .segments = depth, .has_query = true};
    return true;
  }
  bool is_leaf(Digest digest) {
    ++probes_;
    return source_->find_leaf(digest) && source_->confirms(digest);
  }

  UrlKeys* keys_;
  const Source* source_;
  Match match_{};
  unsigned probes_ = 0;
};

/// The exact table as a source.
class TableSource {
 public:
  explicit TableSource(const RuleTable& table) noexcept : table_(&table) {}

  [[nodiscard]] std::optional<HostEntry> find_host(Digest digest) const noexcept {
    const RuleTable::Node* node = table_->find(digest);
    if (node == nullptr || !is_host(node->kind)) {
      return std::nullopt;
    }
    HostEntry entry = node->below;
    entry.is_rule = node->is_rule();
    return entry;
  }
  [[nodiscard]] bool find_leaf(Digest digest) const noexcept { return table_->has_rule(digest); }
  [[nodiscard]] static bool confirms(Digest /*rule*/) noexcept { return true; }
  [[nodiscard]] bool has_single_labels() const noexcept { return table_->has_single_labels(); }
  [[nodiscard]] static std::size_t host_depth_max() noexcept { return kRuleLabelsMax; }
  [[nodiscard]] static std::size_t path_depth_max() noexcept { return kRuleBytesMax; }

 private:
  const RuleTable* table_;
};

/// The base as a source: what was removed is no rule, and where the digests of its rules are given, they decide.
class BaseSource {
 public:
  BaseSource(const RuleBase& base, const Tombstones& tombstones, const NodeSection* rules) noexcept
      : base_(&base), tombstones_(&tombstones), rules_(rules) {}

  [[nodiscard]] std::optional<HostEntry> find_host(Digest digest) const noexcept { return base_->find_host(digest); }
  [[nodiscard]] bool find_leaf(Digest digest) const noexcept { return base_->find_leaf(digest); }
  [[nodiscard]] bool confirms(Digest rule) const noexcept {
    return (tombstones_->is_empty() || !tombstones_->is_dead(rule)) && (rules_ == nullptr || rules_->has_rule(rule));
  }
  [[nodiscard]] static bool has_single_labels() noexcept { return false; }
  [[nodiscard]] std::size_t host_depth_max() const noexcept { return base_->header().host_depth_max; }
  [[nodiscard]] std::size_t path_depth_max() const noexcept { return base_->header().path_depth_max; }

 private:
  const RuleBase* base_;
  const Tombstones* tombstones_;
  const NodeSection* rules_;
};

}  // namespace mankai::detail
