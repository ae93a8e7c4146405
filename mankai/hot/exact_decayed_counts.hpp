#pragma once

/// Exact decayed counts, to compare with sketches.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory_resource>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mankai/base/time.hpp"

namespace mankai {

/// Computes Σ λ^age over the events of each key, with ages in ticks; events may arrive in any order. A count is stored
/// as of its newest event and scaled when it is read, so that the passing of time costs nothing.
///
/// Cost:    O(1) per call, and about 100 bytes per key.
/// Errors:  counts are doubles, exact to 15 digits.
/// Threads: one at a time.
class ExactDecayedCounts {
 public:
  /// The key is valid as long as the counts are.
  struct Entry {
    std::string_view key;
    double count = 0;
  };

  /// Pre: 0 <= lambda <= 1; the resource outlives the counts.
  explicit ExactDecayedCounts(double lambda, std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : lambda_(lambda), counts_(memory) {}

  /// `at` may be before the events of earlier calls.
  void insert(std::string_view key, Tick at) {
    auto found = counts_.find(key);
    if (found == counts_.end()) {
      found = counts_.emplace(key, Count{.value = 0, .at = at}).first;
    }
    Count& count = found->second;
    if (at > count.at) {
      count.value *= weight(at.value - count.at.value);
      count.at = at;
    }
    count.value += weight(count.at.value - at.value);
  }

  /// Pre: `now` is not before the key's events.
  [[nodiscard]] double estimate(std::string_view key, Tick now) const {
    const auto found = counts_.find(key);
    return found == counts_.end() ? 0 : value_at(found->second, now);
  }

  /// Returns at most `most` keys with the highest counts, ties by bytes.
  [[nodiscard]] std::vector<Entry> top(std::size_t most, Tick now) const {
    std::vector<Entry> entries;
    entries.reserve(counts_.size());
    for (const auto& [key, count] : counts_) {
      entries.push_back({.key = key, .count = value_at(count, now)});
    }
    const auto kept = entries.begin() + static_cast<std::ptrdiff_t>(std::min(most, entries.size()));
    std::partial_sort(entries.begin(), kept, entries.end(), [](const Entry& a, const Entry& b) {
      return a.count > b.count || (a.count == b.count && a.key < b.key);
    });
    entries.erase(kept, entries.end());
    return entries;
  }

  [[nodiscard]] std::size_t size() const noexcept { return counts_.size(); }

 private:
  struct Count {
    double value;
    Tick at;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const noexcept { return std::hash<std::string_view>{}(key); }
  };

  [[nodiscard]] double weight(std::uint64_t age) const noexcept {
    return age == 0 ? 1 : std::pow(lambda_, static_cast<double>(age));
  }
  [[nodiscard]] double value_at(const Count& count, Tick now) const noexcept {
    return count.value * weight(now > count.at ? now.value - count.at.value : 0);
  }

  double lambda_;
  std::pmr::unordered_map<std::pmr::string, Count, Hash, std::equal_to<>> counts_;
};

}  // namespace mankai
