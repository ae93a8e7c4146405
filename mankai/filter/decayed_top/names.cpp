#include "mankai/filter/decayed_top/names.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "mankai/hash/probes.hpp"

namespace mankai {
namespace {

/// In a record's first word, above slot and length.
constexpr std::uint64_t kCut = std::uint64_t{1} << 48;
constexpr std::uint64_t kKnownFlags = kCut;
/// Above the flags, while room is made: the rank of a name.
constexpr unsigned kRankShift = 54;
static_assert(Names::kMostRank < 1U << (64 - kRankShift));
/// A key takes at most this fraction of the arena, and as much of it is kept free when it is compacted.
constexpr std::uint64_t kArenaShare = 8;
/// So many bytes of names have a directory entry: with keys of 48 bytes, 0.4 to 0.8 of them are in use.
constexpr std::uint64_t kBytesPerEntry = 32;
/// This fraction of the names is dropped at once, so that a pass over all of them is rare.
constexpr std::uint64_t kDroppedShare = 16;

std::size_t entries_of(std::size_t words) noexcept {
  return std::bit_floor(words * sizeof(std::uint64_t) / kBytesPerEntry);
}

}  // namespace

Names::Names(State& state, std::span<std::uint64_t> words) noexcept
    : state_(&state),
      directory_(reinterpret_cast<std::uint32_t*>(words.data()), entries_of(words.size())),
      arena_(words.subspan(directory_.size() / 2)) {}

std::uint32_t Names::most_key_bytes() const noexcept {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(kMostKeyBytes, arena_.size() / kArenaShare * kUnitBytes));
}

// Linear probing needs unused entries.
std::uint32_t Names::most_names() const noexcept {
  return static_cast<std::uint32_t>(directory_.size() - directory_.size() / kArenaShare);
}

std::size_t Names::home_of(std::uint32_t slot) const noexcept {
  return static_cast<std::size_t>(fastrange(slot * probes::kRemix, directory_.size()));
}

// The slot's entry, or the unused one where it would be.
std::size_t Names::entry_of(std::uint32_t slot) const noexcept {
  std::size_t entry = home_of(slot);
  while (directory_[entry] != 0 && slot_of(directory_[entry] - 1) != slot) {
    entry = next(entry);
  }
  return entry;
}

Names::Name Names::name_at(std::uint64_t unit) const noexcept {
  return {.slot = slot_of(unit),
          .key = {reinterpret_cast<const char*>(arena_.data() + unit + 2), length_of(unit)},
          .last_seen = arena_[unit + 1],
          .is_cut = (arena_[unit] & kCut) != 0};
}

void Names::note_seen(std::uint32_t slot, std::uint64_t at) noexcept {
  std::uint64_t& last = arena_[directory_[entry_of(slot)]];
  last = std::max(last, at);
}

void Names::clear() noexcept {
  std::ranges::fill(directory_, 0);
  std::ranges::fill(arena_, 0);
  *state_ = {};
}

bool Names::has_room(std::size_t key_bytes) const noexcept {
  return state_->arena_used + units_of(key_bytes) <= arena_.size() && state_->count < most_names();
}

void Names::add(const Name& name) noexcept {
  const std::uint64_t units = units_of(name.key.size());
  const std::uint64_t unit = state_->arena_used;
  std::uint64_t* const record = arena_.data() + unit;
  record[units - 1] = 0;
  record[0] = name.slot | std::uint64_t{name.key.size()} << kHalf | (name.is_cut ? kCut : 0);
  record[1] = name.last_seen;
  std::memcpy(record + 2, name.key.data(), name.key.size());
  directory_[entry_of(name.slot)] = static_cast<std::uint32_t>(unit + 1);
  state_->arena_used += static_cast<std::uint32_t>(units);
  ++state_->count;
}

// Moves later entries of the probe sequence over the gap. Source: [Knuth1998], algorithm R.
void Names::drop(std::uint32_t slot) noexcept {
  std::size_t gap = entry_of(slot);
  arena_[directory_[gap] - 1] |= kNoSlot;
  --state_->count;
  for (std::size_t entry = next(gap); directory_[entry] != 0; entry = next(entry)) {
    const std::size_t home = home_of(slot_of(directory_[entry] - 1));
    const std::size_t mask = directory_.size() - 1;
    if (((entry - home) & mask) >= ((entry - gap) & mask)) {
      directory_[gap] = directory_[entry];
      gap = entry;
    }
  }
  directory_[gap] = 0;
}

// Of equal ranks, drops the oldest records. Ranks are kept in the records until they are compacted: a table is larger
// than a cache.
void Names::make_room(std::size_t key_bytes, const Slots& slots) noexcept {
  const std::uint64_t units = units_of(key_bytes);
  std::array<std::uint64_t, kMostRank + 1> units_of_rank{};
  std::uint64_t live = 0;
  for_each_record(
      [&](std::uint64_t unit, std::uint64_t size) {
        if (slot_of(unit) != kNoSlot) {
          const std::uint64_t rank = slots.rank(slot_of(unit));
          arena_[unit] |= rank << kRankShift;
          units_of_rank[rank] += size;
          live += size;
        }
      },
      [&](std::uint64_t unit) {
        if (slot_of(unit) != kNoSlot) {
          slots.prefetch(slot_of(unit));
        }
      });
  const std::uint64_t most_live = arena_.size() - arena_.size() / kArenaShare;
  std::uint64_t surplus = 0;
  if (live + units > most_live || state_->count >= most_names()) {
    surplus = live + units > most_live ? live + units - most_live : 0;
    surplus = std::max<std::uint64_t>(std::max(surplus, live / kDroppedShare), 1);
  }
  std::uint32_t last = 0;
  std::uint64_t freed = 0;  // from the ranks before the last
  while (last < kMostRank && freed + units_of_rank[last] < surplus) {
    freed += units_of_rank[last++];
  }
  const auto stays = [&](std::uint64_t unit, std::uint64_t size) {
    const auto rank = static_cast<std::uint32_t>(arena_[unit] >> kRankShift);
    if (rank > last || (rank == last && freed >= surplus)) {
      return true;
    }
    freed += rank == last ? size : 0;
    slots.drop(slot_of(unit));
    --state_->count;
    return false;
  };
  // Moves the records that stay over the others.
  std::ranges::fill(directory_, 0);
  std::uint64_t to = 0;
  for_each_record(
      [&](std::uint64_t unit, std::uint64_t size) {
        if (slot_of(unit) != kNoSlot && stays(unit, size)) {
          arena_[unit] &= (std::uint64_t{1} << kRankShift) - 1;
          directory_[entry_of(slot_of(unit))] = static_cast<std::uint32_t>(to + 1);
          std::memmove(arena_.data() + to, arena_.data() + unit, size * kUnitBytes);
          to += size;
        }
      },
      [&](std::uint64_t unit) { prefetch(slot_of(unit)); });
  std::ranges::fill(arena_.subspan(to, state_->arena_used - to), 0);
  state_->arena_used = static_cast<std::uint32_t>(to);
}

// ---- untrusted images

std::optional<Names::Wrong> Names::check(std::uint64_t newest, std::uint32_t slots, const IsOf& is_of) const {
  if (state_->arena_used > arena_.size() || state_->count > most_names()) {
    return Wrong{state_, "more names than there is room for"};
  }
  // Look-ups end only if there are unused entries.
  const auto used = directory_.size() - static_cast<std::size_t>(std::ranges::count(directory_, 0));
  if (used != state_->count) {
    return Wrong{directory_.data(),
                 std::to_string(state_->count) + " names, and " + std::to_string(used) + " in the directory"};
  }
  if (const auto wrong =
          std::ranges::find_if(directory_, [&](std::uint32_t entry) { return entry > state_->arena_used; });
      wrong != directory_.end()) {
    return Wrong{&*wrong, "a name beyond the arena"};
  }
  std::uint32_t live = 0;
  for (std::uint64_t unit = 0; unit < state_->arena_used; unit += units_of(length_of(unit))) {
    const std::uint64_t* const place = &arena_[unit];
    const std::uint32_t slot = slot_of(unit);
    const bool is_cut = (arena_[unit] & kCut) != 0;
    if ((slot >= slots && slot != kNoSlot) || (arena_[unit] >> 48 << 48 & ~kKnownFlags) != 0 ||
        length_of(unit) > most_key_bytes() || (is_cut && length_of(unit) != most_key_bytes()) ||
        units_of(length_of(unit)) > state_->arena_used - unit) {
      return Wrong{place, "an impossible name"};
    }
    if (slot == kNoSlot) {
      continue;
    }
    ++live;
    if (directory_[entry_of(slot)] != unit + 1) {
      return Wrong{place, "a name that the directory does not find"};
    }
    const Name name = name_at(unit);
    if (!is_cut && !is_of(name.key, slot)) {
      return Wrong{place, "a key of another slot"};
    }
    if (name.last_seen > newest) {
      return Wrong{place, "a time later than the newest event"};
    }
  }
  if (live != state_->count) {
    return Wrong{state_, std::to_string(state_->count) + " names, and " + std::to_string(live) + " in the arena"};
  }
  const auto free = arena_.subspan(state_->arena_used);
  if (!is_zero(free)) {
    return Wrong{free.data(), "bytes after the last name are not zero"};
  }
  return std::nullopt;
}

}  // namespace mankai
