#include "mankai/filter/decayed_top/key_table.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "mankai/base/bits.hpp"
#include "mankai/base/time.hpp"
#include "mankai/hash/probes.hpp"

namespace mankai {
namespace {

constexpr unsigned kUpperHalf = 32;
/// A record's second half-word: the key's length, and flags above it.
constexpr std::uint32_t kLengthMask = 0xffff;
constexpr std::uint32_t kCut = 1U << 16;
/// A record takes at most this fraction of the arena.
constexpr std::uint64_t kArenaShare = 8;

std::uint64_t fade_once(std::uint64_t score, std::uint64_t lambda_q32) noexcept {
  if (lambda_q32 >= kLambdaOne) {
    return score;
  }
  const std::uint64_t high = multiply_high(score, lambda_q32 << kUpperHalf);
  const auto fraction = static_cast<std::uint32_t>(score * lambda_q32);
  return high + static_cast<std::uint64_t>(fraction != 0);
}

// Sixteen at a time, epoch by epoch: one score after the other would wait for its own products. The result of single
// epochs has no shortcut, since the rounding of each depends on the one before.
void fade_all(std::array<std::uint64_t, KeyTable::kWays>& scores, std::uint64_t lambda_q32,
              std::uint64_t epochs) noexcept {
  std::uint64_t changed = 1;
  for (; epochs != 0 && changed != 0; --epochs) {
    changed = 0;
    for (std::uint64_t& score : scores) {
      const std::uint64_t next = fade_once(score, lambda_q32);
      changed |= next ^ score;
      score = next;
    }
  }
}

// Scores in 512 classes, the lowest first: the position of the highest bit and the three bits after it.
constexpr unsigned kClassBits = 3;
constexpr std::size_t kClasses = std::size_t{64} << kClassBits;

constexpr std::size_t class_of(std::uint64_t score) noexcept {
  const auto width = static_cast<unsigned>(std::bit_width(score));
  return width <= kClassBits ? score
                             : (std::size_t{width - kClassBits} << kClassBits) + (score >> (width - kClassBits - 1)) -
                                   (std::size_t{1} << kClassBits);
}

}  // namespace

std::uint64_t KeyTable::faded(std::uint64_t score, std::uint64_t lambda_q32, std::uint64_t epochs) noexcept {
  for (; epochs != 0; --epochs) {
    const std::uint64_t next = fade_once(score, lambda_q32);
    if (next == score) {
      break;
    }
    score = next;
  }
  return score;
}

KeyTable::KeyTable(State& state, std::span<std::uint64_t> words, std::uint32_t buckets,
                   std::uint64_t key_units) noexcept
    : state_(&state),
      buckets_(reinterpret_cast<Bucket*>(words.data()), buckets),
      arena_(words.last(std::size_t{buckets} * kWays * key_units)),
      most_key_bytes_(static_cast<std::uint32_t>(
          std::min<std::uint64_t>(kMostKeyBytes, arena_.size() / kArenaShare * kUnitBytes))) {}

void KeyTable::move_to(State& state, std::uint64_t* words) noexcept {
  state_ = &state;
  buckets_ = {reinterpret_cast<Bucket*>(words), buckets_.size()};
  arena_ = {words + buckets_.size_bytes() / kUnitBytes, arena_.size()};
}

std::uint32_t KeyTable::bucket_index(Digest digest) const noexcept {
  return static_cast<std::uint32_t>(fastrange(probes::remix(digest), buckets_.size()));
}

// Compares all sixteen: where to stop is unpredictable.
std::uint32_t KeyTable::find(Digest digest) const noexcept {
  const std::uint32_t index = bucket_index(digest);
  const Bucket& bucket = buckets_[index];
  std::uint32_t matches = 0;
  for (std::uint32_t way = 0; way < kWays; ++way) {
    matches |= static_cast<std::uint32_t>(bucket.digests[way] == digest.value) << way;
  }
  if (digest.value == 0) [[unlikely]] {
    for (std::uint32_t way = 0; way < kWays; ++way) {
      matches &= ~(static_cast<std::uint32_t>(bucket.records[way] == 0) << way);
    }
  }
  return matches == 0 ? kNoSlot : index * kWays + static_cast<std::uint32_t>(std::countr_zero(matches));
}

void KeyTable::note_seen(std::uint32_t slot, std::uint64_t at) noexcept {
  std::uint64_t& last = bucket(slot).last_seen[slot % kWays];
  last = std::max(last, at);
}

KeyTable::Candidate KeyTable::at(std::uint32_t slot) const noexcept {
  const Bucket& here = bucket(slot);
  const std::uint32_t way = slot % kWays;
  const std::uint64_t unit = here.records[way] - 1;
  return {.digest = {here.digests[way]},
          .key = key_at(unit),
          .score = here.scores[way],
          .last_seen = here.last_seen[way],
          .is_cut = (record_at(unit).flags & kCut) != 0};
}

std::uint32_t KeyTable::slot_for(Digest digest, std::uint64_t score) const noexcept {
  if (score <= state_->bar) {
    return kNoSlot;
  }
  const std::uint32_t index = bucket_index(digest);
  const auto& scores = buckets_[index].scores;
  const auto coldest = std::ranges::min_element(scores);
  return score <= *coldest ? kNoSlot : index * kWays + static_cast<std::uint32_t>(coldest - scores.begin());
}

void KeyTable::enter(std::uint32_t slot, const Candidate& candidate, const Evicted& evicted) noexcept {
  if (bucket(slot).records[slot % kWays] != 0) {
    evict(slot, evicted);
  }
  const std::uint64_t units = units_of_key(candidate.key.size());
  if (state_->arena_used + units > arena_.size()) {
    make_room(units, evicted);
  }
  const std::uint64_t unit = state_->arena_used;
  std::uint64_t* const record = arena_.data() + unit;
  record[units - 1] = 0;
  const std::uint32_t length_and_flags =
      static_cast<std::uint32_t>(candidate.key.size()) | (candidate.is_cut ? kCut : 0U);
  record[0] = slot | std::uint64_t{length_and_flags} << kUpperHalf;
  std::memcpy(record + 1, candidate.key.data(), candidate.key.size());
  state_->arena_used += units;
  live_units_ += units;
  Bucket& here = bucket(slot);
  const std::uint32_t way = slot % kWays;
  here.digests[way] = candidate.digest.value;
  here.scores[way] = std::min(candidate.score, kMostScore);
  here.last_seen[way] = candidate.last_seen;
  here.records[way] = static_cast<std::uint32_t>(unit + 1);
}

void KeyTable::evict(std::uint32_t slot, const Evicted& evicted) noexcept {
  Bucket& here = bucket(slot);
  const std::uint32_t way = slot % kWays;
  live_units_ -= units_of_key(record_at(here.records[way] - 1).length);
  evicted({here.digests[way]}, here.scores[way]);
  here.digests[way] = 0;
  here.scores[way] = 0;
  here.last_seen[way] = 0;
  here.records[way] = 0;
}

void KeyTable::fade(std::uint64_t lambda_q32, std::uint64_t epochs) noexcept {
  for (Bucket& bucket : buckets_) {
    fade_all(bucket.scores, lambda_q32, epochs);
  }
  state_->bar = faded(state_->bar, lambda_q32, epochs);
}

// Sorts only the requested page, and reads keys only for equal scores.
std::vector<std::uint32_t> KeyTable::hottest(std::uint64_t least_score, std::size_t skip, std::size_t most) const {
  struct Ranked {
    double score;  // callers see a double: what they see as equal is ordered by the bytes
    std::uint32_t slot;
  };
  std::vector<Ranked> ranked;
  for_each([&](std::uint32_t slot) {
    if (score(slot) >= least_score) {
      ranked.push_back({.score = static_cast<double>(score(slot)), .slot = slot});
    }
  });
  const auto is_before = [this](const Ranked& left, const Ranked& right) {
    return left.score != right.score ? left.score > right.score : at(left.slot).key < at(right.slot).key;
  };
  const auto page = std::span(ranked).subspan(std::min(skip, ranked.size()));
  const auto listed = page.first(std::min(most, page.size()));
  if (skip != 0 && !listed.empty()) {
    std::nth_element(ranked.begin(), ranked.end() - static_cast<std::ptrdiff_t>(page.size()), ranked.end(), is_before);
  }
  std::partial_sort(page.begin(), page.begin() + static_cast<std::ptrdiff_t>(listed.size()), page.end(), is_before);
  std::vector<std::uint32_t> slots(listed.size());
  std::ranges::transform(listed, slots.begin(), &Ranked::slot);
  return slots;
}

std::uint64_t KeyTable::count() const noexcept {
  std::uint64_t count = 0;
  for_each([&](std::uint32_t) { ++count; });
  return count;
}

// ---- the arena

KeyTable::Record KeyTable::record_at(std::uint64_t unit) const noexcept {
  const auto upper = static_cast<std::uint32_t>(arena_[unit] >> kUpperHalf);
  return {
      .slot = static_cast<std::uint32_t>(arena_[unit]), .length = upper & kLengthMask, .flags = upper & ~kLengthMask};
}

std::string_view KeyTable::key_at(std::uint64_t unit) const noexcept {
  return {reinterpret_cast<const char*>(arena_.data() + unit + 1), record_at(unit).length};
}

bool KeyTable::is_live(const Record& record, std::uint64_t unit) const noexcept {
  return record.slot < slots() && bucket(record.slot).records[record.slot % kWays] == unit + 1;
}

// Calls use(slot, unit, units) for each record of a key in the table. `use` may move the record towards the front.
template <class Use>
void KeyTable::for_each_live(const Use& use) const {
  for (std::uint64_t unit = 0; unit < state_->arena_used;) {
    const Record record = record_at(unit);
    const std::uint64_t units = units_of_key(record.length);
    if (is_live(record, unit)) {
      use(record.slot, unit, units);
    }
    unit += units;
  }
}

void KeyTable::make_room(std::uint64_t units, const Evicted& evicted) noexcept {
  // Keeps an eighth free, which delays the next compaction.
  const std::uint64_t most_live = arena_.size() - arena_.size() / kArenaShare;
  if (live_units_ + units > most_live) {
    evict_coldest(live_units_ + units - most_live + arena_.size() / kArenaShare, evicted);
  }
  compact();
}

// Evicts records of at least `units` units: the lowest scores to within an eighth, and of equal classes the oldest
// records.
void KeyTable::evict_coldest(std::uint64_t units, const Evicted& evicted) noexcept {
  std::array<std::uint64_t, kClasses> units_of_class{};
  for_each_live(
      [&](std::uint32_t slot, std::uint64_t, std::uint64_t size) { units_of_class[class_of(score(slot))] += size; });
  std::size_t last = 0;
  std::uint64_t freed = 0;  // from the classes before the last
  while (last + 1 < kClasses && freed + units_of_class[last] < units) {
    freed += units_of_class[last++];
  }
  for_each_live([&](std::uint32_t slot, std::uint64_t, std::uint64_t size) {
    const std::size_t its_class = class_of(score(slot));
    if (its_class > last || (its_class == last && freed >= units)) {
      return;
    }
    freed += its_class == last ? size : 0;
    state_->bar = std::max(state_->bar, score(slot));
    evict(slot, evicted);
  });
}

// Moves the live records over the dead ones.
void KeyTable::compact() noexcept {
  std::uint64_t to = 0;
  for_each_live([&](std::uint32_t slot, std::uint64_t unit, std::uint64_t units) {
    std::memmove(arena_.data() + to, arena_.data() + unit, units * kUnitBytes);
    bucket(slot).records[slot % kWays] = static_cast<std::uint32_t>(to + 1);
    to += units;
  });
  std::ranges::fill(arena_.subspan(to, state_->arena_used - to), 0);
  state_->arena_used = to;
}

// ---- untrusted images

std::optional<KeyTable::Wrong> KeyTable::check(const Hasher& hasher, std::uint64_t newest) noexcept {
  if (state_->arena_used > arena_.size()) {
    return Wrong{&state_->arena_used, "more of the arena in use than there is"};
  }
  if (state_->bar > kMostScore) {
    return Wrong{&state_->bar, "a bar above all scores"};
  }
  for (std::uint32_t slot = 0; slot < slots(); ++slot) {
    if (auto wrong = check_slot(slot, newest)) {
      return wrong;
    }
  }
  if (auto wrong = check_arena(hasher)) {
    return wrong;
  }
  live_units_ = 0;
  for_each([&](std::uint32_t slot) { live_units_ += units_of_key(at(slot).key.size()); });
  return std::nullopt;
}

std::optional<KeyTable::Wrong> KeyTable::check_slot(std::uint32_t slot, std::uint64_t newest) const {
  const Bucket& here = bucket(slot);
  const std::uint32_t way = slot % kWays;
  if (here.records[way] == 0) {
    const bool is_zero = here.digests[way] == 0 && here.scores[way] == 0 && here.last_seen[way] == 0;
    return is_zero ? std::nullopt : std::optional(Wrong{&here.digests[way], "an empty place that is not zero"});
  }
  if (find({here.digests[way]}) != slot) {
    return Wrong{&here.digests[way], "a digest that does not belong there, or twice"};
  }
  if (here.scores[way] > kMostScore) {
    return Wrong{&here.scores[way], "a score that is too large"};
  }
  if (here.last_seen[way] > newest) {
    return Wrong{&here.last_seen[way], "a time later than the newest event"};
  }
  return std::nullopt;
}

std::optional<KeyTable::Wrong> KeyTable::check_record(std::uint64_t unit, const Hasher& hasher) const {
  const Record record = record_at(unit);
  const bool is_cut = (record.flags & kCut) != 0;
  if (record.slot >= slots() || record.length > most_key_bytes_ || (record.flags & ~kCut) != 0 ||
      (is_cut && record.length != most_key_bytes_) || units_of_key(record.length) > state_->arena_used - unit) {
    return Wrong{&arena_[unit], "an impossible key"};
  }
  if (is_live(record, unit) && !is_cut &&
      hasher(key_at(unit)).value != bucket(record.slot).digests[record.slot % kWays]) {
    return Wrong{&arena_[unit], "a key of another digest"};
  }
  return std::nullopt;
}

// Two live slots never share a record, so equal numbers of both prove that every slot has one.
std::optional<KeyTable::Wrong> KeyTable::check_arena(const Hasher& hasher) const {
  for (std::uint64_t unit = 0; unit < state_->arena_used; unit += units_of_key(record_at(unit).length)) {
    if (auto wrong = check_record(unit, hasher)) {
      return wrong;
    }
  }
  std::uint64_t live = 0;
  for_each_live([&](std::uint32_t, std::uint64_t, std::uint64_t) { ++live; });
  if (live != count()) {
    return Wrong{buckets_.data(),
                 std::to_string(count()) + " keys in the table and " + std::to_string(live) + " in the arena"};
  }
  const auto free = arena_.subspan(state_->arena_used);
  if (!is_zero(free)) {
    return Wrong{free.data(), "bytes after the last key are not zero"};
  }
  return std::nullopt;
}

}  // namespace mankai
