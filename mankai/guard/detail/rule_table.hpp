#pragma once

/// What tables of rules are made of, in memory and in bytes.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/guard/detail/id_set.hpp"
#include "mankai/guard/rule.hpp"

namespace mankai::detail {

/// What a node stands for. The values are part of the format.
enum class NodeKind : std::uint8_t {
  single = 0,  ///< a host that is a name of one label; its own anchor
  anchor = 1,  ///< a host of two labels, or an address
  host = 2,    ///< a host below its anchor
  path = 3,
  query = 4,
};
inline constexpr std::uint32_t kNodeKinds = 5;

[[nodiscard]] constexpr bool is_anchor(NodeKind kind) noexcept { return kind <= NodeKind::anchor; }
[[nodiscard]] constexpr bool is_host(NodeKind kind) noexcept { return kind <= NodeKind::host; }

/// A mask has a bit for each depth from 1 on; the last one stands for that depth and all deeper ones.
inline constexpr unsigned kMaskBits = 16;
using DepthMask = std::uint16_t;

[[nodiscard]] constexpr DepthMask mask_of(std::uint32_t depth) noexcept {
  return static_cast<DepthMask>(1U << (std::min<std::uint32_t>(depth, kMaskBits) - 1));
}
[[nodiscard]] constexpr bool has_depth(DepthMask mask, std::size_t depth) noexcept {
  return (mask >> (std::min<std::size_t>(depth, kMaskBits) - 1) & 1U) != 0;
}
/// The deepest of at most so many depths that a mask may name; 0 when it names none of them.
[[nodiscard]] constexpr std::size_t deepest(DepthMask mask, std::size_t limit) noexcept {
  const auto width = static_cast<std::size_t>(std::bit_width(mask));
  return width == kMaskBits ? limit : std::min(width, limit);
}

/// What there may be at a host and below it.
struct HostEntry {
  bool is_rule = false;     ///< the host itself
  bool has_query = false;   ///< rules with a query, at any path
  DepthMask host_mask = 0;  ///< hosts below an anchor
  DepthMask path_mask = 0;  ///< rules with a path at this host

  friend auto operator<=>(const HostEntry&, const HostEntry&) = default;
};

/// Deepest rules of a base; deeper ones stay in the overlay, where they do not slow down other lookups.
inline constexpr std::uint16_t kBaseDepthMax = 32;

/// Whether a rule cannot be in a base. A deeper one would widen the values of all rules; one of one label would cost a
/// lookup per URL, whose false positive would cover a whole top-level domain.
[[nodiscard]] constexpr bool stays_exact(const RuleKey& key) noexcept {
  return key.is_single_label || key.host_depth > kBaseDepthMax || key.path_depth > kBaseDepthMax;
}

/// A hash table of rules, each with the ids that hold it, and of the hosts and anchors above them.
///
/// A node's masks name every depth that was ever below it, until nothing is below it: after removals they may name too
/// many depths, which costs a lookup, but never too few.
///
/// Cost:    one or two cache lines per lookup; about 100 bytes per rule.
/// Threads: const calls are safe together.
class RuleTable {
 public:
  /// Most nodes of a rule: anchor, host, path.
  static constexpr std::size_t kChainMax = 3;

  struct Node {
    Digest digest{};
    Digest parent{};  ///< a path's host, a host's anchor; its own for an anchor
    IdSet ids;        ///< of the rule, if it is one
    std::uint32_t children = 0;
    std::uint16_t depth = 0;  ///< a path's segments, also of a query's path; a host's labels before its anchor
    NodeKind kind = NodeKind::anchor;
    bool is_used = false;
    HostEntry below;  ///< of hosts, without is_rule

    [[nodiscard]] bool is_rule() const noexcept { return !ids.is_empty(); }
    [[nodiscard]] HostEntry entry() const noexcept {
      HostEntry entry = below;
      entry.is_rule = is_rule();
      return entry;
    }
  };

  /// Reserves room. Copying from another table in its order needs it, to avoid long probe sequences.
  void reserve(std::size_t nodes) { make_room(nodes); }

  /// Returns false if this id holds the rule already. Errors: corrupt if another rule has the same digest, which needs
  /// another seed; then nothing has changed.
  [[nodiscard]] Result<bool> insert(const RuleKey& key, std::uint64_t id);
  /// Removes one id of a rule, or all of them. Returns whether there was one.
  bool erase(Digest rule, std::optional<std::uint64_t> id);

  /// Null when there is none.
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
  [[nodiscard]] std::optional<HostEntry> find_host(Digest digest) const noexcept {
    const Node* node = find(digest);
    return node != nullptr && is_host(node->kind) ? std::optional(node->entry()) : std::nullopt;
  }
  [[nodiscard]] bool find_leaf(Digest digest) const noexcept { return has_rule(digest); }
  [[nodiscard]] static std::size_t host_depth_max() noexcept { return kRuleLabelsMax; }
  [[nodiscard]] static std::size_t path_depth_max() noexcept { return kRuleBytesMax; }
  /// The key by which a node that is a rule was inserted.
  [[nodiscard]] RuleKey key_of(const Node& rule) const noexcept;

  [[nodiscard]] std::size_t rule_count() const noexcept { return rule_count_; }
  /// Of the rules, those that no base has.
  [[nodiscard]] std::size_t exact_count() const noexcept { return exact_count_; }
  [[nodiscard]] std::size_t node_count() const noexcept { return node_count_; }
  [[nodiscard]] bool is_empty() const noexcept { return rule_count_ == 0; }
  /// Whether there are names of one label.
  [[nodiscard]] bool has_single_labels() const noexcept { return single_count_ != 0; }
  /// What it takes from the heap, ids included. Cost: O(1).
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return nodes_.capacity() * sizeof(Node) + id_bytes_; }
  /// Largest growth of memory_bytes by the next insertion: the table doubles its size.
  [[nodiscard]] std::size_t growth_bytes() const noexcept {
    return (places_for(kChainMax) - nodes_.size()) * sizeof(Node) + IdSet::kGrowthBytes;
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
  /// Where a digest is, or would be. Pre: there is room.
  [[nodiscard]] std::size_t place_of(Digest digest) const noexcept;
  [[nodiscard]] const Node& at(Digest digest) const noexcept { return nodes_[place_of(digest)]; }
  [[nodiscard]] Node& at(Digest digest) noexcept { return nodes_[place_of(digest)]; }
  [[nodiscard]] bool is_free_for(const Node& like) const noexcept;
  Node& put(const Node& like);
  void note_child(Digest parent, const Node& child);
  void drop_if_unused(Digest digest);
  void vacate(std::size_t place);
  void make_room(std::size_t more);
  /// How many places there must be for so many nodes more.
  [[nodiscard]] std::size_t places_for(std::size_t more) const noexcept;

  std::vector<Node> nodes_;
  std::size_t node_count_ = 0;
  std::size_t rule_count_ = 0;
  std::size_t exact_count_ = 0;
  std::size_t single_count_ = 0;
  std::size_t id_bytes_ = 0;
};

}  // namespace mankai::detail
