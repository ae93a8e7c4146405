#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "mankai/hash/hasher.hpp"

namespace mankai::detail {

/// Finds ids: an open-addressed table of 16 bytes an entry, filled to at most 3/4.
class SlotIndex {
 public:
  SlotIndex() : seed_(HashSpec::random().seed[0]), entries_(kLeast) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return entries_.size() * sizeof(Entry); }

  [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t id) const noexcept {
    const Entry& entry = entries_[place_of(id)];
    return entry.slot_plus_1 != 0 ? std::optional(entry.slot_plus_1 - 1) : std::nullopt;
  }

  /// Puts an id in, or somewhere else.
  void set(std::uint64_t id, std::uint32_t slot) {
    if ((size_ + 1) * 4 > entries_.size() * 3) {
      enlarge();
    }
    Entry& entry = entries_[place_of(id)];
    size_ += entry.slot_plus_1 == 0 ? 1 : 0;
    entry = {.id = id, .slot_plus_1 = slot + 1};
  }

  /// Takes an id out. Entries behind it that would not be found over the gap move into it.
  void erase(std::uint64_t id) noexcept {
    std::size_t gap = place_of(id);
    if (entries_[gap].slot_plus_1 == 0) {
      return;
    }
    --size_;
    for (std::size_t next = after(gap); entries_[next].slot_plus_1 != 0; next = after(next)) {
      const std::size_t wanted = first_of(entries_[next].id);
      // Around the end the distances wrap with the table.
      if (((next - wanted) & mask()) >= ((next - gap) & mask())) {
        entries_[gap] = entries_[next];
        gap = next;
      }
    }
    entries_[gap] = {};
  }

  /// Calls use(id, slot) for each id, in no order. The index must not be changed meanwhile.
  template <class Use>
  void for_each(const Use& use) const {
    for (const Entry& entry : entries_) {
      if (entry.slot_plus_1 != 0) {
        use(entry.id, entry.slot_plus_1 - 1);
      }
    }
  }

 private:
  static constexpr std::size_t kLeast = 16;

  struct Entry {
    std::uint64_t id = 0;
    std::uint32_t slot_plus_1 = 0;  ///< 0: empty
  };

  [[nodiscard]] std::size_t mask() const noexcept { return entries_.size() - 1; }
  [[nodiscard]] std::size_t after(std::size_t place) const noexcept { return (place + 1) & mask(); }
  [[nodiscard]] std::size_t first_of(std::uint64_t id) const noexcept {
    return static_cast<std::size_t>(mix_integer(id, seed_).value >> 32) & mask();
  }
  // Where the id is, or would be.
  [[nodiscard]] std::size_t place_of(std::uint64_t id) const noexcept {
    std::size_t place = first_of(id);
    while (entries_[place].slot_plus_1 != 0 && entries_[place].id != id) {
      place = after(place);
    }
    return place;
  }
  void enlarge() {
    std::vector<Entry> old(entries_.size() * 2);
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.slot_plus_1 != 0) {
        entries_[place_of(entry.id)] = entry;
      }
    }
  }

  std::uint64_t seed_;
  std::vector<Entry> entries_;
  std::size_t size_ = 0;
};

}  // namespace mankai::detail
