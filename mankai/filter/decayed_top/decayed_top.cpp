#include "mankai/filter/decayed_top/decayed_top.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mankai/base/assert.hpp"

// Updates and queries. decayed_top_image.cpp has the sizes and the checks of images.

namespace mankai {
namespace {

constexpr std::uint32_t kScoreBits = KeyTable::kScoreBits;
constexpr std::uint64_t kOneScore = KeyTable::kOneScore;
constexpr std::uint64_t kMostScore = KeyTable::kMostScore;
/// The largest part of a cell that never decays: 1/64 (fraction_bits_for).
constexpr std::uint64_t kMostStuck = kOneScore / 64;

// Saturates at the limit of images, which only a foreign image's count reaches.
std::uint64_t add_counts(std::uint64_t count, std::uint64_t more) noexcept {
  return std::min(count + more, kMaxKeysInserted);
}

std::int64_t microseconds(Time at) noexcept { return std::max<std::int64_t>(at.time_since_epoch().count(), 0); }

Time time_of(std::uint64_t microseconds) noexcept { return Time(Duration(static_cast<std::int64_t>(microseconds))); }

}  // namespace

void DecayedTop::take_tick(Tick tick) noexcept {
  image().set_state(kTick, tick.value);
  epoch_begin_ = start_of(tick, epoch_).time_since_epoch().count();
  const std::int64_t room = std::numeric_limits<std::int64_t>::max() - epoch_begin_;
  epoch_last_ = epoch_begin_ + std::min<std::int64_t>(epoch_.count() - 1, room);
}

void DecayedTop::advance(Tick tick) noexcept {
  const Tick from = this->tick();
  const Tick to = std::min(tick, Tick{kMaxTick});
  if (to <= from) {
    return;
  }
  const std::uint64_t epochs = to.value - from.value;
  const std::uint64_t lambda = sketch_.shape().lambda_q32;
  sketch_.decay(from.value + 1, epochs);
  table_.fade(lambda, epochs);
  ledger_->cut = sketch_.decayed(ledger_->cut, epochs);
  take_tick(to);
}

void DecayedTop::scale(std::uint64_t factor_q32) noexcept {
  sketch_.scale(factor_q32);
  table_.fade(factor_q32, 1);
  ledger_->cut = sketch_.scaled(ledger_->cut, factor_q32);
}

namespace {

// A power of λ is a multiple of 2^-32, rounded up, and at least 2^-16, so that its relative error is at most 2^-16.
constexpr unsigned kFactorBits = 32;
constexpr std::uint64_t kLeastFactor = std::uint64_t{1} << 16;
// Twice as many epochs per pass would be below kLeastFactor. So two passes at least divide by 2^16, one by 2^8, and
// this many leave nothing of 2^62.
constexpr unsigned kMostPasses = 8;

std::uint64_t epochs_of_a_pass(std::uint64_t lambda_q32) noexcept {
  std::uint64_t epochs = 1;
  while (late_count(lambda_q32, 2 * epochs, kFactorBits) >= kLeastFactor) {
    epochs *= 2;
  }
  return epochs;
}

}  // namespace

void DecayedTop::leap(Tick tick) noexcept {
  const Tick to = std::min(tick, Tick{kMaxTick});
  if (to <= this->tick()) {
    return;
  }
  const std::uint64_t lambda = sketch_.shape().lambda_q32;
  if (lambda < kLambdaOne) {
    const std::uint64_t stride = epochs_of_a_pass(lambda);
    std::uint64_t epochs = to.value - this->tick().value;
    for (unsigned pass = 0; pass < kMostPasses && epochs != 0; ++pass) {
      const std::uint64_t now = std::min(epochs, stride);
      scale(late_count(lambda, now, kFactorBits));
      epochs -= now;
    }
  }
  take_tick(to);
}

std::uint64_t DecayedTop::score_of(std::uint64_t units) const noexcept {
  return units << (kScoreBits - sketch_.shape().fraction_bits);
}

std::uint64_t DecayedTop::units_of(std::uint64_t score) const noexcept {
  const std::uint32_t finer = kScoreBits - sketch_.shape().fraction_bits;
  return (score + (std::uint64_t{1} << finer) - 1) >> finer;
}

// Advances to the events' epoch if it is later. Returns their total score: at most 2^60, so that it can be added to any
// other score or cell value without exceeding kMostScore.
std::uint64_t DecayedTop::score_at(std::int64_t at, std::uint32_t count) noexcept {
  if (static_cast<std::uint64_t>(at) > image().state(kNewest)) {
    image().set_state(kNewest, static_cast<std::uint64_t>(at));
  }
  if (at > epoch_last_) {
    advance(tick_of(Time(Duration(at)), epoch_));
  } else if (at < epoch_begin_) [[unlikely]] {
    ledger_->late_records = add_counts(ledger_->late_records, count);
    const std::uint64_t age = tick().value - tick_of(Time(Duration(at)), epoch_).value;
    return late_count(sketch_.shape().lambda_q32, age, kScoreBits) * count;
  }
  return kOneScore * count;
}

// A score that saturates loses no more than what is added to it.
void DecayedTop::add_to_score(std::uint64_t& score, std::uint64_t more) noexcept {
  score += more;
  if (score > kMostScore) [[unlikely]] {
    score = kMostScore;
    count_saturations(1, units_of(more));
  }
}

bool DecayedTop::add_to_candidate(Digest digest, std::uint64_t score, std::int64_t at) noexcept {
  const std::uint32_t slot = table_.find(digest);
  if (slot == KeyTable::kNoSlot) {
    return false;
  }
  add_to_score(table_.score(slot), score);
  table_.note_seen(slot, static_cast<std::uint64_t>(at));
  return true;
}

void DecayedTop::insert(Digest digest, std::string_view key, Time at, std::uint32_t count) noexcept {
  MANKAI_ASSERT(count != 0);
  const std::int64_t when = microseconds(at);
  const std::uint64_t score = score_at(when, count);
  image().set_keys_inserted(add_counts(keys_inserted(), count));
  if (!add_to_candidate(digest, score, when)) {
    add_to_others(digest, key, score, when);
  }
}

void DecayedTop::insert(std::span<const Digest> digests, std::span<const std::string_view> keys,
                        std::span<const Time> times) noexcept {
  MANKAI_ASSERT(digests.size() == keys.size() && digests.size() == times.size());
  for (std::size_t i = 0; i < digests.size(); ++i) {
    insert(digests[i], keys[i], times[i]);
  }
}

void DecayedTop::add_to_sketch(Digest digest, std::uint64_t units) noexcept {
  const auto added = sketch_.insert(digest, units);
  if (added.cut != 0) [[unlikely]] {
    count_saturations(added.cut, units);
  }
}

// Call once per insertion or merge, in which a cell loses no more than what is added to it.
void DecayedTop::count_saturations(std::uint64_t cut, std::uint64_t units) noexcept {
  image().set_state(kSaturations, add_counts(saturations(), cut));
  ledger_->cut = sketch_.with_cut(ledger_->cut, 1, units);
}

void DecayedTop::raise(Digest digest, std::uint64_t bound) noexcept {
  const std::uint64_t there = sketch_.smallest(digest);
  if (bound > there) {
    add_to_sketch(digest, bound - there);
  }
}

void DecayedTop::enter(std::uint32_t slot, const KeyTable::Candidate& candidate) noexcept {
  table_.enter(slot, candidate, [this](Digest digest, std::uint64_t score) { raise(digest, units_of(score)); });
}

void DecayedTop::add_to_others(Digest digest, std::string_view key, std::uint64_t score, std::int64_t at) noexcept {
  const std::uint64_t bound = score_of(sketch_.smallest(digest)) + score;
  const std::uint32_t slot = table_.slot_for(digest, bound);
  if (slot == KeyTable::kNoSlot) {
    add_to_sketch(digest, units_of(score));
    return;
  }
  MANKAI_ASSERT(key.size() > kMostKeyBytes || hasher()(key) == digest);
  const std::size_t most = table_.most_key_bytes();
  enter(slot, {.digest = digest,
               .key = key.substr(0, most),
               .score = bound,
               .last_seen = static_cast<std::uint64_t>(at),
               .is_cut = key.size() > most});
}

std::int64_t DecayedTop::now() const noexcept {
  return std::max(epoch_begin_, static_cast<std::int64_t>(image().state(kNewest)));
}

bool DecayedTop::observe(Digest digest) noexcept {
  const bool seen = may_contain(digest);
  image().add_keys(1);
  const std::int64_t at = now();
  if (!add_to_candidate(digest, score_at(at, 1), at)) {
    add_to_sketch(digest, sketch_.one());
  }
  return seen;
}

template class SingleCallFilter<DecayedTop>;

std::uint64_t DecayedTop::bound_of(Digest digest) const noexcept {
  const std::uint32_t slot = table_.find(digest);
  return slot == KeyTable::kNoSlot ? score_of(sketch_.smallest(digest)) : table_.score(slot);
}

DecayedCount DecayedTop::count_of(std::uint64_t score) const noexcept {
  const double raw = static_cast<double>(score) / static_cast<double>(kOneScore);
  // The mark decays as a cell does, rounded up to its units. A score that entered from a cut cell decays in finer
  // units, and is below the mark by at most what never decays of a cell.
  return {.raw = raw,
          .rate = (1 - decay().lambda()) * raw,
          .is_saturated = ledger_->cut.may_concern(units_of(score + kMostStuck)) || score == kMostScore};
}

Time DecayedTop::newest() const noexcept { return time_of(image().state(kNewest)); }

std::vector<DecayedTop::Entry> DecayedTop::hottest(std::uint64_t least_score, std::size_t skip,
                                                   std::size_t most) const {
  const auto slots = table_.hottest(least_score, skip, most);
  std::vector<Entry> entries;
  entries.reserve(slots.size());
  for (const std::uint32_t slot : slots) {
    const auto candidate = table_.at(slot);
    entries.push_back({.key = candidate.key,
                       .count = count_of(candidate.score),
                       .last_seen = time_of(candidate.last_seen),
                       .is_cut = candidate.is_cut});
  }
  return entries;
}

std::vector<DecayedTop::Entry> DecayedTop::top(std::size_t most, std::size_t skip) const {
  return hottest(1, skip, most);
}

std::vector<DecayedTop::Entry> DecayedTop::above(double min_raw) const {
  const double score = std::ceil(min_raw * static_cast<double>(kOneScore));
  if (score > static_cast<double>(kMostScore)) {
    return {};
  }
  return hottest(score > 1 ? static_cast<std::uint64_t>(score) : 1, 0, std::numeric_limits<std::size_t>::max());
}

void DecayedTop::clear() noexcept {
  const Tick stays = tick();
  FilterBase::clear();
  table_.forget_all();
  take_tick(stays);
}

// Adds another filter's count to a key of the table.
void DecayedTop::add_theirs(std::uint32_t slot, const DecayedTop& other) noexcept {
  const Digest digest = table_.digest(slot);
  const std::uint32_t theirs = other.table_.find(digest);
  if (theirs == KeyTable::kNoSlot) {
    add_to_score(table_.score(slot), score_of(other.sketch_.smallest(digest)));
    return;
  }
  add_to_score(table_.score(slot), other.table_.score(theirs));
  table_.note_seen(slot, other.table_.last_seen(theirs));
}

Result<void> DecayedTop::merge(const DecayedTop& other) {
  MANKAI_TRY(check_mergeable(other));
  if (keys_tag() != 0 && other.keys_tag() != 0 && keys_tag() != other.keys_tag()) {
    return fail(ErrorCode::invalid_argument,
                "the filters count keys of different sorts, such as paths and hosts; merge those of one sort");
  }
  MANKAI_ASSIGN(auto copied, from_bytes(other.to_bytes(), Trust::fast));
  const Tick later = std::max(tick(), other.tick());
  advance(later);
  copied.advance(later);
  // Each table adds the other filter's counts of its keys while the sketches are still separate.
  const auto is_mine = [this](Digest digest) { return table_.find(digest) != KeyTable::kNoSlot; };
  copied.table_.for_each([&](std::uint32_t slot) {
    if (!is_mine(copied.table_.digest(slot))) {
      copied.add_theirs(slot, *this);
    }
  });
  table_.for_each([&](std::uint32_t slot) { add_theirs(slot, copied); });
  ledger_->cut = ledger_->cut.with(copied.ledger_->cut);
  image().set_state(kSaturations, add_counts(saturations(), copied.saturations()));
  if (const std::uint64_t cut = sketch_.merge(copied.sketch_.words()); cut != 0) {
    count_saturations(cut, sketch_.largest());
  }
  image().set_state(kNewest, std::max(image().state(kNewest), copied.image().state(kNewest)));
  ledger_->late_records = add_counts(ledger_->late_records, copied.late_records());
  ledger_->table.bar = std::max(ledger_->table.bar, copied.ledger_->table.bar);
  image().add_keys(copied.keys_inserted());
  copied.table_.for_each([&](std::uint32_t slot) {
    const KeyTable::Candidate candidate = copied.table_.at(slot);
    // A key of both tables has been added to already. If it was evicted since, its cells have been raised.
    if (is_mine(candidate.digest)) {
      return;
    }
    if (const std::uint32_t free = table_.slot_for(candidate.digest, candidate.score); free != KeyTable::kNoSlot) {
      enter(free, candidate);
    } else {
      raise(candidate.digest, units_of(candidate.score));
    }
  });
  return {};
}

}  // namespace mankai
