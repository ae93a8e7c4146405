#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mankai/base/assert.hpp"

namespace mankai::lab::forgetting {

/// What an entry of an LRU of 32-bit events takes where nothing is wasted: the event, and two links of the list, a link
/// of the chain and a chain's head of 16 bits each, as do for up to 65 535 entries.
inline constexpr double kTightEntryBytes = 4 + 4 * 2;
/// And as one writes it down: a node of std::list with event and two pointers, one of std::unordered_map with event,
/// iterator and pointer, each with 8 bytes of the allocator's, and a bucket.
inline constexpr double kUsualEntryBytes = 32 + 32 + 8;

/// An exact LRU of events that are numbered from 0: knows the last `capacity` different ones. Which bytes it would take
/// is said above; here its links are an array over all numbers.
class Lru {
 public:
  /// Pre: capacity > 0.
  Lru(std::size_t capacity, std::size_t numbers)
      : capacity_(capacity), ends_(static_cast<std::uint32_t>(numbers)), links_(numbers + 1) {
    MANKAI_ASSERT(capacity > 0);
    links_[ends_] = {.newer = ends_, .older = ends_};
  }
  /// Returns whether the event is known, and makes it the newest.
  bool observe(std::uint32_t event) {
    MANKAI_ASSERT(event < ends_);
    const bool was_known = links_[event].is_known;
    if (was_known) {
      take_out(event);
    } else if (size_ == capacity_) {
      take_out(links_[ends_].newer);
    }
    put_first(event);
    return was_known;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  struct Links {
    std::uint32_t newer = 0;
    std::uint32_t older = 0;
    bool is_known = false;
  };

  void take_out(std::uint32_t event) noexcept {
    Links& links = links_[event];
    links_[links.newer].older = links.older;
    links_[links.older].newer = links.newer;
    links.is_known = false;
    --size_;
  }
  void put_first(std::uint32_t event) noexcept {
    Links& ends = links_[ends_];
    links_[event] = {.newer = ends_, .older = ends.older, .is_known = true};
    links_[ends.older].newer = event;
    ends.older = event;
    ++size_;
  }

  std::size_t capacity_;
  std::size_t size_ = 0;
  std::uint32_t ends_;  // the number behind the last one: its `older` is the newest event, its `newer` the oldest
  std::vector<Links> links_;
};

}  // namespace mankai::lab::forgetting
