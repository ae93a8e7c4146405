#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mankai/base/assert.hpp"

namespace mankai::lab::forgetting {

/// Bytes per entry of an LRU of 32-bit events without overhead: the event, two list links, a chain link and a chain
/// head, 16 bits each, which suffices for 65,535 entries.
inline constexpr double kTightEntryBytes = 4 + 4 * 2;
/// Bytes per entry with the standard library: a std::list node (event, two pointers), a std::unordered_map node (event,
/// iterator, pointer), 8 bytes of the allocator each, and a bucket.
inline constexpr double kUsualEntryBytes = 32 + 32 + 8;

/// An exact LRU of events numbered from 0, with `capacity` distinct entries. For speed its links are an array over all
/// numbers; the constants above give the bytes that an LRU would need.
class Lru {
 public:
  Lru(std::size_t capacity, std::size_t numbers)
      : capacity_(capacity), ends_(static_cast<std::uint32_t>(numbers)), links_(numbers + 1) {
    MANKAI_ASSERT(capacity > 0);
    links_[ends_] = {.newer = ends_, .older = ends_};
  }
  /// Returns whether the event was known, and makes it the newest.
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
  std::uint32_t ends_;  // sentinel after the last number: `older` is the newest event, `newer` the oldest
  std::vector<Links> links_;
};

}  // namespace mankai::lab::forgetting
