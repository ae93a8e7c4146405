#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/guard/detail/id_set.hpp"
#include "mankai/guard/rule.hpp"

namespace mankai::detail {

/// The kind of a node. The values are part of the format.
enum class NodeKind : std::uint8_t {
  single = 0,  ///< a host of one label; its own anchor
  anchor = 1,  ///< a host of two labels, or an address
  host = 2,    ///< a host below its anchor
  path = 3,
  query = 4,
};
inline constexpr std::uint32_t kNodeKinds = 5;

[[nodiscard]] constexpr bool is_anchor(NodeKind kind) noexcept { return kind <= NodeKind::anchor; }
[[nodiscard]] constexpr bool is_host(NodeKind kind) noexcept { return kind <= NodeKind::host; }

/// A mask has a bit per depth from 1 on; the last bit stands for that depth and all deeper ones.
inline constexpr unsigned kMaskBits = 16;
using DepthMask = std::uint16_t;

[[nodiscard]] constexpr DepthMask mask_of(std::uint32_t depth) noexcept {
  return static_cast<DepthMask>(1U << (std::min<std::uint32_t>(depth, kMaskBits) - 1));
}
[[nodiscard]] constexpr bool has_depth(DepthMask mask, std::size_t depth) noexcept {
  return (mask >> (std::min<std::size_t>(depth, kMaskBits) - 1) & 1U) != 0;
}
/// Returns the deepest depth in the mask, at most `limit`; 0 if the mask is empty.
[[nodiscard]] constexpr std::size_t deepest(DepthMask mask, std::size_t limit) noexcept {
  const auto width = static_cast<std::size_t>(std::bit_width(mask));
  return width == kMaskBits ? limit : std::min(width, limit);
}

/// What may exist at a host and below it.
struct HostEntry {
  bool is_rule = false;     ///< the host itself is a rule
  bool has_query = false;   ///< rules with a query, at any path
  DepthMask host_mask = 0;  ///< hosts below an anchor
  DepthMask path_mask = 0;  ///< rules with a path at this host

  /// Adds a node below the host; an anchor is below none.
  constexpr void add(NodeKind child, std::uint32_t depth) noexcept {
    switch (child) {
      case NodeKind::host: host_mask |= mask_of(depth); return;
      case NodeKind::path: path_mask |= mask_of(depth); return;
      case NodeKind::query: has_query = true; return;
      case NodeKind::single:
      case NodeKind::anchor: return;
    }
  }

  friend auto operator<=>(const HostEntry&, const HostEntry&) = default;
};

/// Maximum depth of rules in a base; deeper ones stay in the overlay, where they do not slow down other lookups.
inline constexpr std::uint16_t kBaseDepthMax = 32;

/// Whether a rule cannot be in a base. A deeper rule would widen the values of all rules. A rule of one label would
/// cost a lookup per URL, whose false positive would cover a whole top-level domain.
[[nodiscard]] constexpr bool stays_exact(const RuleKey& key) noexcept {
  return key.is_single_label || key.host_depth > kBaseDepthMax || key.path_depth > kBaseDepthMax;
}

/// The error of a rule whose digest another one has.
[[nodiscard]] std::unexpected<Error> collision();

/// A node on the way to a rule.
struct RuleLink {
  Digest digest{};
  Digest parent{};          ///< a path's host, a host's anchor; an anchor's own
  std::uint16_t depth = 0;  ///< segments of a path, or of a query's path; a host's labels before its anchor
  NodeKind kind = NodeKind::anchor;
};

/// The nodes of a rule: anchor, host if it is not the anchor, rule if it is not the host.
class RuleChain {
 public:
  static constexpr std::size_t kLinksMax = 3;

  explicit RuleChain(const RuleKey& key) noexcept;

  [[nodiscard]] std::span<const RuleLink> links() const noexcept { return std::span(links_).first(count_); }

 private:
  std::array<RuleLink, kLinksMax> links_;
  std::size_t count_ = 0;
};

/// A hash table of rules, each with the ids that hold it, and of the hosts and anchors above them. After removals a
/// node's masks may have extra depths, which cost lookups, but never lack one. Cost: one or two cache lines per lookup;
/// about 100 bytes per rule. Threads: const calls are safe together.
class RuleTable {
 public:
  struct Node {
    Digest digest{};
    Digest parent{};
    IdSet ids;  ///< of the rule, if it is one
    std::uint32_t children = 0;
    std::uint16_t depth = 0;
    NodeKind kind = NodeKind::anchor;
    bool is_used = false;
    HostEntry entry;  ///< of hosts

    [[nodiscard]] bool is_rule() const noexcept { return !ids.is_empty(); }
  };

  /// Returns false if this id already holds the rule. Errors: corrupt if another rule has the same digest, which
  /// requires another seed; then nothing changes.
  [[nodiscard]] Result<bool> insert(const RuleKey& key, std::uint64_t id);
  bool erase(Digest rule, std::optional<std::uint64_t> id);

  [[nodiscard]] const Node* find(Digest digest) const noexcept {
    if (nodes_.empty()) {
      return nullptr;
    }
    const Node& node = nodes_[place_of(digest)];
    return node.is_used ? &node : nullptr;
  }
  [[nodiscard]] bool has_rule(Digest digest) const noexcept {
    const Node* node = find(digest);
    return node != nullptr && node->is_rule();
  }
  [[nodiscard]] const HostEntry* find_host(Digest digest) const noexcept {
    const Node* node = find(digest);
    return node != nullptr && is_host(node->kind) ? &node->entry : nullptr;
  }
  [[nodiscard]] bool find_leaf(Digest digest) const noexcept { return has_rule(digest); }
  [[nodiscard]] static std::size_t host_depth_max() noexcept { return kRuleLabelsMax; }
  [[nodiscard]] static std::size_t path_depth_max() noexcept { return kRuleBytesMax; }
  [[nodiscard]] RuleKey key_of(const Node& rule) const noexcept;

  [[nodiscard]] std::size_t rule_count() const noexcept { return rule_count_; }
  /// Number of rules that cannot be in a base.
  [[nodiscard]] std::size_t exact_count() const noexcept { return exact_count_; }
  [[nodiscard]] std::size_t node_count() const noexcept { return node_count_; }
  [[nodiscard]] bool is_empty() const noexcept { return rule_count_ == 0; }
  [[nodiscard]] bool has_single_labels() const noexcept { return single_count_ != 0; }
  /// Heap memory, including ids. Cost: O(1).
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return nodes_.capacity() * sizeof(Node) + id_bytes_; }
  /// Maximum growth of memory_bytes by the next insertion: the table doubles its size.
  [[nodiscard]] std::size_t growth_bytes() const noexcept {
    return (places_for(RuleChain::kLinksMax) - nodes_.size()) * sizeof(Node) + IdSet::kGrowthBytes;
  }

  template <class Use>
  void for_each(const Use& use) const {
    for (const Node& node : nodes_) {
      if (node.is_used) {
        use(node);
      }
    }
  }

 private:
  /// Returns where a digest is or would be. Pre: the table is not full.
  [[nodiscard]] std::size_t place_of(Digest digest) const noexcept;
  [[nodiscard]] const Node& at(Digest digest) const noexcept { return nodes_[place_of(digest)]; }
  [[nodiscard]] Node& at(Digest digest) noexcept { return nodes_[place_of(digest)]; }
  [[nodiscard]] bool is_free_for(const RuleLink& like) const noexcept;
  Node& put(const RuleLink& like);
  void note_child(Digest parent, const Node& child);
  void drop_if_unused(Digest digest);
  void vacate(std::size_t place);
  void make_room(std::size_t more);
  [[nodiscard]] std::size_t places_for(std::size_t more) const noexcept;

  std::vector<Node> nodes_;
  std::size_t node_count_ = 0;
  std::size_t rule_count_ = 0;
  std::size_t exact_count_ = 0;
  std::size_t single_count_ = 0;
  std::size_t id_bytes_ = 0;
};

}  // namespace mankai::detail
