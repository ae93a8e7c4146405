#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "mankai/guard/detail/rule_table.hpp"

namespace mankai::detail {

/// What is never blocked: the texts, and a table to look them up in.
class Exceptions {
 public:
  /// Returns false when it was there. Errors: as RuleTable's.
  [[nodiscard]] Result<bool> insert(const GuardRule& rule, const RuleKey& key);
  bool erase(const GuardRule& rule, const RuleKey& key);

  [[nodiscard]] const RuleTable& table() const noexcept { return table_; }
  [[nodiscard]] const std::set<std::string, std::less<>>& texts() const noexcept { return texts_; }
  /// What they take from the heap. Cost: O(1).
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    return table_.memory_bytes() + texts_.size() * kTreeNodeBytes<std::string> + text_bytes_;
  }
  /// The most by which the next insertion makes that grow, but for its text.
  [[nodiscard]] std::size_t growth_bytes() const noexcept {
    return table_.growth_bytes() + kTreeNodeBytes<std::string>;
  }

  /// Each text behind its length (u32), in sorted order.
  [[nodiscard]] std::vector<std::byte> to_bytes() const;
  /// Texts of the older form, in which rules had the host of `canonicalize`, become what they are today.
  /// Errors: corrupt, also for a text that is in neither canonical form.
  [[nodiscard]] static Result<Exceptions> from_bytes(std::span<const std::byte> bytes, const Hasher& hasher);

 private:
  std::set<std::string, std::less<>> texts_;
  RuleTable table_;
  std::size_t text_bytes_ = 0;  ///< on the heap beside the nodes
};

}  // namespace mankai::detail
