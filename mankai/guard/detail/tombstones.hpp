#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/guard/detail/id_set.hpp"
#include "mankai/hash/digest.hpp"

namespace mankai::detail {

/// Ids that were removed from rules of the base. A rule without ids is dead. Threads: const calls are safe together.
class Tombstones {
 public:
  [[nodiscard]] bool is_empty() const noexcept { return rules_.empty(); }
  [[nodiscard]] bool is_dead(Digest rule) const noexcept {
    const auto found = rules_.find(rule.value);
    return found != rules_.end() && found->second.is_dead;
  }
  [[nodiscard]] bool has(Digest rule, std::uint64_t id) const noexcept {
    const auto found = rules_.find(rule.value);
    return found != rules_.end() && found->second.taken.contains(id);
  }
  [[nodiscard]] std::size_t dead_count() const noexcept { return dead_count_; }
  /// Heap memory. Cost: O(1).
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    return rules_.bucket_count() * sizeof(void*) + rules_.size() * kHashNodeBytes<Rules::value_type> + id_bytes_;
  }

  /// Removes an id of a rule that has `base_ids` ids in the base. Returns false if it was already removed.
  bool take(Digest rule, std::uint64_t id, std::size_t base_ids);
  /// Restores an id. Returns false if it was not removed.
  bool give_back(Digest rule, std::uint64_t id);

  [[nodiscard]] std::vector<std::byte> to_bytes() const;
  struct Taken {
    std::uint64_t rule;
    std::uint64_t id;
    friend auto operator<=>(const Taken&, const Taken&) = default;
  };
  [[nodiscard]] static Result<std::vector<Taken>> read(std::span<const std::byte> bytes);

 private:
  struct Entry {
    IdSet taken;
    bool is_dead = false;
  };

  using Rules = std::unordered_map<std::uint64_t, Entry>;

  Rules rules_;
  std::size_t dead_count_ = 0;
  std::size_t id_bytes_ = 0;
};

}  // namespace mankai::detail
