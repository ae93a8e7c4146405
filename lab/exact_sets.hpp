#pragma once

/// Exact sets of keys: the baselines of sources, and the exact answers for the lab and tests. Threads: one at a time.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory_resource>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace mankai::baseline {

/// Members are named as those of filters: `observe` inserts the key and returns whether it was present.
template <class S>
concept ExactSet = std::movable<S> && requires(S set, const S asked, std::string_view key) {
  { set.insert(key) } -> std::same_as<void>;
  { set.observe(key) } -> std::same_as<bool>;
  { asked.contains(key) } -> std::same_as<bool>;
  { asked.size() } -> std::same_as<std::size_t>;
};

/// Compares with every key. Cost: O(keys) per lookup.
class LinearScan {
 public:
  void insert(std::string_view key) { observe(key); }
  bool observe(std::string_view key) {
    const bool is_known = contains(key);
    if (!is_known) {
      append(key);
    }
    return is_known;
  }
  /// Pre: the key is absent. Cost: O(1).
  void append(std::string_view key) { keys_.emplace_back(key); }
  [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }
  [[nodiscard]] bool contains(std::string_view key) const { return std::ranges::find(keys_, key) != keys_.end(); }

 private:
  std::vector<std::string> keys_;
};

/// Binary search in a sorted array. Cost: O(log keys) per lookup, O(keys) per insert.
class SortedArray {
 public:
  void insert(std::string_view key) { observe(key); }
  bool observe(std::string_view key) {
    const auto place = std::ranges::lower_bound(keys_, key);
    if (place != keys_.end() && *place == key) {
      return true;
    }
    keys_.emplace(place, key);
    return false;
  }
  [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }
  [[nodiscard]] bool contains(std::string_view key) const { return std::ranges::binary_search(keys_, key); }

 private:
  std::vector<std::string> keys_;
};

/// A hash set that owns its keys, allocated from `memory`, which must outlive it. Cost: O(1), about 100 bytes per key.
class HashSet {
 public:
  explicit HashSet(std::pmr::memory_resource* memory = std::pmr::get_default_resource()) : keys_(memory) {}

  void insert(std::string_view key) { keys_.emplace(key); }
  bool observe(std::string_view key) { return !keys_.emplace(key).second; }
  void erase(std::string_view key) {
    if (const auto found = keys_.find(key); found != keys_.end()) {
      keys_.erase(found);
    }
  }
  [[nodiscard]] bool contains(std::string_view key) const { return keys_.contains(key); }
  [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const noexcept { return std::hash<std::string_view>{}(key); }
  };

  std::pmr::unordered_set<std::pmr::string, Hash, std::equal_to<>> keys_;
};

static_assert(ExactSet<LinearScan>);
static_assert(ExactSet<SortedArray>);
static_assert(ExactSet<HashSet>);

}  // namespace mankai::baseline
