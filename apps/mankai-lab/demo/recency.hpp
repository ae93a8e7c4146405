#pragma once

/// Exact recency of keys, to compare with fading fingerprints.

#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mankai::command::demo {

/// The `most` distinct keys observed last.
class LastKeys {
 public:
  explicit LastKeys(std::uint64_t most) : most_(most) {}

  /// Returns whether the key was present, and makes it the newest.
  bool observe(std::string_view key) {
    const auto found = places_.find(std::string(key));
    if (found != places_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return true;
    }
    const auto made = places_.emplace(key, order_.end()).first;
    order_.push_front(&made->first);
    made->second = order_.begin();
    if (places_.size() > most_) {
      places_.erase(*order_.back());
      order_.pop_back();
    }
    return false;
  }

 private:
  using Order = std::list<const std::string*>;

  std::uint64_t most_;
  Order order_;  // newest first
  std::unordered_map<std::string, Order::iterator> places_;
};

/// Computes the age of keys, the number of distinct keys since their last occurrence. A Fenwick tree over the events
/// counts each key at its newest event.
class Ages {
 public:
  explicit Ages(std::size_t events) : sums_(events + 1), last_(events) {}

  /// Adds the next event, of key `number`. Returns 1 + the number of other keys since its last event; 0 for a new key.
  /// Pre: number < events.
  std::uint64_t next(std::uint64_t number) {
    ++now_;
    std::uint64_t age = 0;
    if (const std::uint64_t before = std::exchange(last_.at(number), now_); before > 0) {
      age = distinct_ - sum(before) + 1;
      add(before, false);
    } else {
      ++distinct_;
    }
    add(now_, true);
    return age;
  }

 private:
  void add(std::uint64_t at, bool is_there) {
    for (; at < sums_.size(); at += at & -at) {
      sums_[at] += is_there ? 1 : ~std::uint64_t{0};
    }
  }
  [[nodiscard]] std::uint64_t sum(std::uint64_t to) const {
    std::uint64_t keys = 0;
    for (; to > 0; to &= to - 1) {
      keys += sums_[to];
    }
    return keys;
  }

  std::vector<std::uint64_t> sums_;
  std::vector<std::uint64_t> last_;  // newest event per key, from 1
  std::uint64_t now_ = 0;
  std::uint64_t distinct_ = 0;
};

}  // namespace mankai::command::demo
