#include "mankai/filter/decayed_top/decayed_top.hpp"

#include <algorithm>
#include <array>
#include <bit>
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
  return relative_octave(octave, panes_[0].ledger->base_octave);
}

void DecayedTop::take_tick(Tick tick) noexcept {
  image().set_state(kTick, tick.value);
  epoch_begin_ = start_of(tick, epoch_).time_since_epoch().count();
  const std::int64_t room = std::numeric_limits<std::int64_t>::max() - epoch_begin_;
  epoch_last_ = epoch_begin_ + std::min<std::int64_t>(epoch_.count() - 1, room);
  weight_ = decay_.weight(tick);
  newest_ = tick.value % pane_count_;
  if (relative(weight_.octave) > kMostHotOctave) {
    rebase(weight_.octave);
  }
  octave_ = static_cast<std::int32_t>(relative(weight_.octave));
}

// Only without a window: events of all its ticks weigh 1.
void DecayedTop::rebase(std::int64_t base_octave) noexcept {
  Ledger& ledger = *panes_[0].ledger;
  const std::int64_t octaves = base_octave - ledger.base_octave;
  if (octaves == 0) {
    return;
  }
  with_table(panes_[0], [octaves](auto& table) { table.rebase(octaves); });
  ledger.bar_exponent = rebased(ledger.bar_exponent, octaves);
  ledger.base_octave = base_octave;
  octave_ = static_cast<std::int32_t>(relative(weight_.octave));
}

void DecayedTop::advance(Tick tick) noexcept {
  const Tick to = std::min(tick, Tick{kMaxTick});
  if (to > this->tick()) {
    const std::uint64_t passed = to.value - this->tick().value;
    take_tick(to);
    for (std::uint64_t age = 0; pane_count_ != 1 && age < std::min<std::uint64_t>(passed, pane_count_); ++age) {
      panes_[index_of(age)].clear();
    }
  }
}

// Keeps the events that were late, and the state of dithering.
void DecayedTop::Pane::clear() noexcept {
  names.clear();
  std::ranges::fill(lines, std::byte{});
  ledger->bar_count = 0;
  ledger->bar_exponent = 0;
}

// Advances to the events' epoch if it is later.
DecayedTop::Event DecayedTop::event_at(std::int64_t at, std::uint32_t count) noexcept {
  if (static_cast<std::uint64_t>(at) > image().state(kNewest)) {
    image().set_state(kNewest, static_cast<std::uint64_t>(at));
  }
  Scaled one;
  Pane* pane = nullptr;
  if (at < epoch_begin_) [[unlikely]] {
    std::uint64_t& late = panes_[0].ledger->late_records;
    late = add_counts(late, count);
    const Tick then = tick_of(Time(Duration(at)), epoch_);
    const ForwardWeight then_weight = decay_.weight(then);
    one = event_of(then_weight, relative(then_weight.octave));
    const std::uint64_t age = pane_count_ == 1 ? 0 : tick().value - then.value;
    pane = age < pane_count_ ? &panes_[index_of(age)] : nullptr;
  } else {
    if (at > epoch_last_) {
      advance(tick_of(Time(Duration(at)), epoch_));
    }
    one = event_of(weight_, octave_);
    pane = &panes_[newest_];
  }
  return {.pane = pane, .one = one, .all = multiple_of(one, count)};
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
      event.pane->names.drop(added.slot);
    }
    table.enter(added.slot, place.tag, added.sum, octave_);
  }
  return added.slot;
}

void DecayedTop::Pane::raise_bar(Scaled count) const noexcept {
  if (bar() < count) {
    ledger->bar_count = count.count;
    ledger->bar_exponent = count.exponent;
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
void DecayedTop::give_name(Pane& pane, Table& table, std::uint32_t slot, std::string_view key,
                           std::int64_t at) noexcept {
  const Scaled count = table.count(slot);
  const std::size_t most = pane.names.most_key_bytes();
  const std::string_view name = key.substr(0, most);
  if (!(pane.bar() < count)) {
    return;
  }
  if (!pane.names.has_room(name.size())) {
    pane.names.make_room(name.size(),
                         {.rank = [&](std::uint32_t of) { return rank_of(table.count(of)); },
                          .drop =
                              [&](std::uint32_t of) {
                                pane.raise_bar(table.count(of));
                                table.set_named(of, false);
                              },
                          .prefetch = [&](std::uint32_t of) { table.prefetch({.bucket = of / table.kWays}); }});
    if (!(pane.bar() < count)) {
      return;
    }
  }
  pane.names.add(
      {.slot = slot, .key = name, .last_seen = static_cast<std::uint64_t>(at), .is_cut = key.size() > name.size()});
  table.set_named(slot, true);
}

void DecayedTop::insert(Digest digest, std::string_view key, Time at, std::uint32_t count) noexcept {
  MANKAI_ASSERT(count != 0);
  const std::int64_t when = microseconds(at);
  const Event event = event_at(when, count);
  image().set_keys_inserted(add_counts(keys_inserted(), count));
  if (event.pane == nullptr) [[unlikely]] {
    return;
  }
  Pane& pane = *event.pane;
  with_table(pane, [&](auto& table) {
    const std::uint32_t slot = add(table, digest, event);
    if (slot == table.kNoSlot) {
      return;
    }
    if (table.is_named(slot)) {
      pane.names.note_seen(slot, static_cast<std::uint64_t>(when));
      return;
    }
    if (pane.bar() < table.count(slot)) {
      MANKAI_ASSERT(key.size() > kMostKeyBytes || hasher()(key) == digest);
      give_name(pane, table, slot, key, when);
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
    const Pane& newest = panes_[newest_];
    with_table(newest, [&](auto& table) {
      if (i + kToBucket < digests.size()) {
        table.prefetch(table.place_of(digests[i + kToBucket]));
      }
      if (i + kToLines < digests.size()) {
        const HotPlace place = table.place_of(digests[i + kToLines]);
        if (const std::uint32_t slot = table.find(place); slot == table.kNoSlot) {
          table.prefetch_cells(place);
        } else {
          newest.names.prefetch(slot);
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
  with_table(*event.pane, [&](auto& table) {
    const std::uint32_t slot = add(table, digest, event);
    if (slot != table.kNoSlot && table.is_named(slot)) {
      event.pane->names.note_seen(slot, static_cast<std::uint64_t>(at));
    }
  });
  return seen;
}

template class SingleCallFilter<DecayedTop>;

DecayedTop::AsOf DecayedTop::as_of(Time at) const noexcept {
  const std::int64_t when = std::max(microseconds(at), now());
  AsOf as{.weight = weight_, .octave = octave_, .new_panes = 0, .oldest_share = 1};
  const Tick then = when <= epoch_last_ ? tick() : tick_of(Time(Duration(when)), epoch_);
  if (then > tick()) {
    as.weight = decay_.weight(then);
    as.octave = relative(as.weight.octave);
    as.new_panes = pane_count_ == 1 ? 0 : then.value - tick().value;
  }
  if (pane_count_ != 1 && rounding_ == CountRounding::balanced) {
    const Duration passed = Time(Duration(when)) - start_of(then, epoch_);
    as.oldest_share = 1 - static_cast<double>(passed.count()) / static_cast<double>(epoch_.count());
  }
  return as;
}

HotPlace DecayedTop::place_of(Digest digest) const noexcept {
  return with_table(panes_[0], [digest](auto& table) { return table.place_of(digest); });
}

double DecayedTop::value_of(Scaled count, const AsOf& as) noexcept { return events_in(count, as.weight, as.octave); }

// Sums of counts that are not below whole numbers are not below their sum.
double DecayedTop::raw_of(HotPlace place, const AsOf& as) const noexcept {
  double raw = 0;
  for_each_pane(as, [&](const Pane& pane, double share) {
    raw += share * value_of(with_table(pane, [place](auto& table) { return table.estimate(place); }), as);
  });
  return raw;
}

DecayedCount DecayedTop::count_of(double raw) const noexcept {
  const double share = pane_count_ == 1 ? 1 - decay().lambda() : 1.0 / kPanesOfWindow;
  return {.raw = raw, .rate = share * raw, .is_saturated = false};
}

// Without a window, now is the time of the table.
DecayedCount DecayedTop::estimate(Digest digest) const noexcept {
  if (pane_count_ != 1) {
    return estimate(digest, Time());
  }
  const AsOf as{.weight = weight_, .octave = octave_, .new_panes = 0, .oldest_share = 1};
  return count_of(
      value_of(with_table(panes_[0], [digest](auto& table) { return table.estimate(table.place_of(digest)); }), as));
}

DecayedCount DecayedTop::estimate(Digest digest, Time at) const noexcept {
  return count_of(raw_of(place_of(digest), as_of(at)));
}

bool DecayedTop::may_contain(Digest digest) const noexcept {
  return std::ranges::any_of(panes(), [this, place = place_of(digest)](const Pane& pane) {
    return faint() < with_table(pane, [place](auto& table) { return table.estimate(place); });
  });
}

Scaled DecayedTop::faint() const noexcept {
  return {.count = weight_.down, .exponent = octave_ - kFactorBits - kFaintOctaves};
}

double DecayedTop::fill_of(const Pane& pane) const noexcept {
  return with_table(pane, [this](auto& table) {
    return static_cast<double>(table.cells_above(faint())) / static_cast<double>(table.cell_count());
  });
}

double DecayedTop::fill_ratio() const noexcept {
  double sum = 0;
  for (const Pane& pane : panes()) {
    sum += fill_of(pane);
  }
  return sum / pane_count_;
}

double DecayedTop::fpr_estimate() const noexcept {
  constexpr double kTags = 65536;
  double fpr = 0;
  for (const Pane& pane : panes()) {
    const double fill = fill_of(pane);
    fpr += (1 - fpr) * fill * fill;
    fpr += (1 - fpr) *
           with_table(pane, [this](auto& table) { return static_cast<double>(table.slots_above(faint())); }) /
           (static_cast<double>(buckets_) * kTags);
  }
  return fpr;
}

double DecayedTop::keys_estimate() const noexcept {
  double keys = 0;
  for (const Pane& pane : panes()) {
    keys += with_table(pane, [&](auto& table) {
      return estimate_keys(fill_of(pane), static_cast<double>(table.cell_count()), kRows) +
             static_cast<double>(table.slots_above(faint()));
    });
  }
  return keys;
}

std::uint64_t DecayedTop::cell_count() const noexcept {
  return pane_count_ * with_table(panes_[0], [](auto& table) { return table.cell_count(); });
}

std::uint64_t DecayedTop::names() const noexcept {
  return std::ranges::max(panes(), {}, [](const Pane& pane) { return pane.names.count(); }).names.count();
}

Time DecayedTop::newest() const noexcept { return time_of(image().state(kNewest)); }

struct DecayedTop::Ranked {
  double raw;  // callers see a double: what they see as equal is ordered by the bytes
  HotPlace place;
  Names::Name name;
};

// Sorts only the requested page. A key with names in several panes has the one of the newest.
std::vector<DecayedTop::Entry> DecayedTop::hottest(double least, std::size_t skip, std::size_t most, Time at) const {
  const AsOf as = as_of(at);
  std::vector<Ranked> ranked;
  for_each_pane(as, [&](const Pane& pane, double) {
    with_table(pane, [&](auto& table) {
      pane.names.for_each([&](const Names::Name& name) {
        ranked.push_back(
            {.raw = value_of(table.count(name.slot), as), .place = table.place_at(name.slot), .name = name});
      });
    });
  });
  if (pane_count_ != 1) {
    std::ranges::sort(ranked, [](const Ranked& left, const Ranked& right) {
      return left.place != right.place ? left.place < right.place : left.name.last_seen > right.name.last_seen;
    });
    const auto repeated = std::ranges::unique(ranked, {}, &Ranked::place);
    ranked.erase(repeated.begin(), repeated.end());
    for (Ranked& each : ranked) {
      each.raw = raw_of(each.place, as);
    }
  }
  std::erase_if(ranked, [least](const Ranked& each) { return each.raw < least; });
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
                       .count = count_of(each.raw),
                       .last_seen = time_of(each.name.last_seen),
                       .is_cut = each.name.is_cut});
  }
  return entries;
}

std::vector<DecayedTop::Entry> DecayedTop::top(std::size_t most, std::size_t skip, Time at) const {
  return hottest(kLeastListed, skip, most, at);
}

std::vector<DecayedTop::Entry> DecayedTop::above(double min_raw, Time at) const {
  return hottest(min_raw > 0 ? min_raw : 0, 0, std::numeric_limits<std::size_t>::max(), at);
}

void DecayedTop::clear() noexcept {
  const Tick stays = tick();
  FilterBase::clear();
  take_tick(stays);
}

// The keys with names in a pane of either filter: the highest counts get theirs first.
template <class Table>
void DecayedTop::name_again(Table& table, std::size_t pane, std::array<const DecayedTop*, 2> sources) {
  std::vector<Ranked> ranked;
  for (const DecayedTop* const from : sources) {
    from->with_table(from->panes_[pane], [&](auto& before) {
      from->panes_[pane].names.for_each([&](Names::Name name) {
        const HotPlace place = before.place_at(name.slot);
        name.slot = table.find(place);
        if (name.slot != table.kNoSlot) {
          ranked.push_back({.raw = value_of(table.count(name.slot), as_of({})), .place = place, .name = name});
        }
      });
    });
  }
  std::ranges::sort(ranked, [](const Ranked& left, const Ranked& right) {
    return left.raw != right.raw ? left.raw > right.raw : left.name.key < right.name.key;
  });
  Pane& to = panes_[pane];
  for (const Ranked& each : ranked) {
    if (table.is_named(each.name.slot)) {
      to.names.note_seen(each.name.slot, each.name.last_seen);
    } else if (to.names.has_room(each.name.key.size())) {
      to.names.add(each.name);
      table.set_named(each.name.slot, true);
    } else {
      to.raise_bar(table.count(each.name.slot));
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
  MANKAI_ASSIGN(auto mine, from_bytes(to_bytes(), Trust::fast));
  advance(std::max(tick(), other.tick()));
  mine.advance(tick());
  theirs.advance(tick());
  // The later base: exponents only decrease, so none exceeds its range.
  const std::int64_t base = std::max(panes_[0].ledger->base_octave, theirs.panes_[0].ledger->base_octave);
  rebase(base);
  theirs.rebase(base);
  image().set_state(kNewest, std::max(image().state(kNewest), theirs.image().state(kNewest)));
  if (keys_inserted() == 0) {
    std::ranges::copy(theirs.image().words(), image().words().begin());
  }
  const bool is_done = keys_inserted() == 0 || theirs.keys_inserted() == 0;
  image().set_keys_inserted(add_counts(keys_inserted(), theirs.keys_inserted()));
  if (is_done) {
    return {};
  }
  panes_[0].ledger->late_records = add_counts(late_records(), theirs.late_records());
  for (std::size_t i = 0; i < pane_count_; ++i) {
    const Pane& from = theirs.panes_[i];
    panes_[i].raise_bar(from.bar());
    panes_[i].names.clear();
    with_table(panes_[i], [&](auto& table) {
      const std::remove_reference_t<decltype(table)> added(from.lines, theirs.buckets_, &from.ledger->draws);
      table.merge(added, octave_);
      name_again(table, i, {&mine, &theirs});
    });
  }
  return {};
}

}  // namespace mankai
