#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "mankai/guard/detail/rule_table.hpp"

namespace mankai::detail {

class Exceptions {
 public:
  /// Returns false if it exists. Errors: as RuleTable::insert.
  [[nodiscard]] Result<bool> insert(const GuardRule& rule, const RuleKey& key);
  bool erase(const GuardRule& rule, const RuleKey& key);

  [[nodiscard]] const RuleTable& table() const noexcept { return table_; }
  [[nodiscard]] const std::set<std::string, std::less<>>& texts() const noexcept { return texts_; }
  /// Heap memory. Cost: O(1).
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    return table_.memory_bytes() + texts_.size() * kTreeNodeBytes<std::string> + text_bytes_;
  }
  /// Maximum growth of memory_bytes by the next insertion, not counting its text.
  [[nodiscard]] std::size_t growth_bytes() const noexcept {
    return table_.growth_bytes() + kTreeNodeBytes<std::string>;
  }

  /// Each text after its length (u32), in sorted order.
  [[nodiscard]] std::vector<std::byte> to_bytes() const;
  /// Also converts the older form, with hosts as by `canonicalize`. Errors: corrupt, also for a text in neither form.
  [[nodiscard]] static Result<Exceptions> from_bytes(std::span<const std::byte> bytes, const Hasher& hasher);

 private:
  std::set<std::string, std::less<>> texts_;
  RuleTable table_;
  std::size_t text_bytes_ = 0;  ///< on the heap, outside the tree nodes
};

}  // namespace mankai::detail
