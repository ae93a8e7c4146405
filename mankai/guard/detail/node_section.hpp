#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mankai/base/bits.hpp"
#include "mankai/base/error.hpp"
#include "mankai/guard/detail/rule_table.hpp"
#include "mankai/guard/rule.hpp"

namespace mankai::detail {

/// Rules as bytes, sorted by digest: 16 bytes per node, and 12 per id other than 0. A view; the bytes must
/// outlive it. Threads: const calls are safe together.
///
///     nodes u64, ids u64 | digests u64[] | parents u32[] | infos u32[] | nodes of ids u32[], padding | ids u64[]
class NodeSection {
 public:
  NodeSection() noexcept = default;

  /// Checks every field. Errors: corrupt. Pre: aligned to 8.
  [[nodiscard]] static Result<NodeSection> from_bytes(std::span<const std::byte> bytes);
  /// Sets the address of the bytes after they were moved. Pre: the bytes are the same, or those of RuleNodes.
  void rebase(std::span<const std::byte> bytes) noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return digests_.size(); }
  [[nodiscard]] std::span<const Digest> digests() const noexcept { return digests_; }
  [[nodiscard]] Digest digest(std::size_t node) const noexcept { return digests_[node]; }
  [[nodiscard]] std::size_t parent(std::size_t node) const noexcept { return parents_[node]; }
  [[nodiscard]] NodeKind kind(std::size_t node) const noexcept { return static_cast<NodeKind>(infos_[node] & kKind); }
  [[nodiscard]] bool is_rule(std::size_t node) const noexcept { return (infos_[node] & kIsRule) != 0; }
  [[nodiscard]] std::uint32_t depth(std::size_t node) const noexcept { return infos_[node] >> kDepthShift; }
  /// Returns the ids of a rule; {0} if none are listed.
  [[nodiscard]] std::span<const std::uint64_t> ids(std::size_t rule) const noexcept;
  [[nodiscard]] RuleKey key_of(std::size_t rule) const noexcept;
  [[nodiscard]] std::size_t rule_count() const noexcept { return rule_count_; }

  /// Interpolation search. Cost: two or three cache lines, since digests are uniform.
  [[nodiscard]] std::optional<std::size_t> find(Digest digest) const noexcept;
  [[nodiscard]] bool has_rule(Digest digest) const noexcept {
    const auto node = find(digest);
    return node && is_rule(*node);
  }

 private:
  friend class RuleNodes;

  static constexpr std::uint32_t kKind = 7;
  static constexpr std::uint32_t kIsRule = 8;
  static constexpr std::uint32_t kListsIds = 16;
  static constexpr std::uint32_t kZero = 0xffe0;
  static constexpr unsigned kDepthShift = 16;

  [[nodiscard]] bool is_node_right(std::size_t node) const noexcept;
  [[nodiscard]] bool is_depth_right(std::size_t node) const noexcept;
  [[nodiscard]] bool are_ids_right() const noexcept;

  std::span<const Digest> digests_;
  std::span<const std::uint32_t> parents_;
  std::span<const std::uint32_t> infos_;
  std::span<const std::uint32_t> id_nodes_;
  std::span<const std::uint64_t> ids_;
  std::size_t rule_count_ = 0;
};

/// Collects rules for a NodeSection: 16 bytes per node, and 8 to 16 to find it. Rules cannot be removed.
class RuleNodes {
 public:
  void reserve(std::size_t nodes);

  /// Returns false if the rule exists; adds the id anyway. Errors: as RuleTable::insert.
  [[nodiscard]] Result<bool> insert(const RuleKey& key, std::uint64_t id);
  /// Asks for the memory that an insertion looks at first.
  void prefetch(const RuleKey& key) const noexcept {
    for (const Digest digest : {key.anchor, key.host, key.rule}) {
      prefetch_line(places_.data() + (places_.empty() ? 0 : digest.value & (places_.size() - 1)));
    }
  }

  [[nodiscard]] std::size_t rule_count() const noexcept { return rule_count_; }
  /// Cost: 100 ns per node. Frees the memory of the rules.
  [[nodiscard]] std::vector<std::byte> to_bytes() &&;

 private:
  struct Node {
    Digest digest;
    std::uint32_t parent;
    std::uint32_t info;  ///< as in the section, and kHeldByLists
  };
  struct HeldId {
    std::uint32_t node;
    std::uint64_t id;

    friend auto operator<=>(const HeldId&, const HeldId&) = default;
  };
  static constexpr std::uint32_t kHeldByLists = 32;  ///< has id 0, which `ids_` omits

  [[nodiscard]] std::size_t place_of(Digest digest) const noexcept;
  [[nodiscard]] std::vector<std::uint32_t> sorted() const;

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> places_;  ///< a hash table of indexes of nodes, from 1
  std::vector<HeldId> ids_;
  std::size_t rule_count_ = 0;
};

}  // namespace mankai::detail
