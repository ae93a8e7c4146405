#pragma once

/// The names of the hottest keys of a decayed-top: the bytes of the key in a slot of its table, and when it was last
/// seen.
///
///     | directory: 32 bits per entry | arena: record | record | … | free |
///
///     record: | u32 slot | u16 length | u16 flags | u64 last seen | bytes, padded to 8 |
///
/// The directory finds the record of a slot by linear probing. A record without a slot is garbage until the arena is
/// compacted.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mankai/base/bits.hpp"

namespace mankai {

/// See the top of this file. A view. Threads: const calls are safe together; changes need the names alone.
class Names {
 public:
  static constexpr std::size_t kMostKeyBytes = 1024;
  static constexpr std::uint64_t kUnitBytes = sizeof(std::uint64_t);
  /// Fewest lines, for an arena in which a record fits.
  static constexpr std::uint64_t kLeastLines = 4;
  /// Lines whose units have numbers of 32 bits.
  static constexpr std::uint64_t kMostLines = std::uint64_t{1} << 28;

  /// State stored outside the words.
  struct State {
    std::uint32_t arena_used;  ///< units from the arena's start to the end of its last record
    std::uint32_t count;       ///< of names
  };

  struct Name {
    std::uint32_t slot;
    std::string_view key;     ///< at most most_key_bytes()
    std::uint64_t last_seen;  ///< microseconds since 1970
    bool is_cut;              ///< `key` is only a prefix of the key
  };

  struct Wrong {
    const void* place;
    std::string what;
  };

  Names() noexcept = default;
  /// Shape: words[lines * 8], kLeastLines to kMostLines lines. Pre: state and words outlive the view.
  Names(State& state, std::span<std::uint64_t> words) noexcept;

  void prefetch(std::uint32_t slot) const noexcept { prefetch_line(&directory_[home_of(slot)]); }
  void note_seen(std::uint32_t slot, std::uint64_t at) noexcept;
  [[nodiscard]] bool has_room(std::size_t key_bytes) const noexcept;
  /// What the table says of slots: a rank is at most kMostRank; `drop` is called for each name that is dropped.
  struct Slots {
    std::function<std::uint32_t(std::uint32_t slot)> rank;
    std::function<void(std::uint32_t slot)> drop;
    std::function<void(std::uint32_t slot)> prefetch;
  };
  static constexpr std::uint32_t kMostRank = 1023;
  /// Compacts, and drops at least the sixteenth with the lowest ranks if that does not suffice.
  void make_room(std::size_t key_bytes, const Slots& slots) noexcept;
  /// Pre: has_room; the slot has no name.
  void add(const Name& name) noexcept;
  /// Pre: the slot has a name.
  void drop(std::uint32_t slot) noexcept;

  template <class Use>
  void for_each(const Use& use) const {
    for_each_record(
        [&](std::uint64_t unit, std::uint64_t) {
          if (slot_of(unit) != kNoSlot) {
            use(name_at(unit));
          }
        },
        [](std::uint64_t /*unit*/) {});
  }

  void clear() noexcept;

  [[nodiscard]] std::uint32_t count() const noexcept { return state_->count; }
  [[nodiscard]] std::uint32_t most_key_bytes() const noexcept;

  /// Checks untrusted words. `newest` is the time of the newest event; `is_of` says whether a whole key may have this
  /// slot.
  using IsOf = std::function<bool(std::string_view key, std::uint32_t slot)>;
  [[nodiscard]] std::optional<Wrong> check(std::uint64_t newest, std::uint32_t slots, const IsOf& is_of) const;

 private:
  static constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};
  static constexpr unsigned kHalf = 32;

  static constexpr std::uint64_t units_of(std::size_t key_bytes) noexcept {
    return 2 + divide_up<std::uint64_t>(key_bytes, kUnitBytes);
  }
  [[nodiscard]] std::uint32_t slot_of(std::uint64_t unit) const noexcept {
    return static_cast<std::uint32_t>(arena_[unit]);
  }
  [[nodiscard]] std::uint32_t length_of(std::uint64_t unit) const noexcept {
    return static_cast<std::uint16_t>(arena_[unit] >> kHalf);
  }
  [[nodiscard]] Name name_at(std::uint64_t unit) const noexcept;
  // Calls use(unit, units), which may move the record towards the front, and ahead(unit) for later records.
  template <class Use, class Ahead>
  void for_each_record(const Use& use, const Ahead& ahead) const {
    constexpr int kAhead = 16;
    std::uint64_t later = 0;
    const auto go_ahead = [&] {
      if (later < state_->arena_used) {
        ahead(later);
        later += units_of(length_of(later));
      }
    };
    for (int i = 0; i < kAhead; ++i) {
      go_ahead();
    }
    for (std::uint64_t unit = 0; unit < state_->arena_used;) {
      const std::uint64_t units = units_of(length_of(unit));
      go_ahead();
      use(unit, units);
      unit += units;
    }
  }

  [[nodiscard]] std::size_t home_of(std::uint32_t slot) const noexcept;
  [[nodiscard]] std::size_t entry_of(std::uint32_t slot) const noexcept;
  [[nodiscard]] std::size_t next(std::size_t entry) const noexcept { return (entry + 1) & (directory_.size() - 1); }
  [[nodiscard]] std::uint32_t most_names() const noexcept;

  State* state_ = nullptr;
  std::span<std::uint32_t> directory_;  ///< 1 + the unit of a record; 0: unused
  std::span<std::uint64_t> arena_;
};

}  // namespace mankai
