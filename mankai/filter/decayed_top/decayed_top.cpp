#include "mankai/filter/decayed_top/decayed_top.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "mankai/base/assert.hpp"
#include "mankai/filter/parts/sizing.hpp"

// Updates and queries. decayed_top_image.cpp has the sizes and the checks of images.

namespace mankai {
namespace {

constexpr int kFactorBits = static_cast<int>(ForwardDecay::kFactorBits);
constexpr int kFaintOctaves = 6;
/// Decayed below it, a key is not listed.
constexpr double kLeastListed = 0x1p-20;

// Saturates at the limit of images, which only a foreign image's count reaches.
std::uint64_t add_counts(std::uint64_t count, std::uint64_t more) noexcept {
  return std::min(count + more, kMaxKeysInserted);
}

std::int64_t microseconds(Time at) noexcept { return std::max<std::int64_t>(at.time_since_epoch().count(), 0); }

// One event `times` times, rounded up to 61 bits.
Scaled multiple_of(Scaled one, std::uint32_t times) noexcept {
  constexpr std::uint32_t kExactTimes = 1U << 27;
  constexpr int kDropped = 5;
  return times < kExactTimes ? Scaled{one.count * times, one.exponent}
                             : Scaled{scaled_up(one.count, -kDropped) * times, one.exponent + kDropped};
}

}  // namespace

std::int64_t DecayedTop::relative(std::int64_t octave) const noexcept {
  return octave - ledger_->base_octave + kFirstOctave;
}

void DecayedTop::take_tick(Tick tick) noexcept {
  image().set_state(kTick, tick.value);
  epoch_begin_ = start_of(tick, epoch_).time_since_epoch().count();
  const std::int64_t room = std::numeric_limits<std::int64_t>::max() - epoch_begin_;
  epoch_last_ = epoch_begin_ + std::min<std::int64_t>(epoch_.count() - 1, room);
  weight_ = decay_.weight(tick);
  if (relative(weight_.octave) > kMostHotOctave) {
    rebase(weight_.octave);
  }
  octave_ = static_cast<std::int32_t>(relative(weight_.octave));
}

void DecayedTop::rebase(std::int64_t base_octave) noexcept {
  const std::int64_t octaves = base_octave - ledger_->base_octave;
  if (octaves == 0) {
    return;
  }
  with_table([octaves](auto& table) { table.rebase(octaves); });
  ledger_->bar_exponent = rebased(ledger_->bar_exponent, octaves);
  ledger_->base_octave = base_octave;
  octave_ = static_cast<std::int32_t>(relative(weight_.octave));
}

void DecayedTop::advance(Tick tick) noexcept {
  const Tick to = std::min(tick, Tick{kMaxTick});
  if (to > this->tick()) {
    take_tick(to);
  }
}

// The earliest events weigh nothing, as those of the first octave.
Scaled DecayedTop::event_of(const ForwardWeight& weight) const noexcept {
  const std::int64_t octave = std::max<std::int64_t>(relative(weight.octave), -kMostHotOctave);
  return {.count = weight.up, .exponent = static_cast<std::int32_t>(octave) - kFactorBits};
}

// Advances to the events' epoch if it is later.
DecayedTop::Event DecayedTop::event_at(std::int64_t at, std::uint32_t count) noexcept {
  if (static_cast<std::uint64_t>(at) > image().state(kNewest)) {
    image().set_state(kNewest, static_cast<std::uint64_t>(at));
  }
  Scaled one;
  if (at < epoch_begin_) [[unlikely]] {
    ledger_->late_records = add_counts(ledger_->late_records, count);
    one = event_of(decay_.weight(tick_of(Time(Duration(at)), epoch_)));
  } else {
    if (at > epoch_last_) {
      advance(tick_of(Time(Duration(at)), epoch_));
    }
    one = event_of(weight_);
  }
  return {.one = one, .all = multiple_of(one, count)};
}

// Returns the key's slot, or kNoSlot.
template <class Table>
std::uint32_t DecayedTop::add(Table& table, Digest digest, const Event& event) noexcept {
  const HotPlace place = table.place_of(digest);
  if (const std::uint32_t slot = table.find(place); slot != Table::kNoSlot) {
    table.add_to(slot, event.all);
    return slot;
  }
  const auto added = table.add_to_others(place, event.all, event.one, octave_);
  if (added.slot != Table::kNoSlot) {
    if (table.is_named(added.slot)) {
      table.set_named(added.slot, false);
      names_.drop(added.slot);
    }
    table.enter(added.slot, place.tag, added.sum, octave_);
  }
  return added.slot;
}

void DecayedTop::raise_bar(Scaled count) noexcept {
  if (bar() < count) {
    ledger_->bar_count = count.count;
    ledger_->bar_exponent = count.exponent;
  }
}

// Steps of a sixteenth of an octave, from 2^-24 to 2^40 events now.
std::uint32_t DecayedTop::rank_of(Scaled count) const noexcept {
  constexpr int kLeastOctave = -24;
  constexpr int kStepBits = 4;
  constexpr int kMostOctave = (static_cast<int>(Names::kMostRank) >> kStepBits);
  const int octave = count.top() - octave_ - kLeastOctave;
  if (octave < 0 || octave > kMostOctave) {
    return octave < 0 ? 0 : Names::kMostRank;
  }
  const std::uint64_t below_top = count.count << std::countl_zero(count.count) << 1;
  return static_cast<std::uint32_t>(octave) << kStepBits | static_cast<std::uint32_t>(below_top >> (64 - kStepBits));
}

template <class Table>
void DecayedTop::give_name(Table& table, std::uint32_t slot, std::string_view key, std::int64_t at) noexcept {
  const Scaled count = table.count(slot);
  const std::size_t most = names_.most_key_bytes();
  const std::string_view name = key.substr(0, most);
  if (!(bar() < count)) {
    return;
  }
  if (!names_.has_room(name.size())) {
    names_.make_room(name.size(),
                     {.rank = [&](std::uint32_t of) { return rank_of(table.count(of)); },
                      .drop =
                          [&](std::uint32_t of) {
                            raise_bar(table.count(of));
                            table.set_named(of, false);
                          },
                      .prefetch = [&](std::uint32_t of) { table.prefetch({.bucket = of / table.kWays}); }});
    if (!(bar() < count)) {
      return;
    }
  }
  names_.add(
      {.slot = slot, .key = name, .last_seen = static_cast<std::uint64_t>(at), .is_cut = key.size() > name.size()});
  table.set_named(slot, true);
}

void DecayedTop::insert(Digest digest, std::string_view key, Time at, std::uint32_t count) noexcept {
  MANKAI_ASSERT(count != 0);
  const std::int64_t when = microseconds(at);
  const Event event = event_at(when, count);
  image().set_keys_inserted(add_counts(keys_inserted(), count));
  with_table([&](auto& table) {
    const std::uint32_t slot = add(table, digest, event);
    if (slot == table.kNoSlot) {
      return;
    }
    if (table.is_named(slot)) {
      names_.note_seen(slot, static_cast<std::uint64_t>(when));
      return;
    }
    if (bar() < table.count(slot)) {
      MANKAI_ASSERT(key.size() > kMostKeyBytes || hasher()(key) == digest);
      give_name(table, slot, key, when);
    }
  });
}

void DecayedTop::insert(std::span<const Digest> digests, std::span<const std::string_view> keys,
                        std::span<const Time> times) noexcept {
  MANKAI_ASSERT(digests.size() == keys.size() && digests.size() == times.size());
  // A bucket's tags say which lines come next.
  constexpr std::size_t kToLines = 8;
  constexpr std::size_t kToBucket = 2 * kToLines;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    with_table([&](auto& table) {
      if (i + kToBucket < digests.size()) {
        table.prefetch(table.place_of(digests[i + kToBucket]));
      }
      if (i + kToLines < digests.size()) {
        const HotPlace place = table.place_of(digests[i + kToLines]);
        if (const std::uint32_t slot = table.find(place); slot == table.kNoSlot) {
          table.prefetch_cells(place);
        } else {
          names_.prefetch(slot);
        }
      }
    });
    insert(digests[i], keys[i], times[i]);
  }
}

std::int64_t DecayedTop::now() const noexcept {
  return std::max(epoch_begin_, static_cast<std::int64_t>(image().state(kNewest)));
}

bool DecayedTop::observe(Digest digest) noexcept {
  const bool seen = may_contain(digest);
  image().add_keys(1);
  const std::int64_t at = now();
  const Event event = event_at(at, 1);
  with_table([&](auto& table) {
    const std::uint32_t slot = add(table, digest, event);
    if (slot != table.kNoSlot && table.is_named(slot)) {
      names_.note_seen(slot, static_cast<std::uint64_t>(at));
    }
  });
  return seen;
}

template class SingleCallFilter<DecayedTop>;

Scaled DecayedTop::bound_of(Digest digest) const noexcept {
  return with_table([digest](auto& table) { return table.estimate(table.place_of(digest)); });
}

// Weights of events are rounded up and this one down, so the quotient of doubles is never too low.
double DecayedTop::value_of(Scaled count) const noexcept {
  return std::ldexp(static_cast<double>(count.count) / static_cast<double>(weight_.down),
                    count.exponent - octave_ + kFactorBits);
}

DecayedCount DecayedTop::count_of(Scaled count) const noexcept {
  const double raw = value_of(count);
  return {.raw = raw, .rate = (1 - decay().lambda()) * raw, .is_saturated = false};
}

Scaled DecayedTop::faint() const noexcept {
  return {.count = weight_.down, .exponent = octave_ - kFactorBits - kFaintOctaves};
}

double DecayedTop::fill_ratio() const noexcept {
  return with_table([this](auto& table) {
    return static_cast<double>(table.cells_above(faint())) / static_cast<double>(table.cell_count());
  });
}

double DecayedTop::fpr_estimate() const noexcept {
  constexpr double kTags = 65536;
  const double cells = fill_ratio() * fill_ratio();
  const double tags = with_table([this](auto& table) { return static_cast<double>(table.slots_above(faint())); }) /
                      (static_cast<double>(buckets_) * kTags);
  return cells + (1 - cells) * tags;
}

double DecayedTop::keys_estimate() const noexcept {
  return with_table([this](auto& table) {
    return estimate_keys(fill_ratio(), static_cast<double>(table.cell_count()), kRows) +
           static_cast<double>(table.slots_above(faint()));
  });
}

std::uint64_t DecayedTop::cell_count() const noexcept {
  return with_table([](auto& table) { return table.cell_count(); });
}

Time DecayedTop::newest() const noexcept { return time_of(image().state(kNewest)); }

struct DecayedTop::Ranked {
  double raw;  // callers see a double: what they see as equal is ordered by the bytes
  Names::Name name;
};

// Sorts only the requested page.
std::vector<DecayedTop::Entry> DecayedTop::hottest(double least, std::size_t skip, std::size_t most) const {
  std::vector<Ranked> ranked;
  with_table([&](auto& table) {
    names_.for_each([&](const Names::Name& name) {
      if (const double raw = value_of(table.count(name.slot)); raw >= least) {
        ranked.push_back({.raw = raw, .name = name});
      }
    });
  });
  const auto is_before = [](const Ranked& left, const Ranked& right) {
    return left.raw != right.raw ? left.raw > right.raw : left.name.key < right.name.key;
  };
  const auto page = std::span(ranked).subspan(std::min(skip, ranked.size()));
  const auto listed = page.first(std::min(most, page.size()));
  if (skip != 0 && !listed.empty()) {
    std::nth_element(ranked.begin(), ranked.end() - static_cast<std::ptrdiff_t>(page.size()), ranked.end(), is_before);
  }
  std::partial_sort(page.begin(), page.begin() + static_cast<std::ptrdiff_t>(listed.size()), page.end(), is_before);
  std::vector<Entry> entries;
  entries.reserve(listed.size());
  for (const Ranked& each : listed) {
    entries.push_back({.key = each.name.key,
                       .count = {.raw = each.raw, .rate = (1 - decay().lambda()) * each.raw},
                       .last_seen = time_of(each.name.last_seen),
                       .is_cut = each.name.is_cut});
  }
  return entries;
}

std::vector<DecayedTop::Entry> DecayedTop::top(std::size_t most, std::size_t skip) const {
  return hottest(kLeastListed, skip, most);
}

std::vector<DecayedTop::Entry> DecayedTop::above(double min_raw) const {
  return hottest(min_raw > 0 ? min_raw : 0, 0, std::numeric_limits<std::size_t>::max());
}

void DecayedTop::clear() noexcept {
  const Tick stays = tick();
  FilterBase::clear();
  take_tick(stays);
}

// The keys with names in either filter: the highest counts get theirs first.
template <class Table>
void DecayedTop::name_again(Table& table, std::array<const DecayedTop*, 2> sources) {
  std::vector<Ranked> ranked;
  for (const DecayedTop* const from : sources) {
    from->with_table([&](auto& before) {
      from->names_.for_each([&](Names::Name name) {
        name.slot = table.find(before.place_at(name.slot));
        if (name.slot != table.kNoSlot) {
          ranked.push_back({.raw = value_of(table.count(name.slot)), .name = name});
        }
      });
    });
  }
  std::ranges::sort(ranked, [](const Ranked& left, const Ranked& right) {
    return left.raw != right.raw ? left.raw > right.raw : left.name.key < right.name.key;
  });
  for (const Ranked& each : ranked) {
    if (table.is_named(each.name.slot)) {
      names_.note_seen(each.name.slot, each.name.last_seen);
    } else if (names_.has_room(each.name.key.size())) {
      names_.add(each.name);
      table.set_named(each.name.slot, true);
    } else {
      raise_bar(table.count(each.name.slot));
    }
  }
}

Result<void> DecayedTop::merge(const DecayedTop& other) {
  MANKAI_TRY(check_mergeable(other));
  if (keys_tag() != 0 && other.keys_tag() != 0 && keys_tag() != other.keys_tag()) {
    return fail(ErrorCode::invalid_argument,
                "the filters count keys of different sorts, such as paths and hosts; merge those of one sort");
  }
  MANKAI_ASSIGN(auto theirs, from_bytes(other.to_bytes(), Trust::fast));
  MANKAI_ASSIGN(const auto mine, from_bytes(to_bytes(), Trust::fast));
  advance(std::max(tick(), other.tick()));
  theirs.advance(tick());
  theirs.rebase(ledger_->base_octave);
  image().set_state(kNewest, std::max(image().state(kNewest), theirs.image().state(kNewest)));
  if (keys_inserted() == 0) {
    std::ranges::copy(theirs.image().words(), image().words().begin());
  }
  if (keys_inserted() == 0 || theirs.keys_inserted() == 0) {
    image().add_keys(theirs.keys_inserted());
    return {};
  }
  ledger_->late_records = add_counts(ledger_->late_records, theirs.late_records());
  image().add_keys(theirs.keys_inserted());
  raise_bar(theirs.bar());
  names_.clear();
  with_table([&](auto& table) {
    const std::remove_reference_t<decltype(table)> added(theirs.lines_, theirs.buckets_, &theirs.ledger_->draws);
    table.merge(added, octave_);
    name_again(table, {&mine, &theirs});
  });
  return {};
}

}  // namespace mankai
