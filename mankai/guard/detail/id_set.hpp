#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>

#include "mankai/base/bits.hpp"

namespace mankai::detail {

/// Memory that glibc's allocator uses for a block; others may use up to a quarter more.
[[nodiscard]] constexpr std::size_t heap_bytes(std::size_t bytes) noexcept {
  constexpr std::size_t kOwnBytes = 8;
  constexpr std::size_t kStep = 16;
  return align_up(bytes + kOwnBytes, kStep);
}

/// A node of std::set: color, parent and two children before the value.
template <class Value>
inline constexpr std::size_t kTreeNodeBytes = heap_bytes(4 * sizeof(void*) + sizeof(Value));
/// A node of a std::unordered_map of numbers: the next pointer before the value.
template <class Value>
inline constexpr std::size_t kHashNodeBytes = heap_bytes(sizeof(void*) + sizeof(Value));

/// The heap memory of a string; short strings have none.
[[nodiscard]] inline std::size_t text_bytes(const std::string& text) noexcept {
  return text.capacity() > std::string().capacity() ? heap_bytes(text.capacity() + 1) : 0;
}

/// The ids that hold a rule; usually one. Each of several takes 48 bytes; there may be a million. Cost: O(log n).
class IdSet {
  using Tree = std::set<std::uint64_t>;

 public:
  /// Maximum growth by one insertion.
  static constexpr std::size_t kGrowthBytes = heap_bytes(sizeof(Tree)) + 2 * kTreeNodeBytes<std::uint64_t>;

  [[nodiscard]] bool is_empty() const noexcept { return !has_one_ && !more_; }
  [[nodiscard]] std::size_t size() const noexcept { return more_ ? more_->size() : std::size_t{has_one_}; }
  [[nodiscard]] bool contains(std::uint64_t id) const noexcept {
    return more_ ? more_->contains(id) : has_one_ && one_ == id;
  }
  /// Heap memory. Cost: O(1).
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    return more_ ? heap_bytes(sizeof(Tree)) + more_->size() * kTreeNodeBytes<std::uint64_t> : 0;
  }
  /// Calls use(id) in ascending order.
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

  /// Returns false if the id exists. On std::bad_alloc nothing changes.
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
  // Hints the end, because ids are read from bytes in order.
  static bool insert_into(Tree& tree, std::uint64_t id) {
    const std::size_t before = tree.size();
    tree.insert(tree.end(), id);
    return tree.size() != before;
  }

  std::unique_ptr<Tree> more_;  ///< if there are two or more
  std::uint64_t one_ = 0;
  bool has_one_ = false;
};

}  // namespace mankai::detail
