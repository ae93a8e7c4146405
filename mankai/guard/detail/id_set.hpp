#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <set>

#include "mankai/guard/detail/heap_bytes.hpp"

namespace mankai::detail {

/// The ids that hold a rule: nearly always one, which takes no memory of its own. Many take 48 bytes each: a rule may
/// have a million, and they come in any order.
///
/// Cost: O(log n) a change and a look.
class IdSet {
  using Tree = std::set<std::uint64_t>;

 public:
  /// The most that an insertion takes.
  static constexpr std::size_t kGrowthBytes = heap_bytes(sizeof(Tree)) + 2 * kTreeNodeBytes<std::uint64_t>;

  [[nodiscard]] bool is_empty() const noexcept { return !has_one_ && !more_; }
  [[nodiscard]] std::size_t size() const noexcept { return more_ ? more_->size() : std::size_t{has_one_}; }
  [[nodiscard]] bool contains(std::uint64_t id) const noexcept {
    return more_ ? more_->contains(id) : has_one_ && one_ == id;
  }
  /// Beside the object itself. Cost: O(1).
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    return more_ ? heap_bytes(sizeof(Tree)) + more_->size() * kTreeNodeBytes<std::uint64_t> : 0;
  }
  /// Calls use(id) in rising order.
  template <class Use>
  void for_each(const Use& use) const {
    if (!more_) {
      if (has_one_) {
        use(one_);
      }
      return;
    }
    for (const std::uint64_t id : *more_) {
      use(id);
    }
  }

  /// Returns false when it was there. Errors: std::bad_alloc, after which nothing has changed.
  bool insert(std::uint64_t id) {
    if (is_empty()) {
      one_ = id;
      has_one_ = true;
      return true;
    }
    if (more_) {
      return insert_into(*more_, id);
    }
    if (one_ == id) {
      return false;
    }
    more_ = std::make_unique<Tree>(std::initializer_list<std::uint64_t>{one_, id});
    has_one_ = false;
    return true;
  }
  /// Returns false when it was not there.
  bool erase(std::uint64_t id) noexcept {
    if (!contains(id)) {
      return false;
    }
    if (!more_) {
      has_one_ = false;
      return true;
    }
    more_->erase(id);
    if (more_->size() == 1) {
      one_ = *more_->begin();
      has_one_ = true;
      more_.reset();
    }
    return true;
  }
  void clear() noexcept {
    has_one_ = false;
    more_.reset();
  }

 private:
  // Ids that are read from bytes come in order.
  static bool insert_into(Tree& tree, std::uint64_t id) {
    const std::size_t before = tree.size();
    tree.insert(tree.end(), id);
    return tree.size() != before;
  }

  std::unique_ptr<Tree> more_;  ///< where there are two or more
  std::uint64_t one_ = 0;
  bool has_one_ = false;
};

}  // namespace mankai::detail
