#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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
  Lru(std::size_t capacity, std::size_t numbers);
  /// Returns whether the event is known, and makes it the newest.
  bool observe(std::uint32_t event);
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  struct Links {
    std::uint32_t newer = 0;
    std::uint32_t older = 0;
    bool is_known = false;
  };

  void take_out(std::uint32_t event) noexcept;
  void put_first(std::uint32_t event) noexcept;

  std::size_t capacity_;
  std::size_t size_ = 0;
  std::uint32_t ends_;  // the number behind the last one: its `older` is the newest event, its `newer` the oldest
  std::vector<Links> links_;
};

}  // namespace mankai::lab::forgetting
