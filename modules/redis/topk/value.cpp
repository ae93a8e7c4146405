#include "modules/redis/topk/value.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "mankai/base/bits.hpp"
#include "mankai/takeover/heavy_keeper.hpp"

namespace mankai::redis {
namespace {

using Params = TopList::Params;

/// 2^(-1/64) · 2^32, rounded up.
constexpr std::uint64_t kLambda = 4'248'701'965;
constexpr std::int64_t kEpochsPerHalfLife = 64;
constexpr std::size_t kEntryBytes = 12;
constexpr std::size_t kUnitBytes = sizeof(std::uint32_t);
constexpr std::uint64_t kMostUnits = ~std::uint32_t{0};
constexpr std::uint64_t kMostTextBytes = ~std::uint32_t{0};
/// Slots have numbers of 32 bits.
constexpr std::uint64_t kMostBuckets = std::uint64_t{1} << 27;

// What RedisBloom 2.8 takes (MEMORY USAGE): 2088 bytes, 8 per cell, and 24 per item.
constexpr std::uint64_t kTheirBytes = 2088;
constexpr std::uint64_t kTheirCellBytes = 8;
constexpr std::uint64_t kTheirItemBytes = 24;
/// The object that holds an image.
constexpr std::uint64_t kObjectBytes = 128;
/// Room for texts at first: twice that of 12 bytes each, in at most half of the memory.
constexpr std::uint64_t kFirstTextBytes = 32;
constexpr std::uint64_t kMostTextsShare = 2;
/// Of the lines of counts, a quarter is the table, as in decayed-top; half of them, if so many are needed for two slots
/// per listed item.
constexpr std::uint64_t kTableShare = 4;
constexpr std::uint64_t kSlotsPerItem = 2;

constexpr std::uint64_t list_lines_of(std::uint64_t most) noexcept {
  return divide_up<std::uint64_t>(most * kEntryBytes, kCacheLineBytes);
}
constexpr std::uint64_t lines_before_texts(const Params& params) noexcept {
  return 1 + std::uint64_t{params.buckets} + params.sketch_lines + list_lines_of(params.most);
}
constexpr std::uint64_t units_of(std::uint64_t text_bytes) noexcept {
  return 1 + divide_up<std::uint64_t>(text_bytes, kUnitBytes);
}

// Lines of cells within RedisBloom's memory.
std::uint64_t lines_within(const TopSettings& settings) noexcept {
  const std::uint64_t bytes =
      kTheirBytes + kTheirItemBytes * settings.most + kTheirCellBytes * settings.width * settings.depth - kObjectBytes;
  std::uint64_t lines = cell_lines_within(bytes);
  // Once or twice, for the engine's block.
  while (engine_bytes(image_bytes_for(lines * kCacheLineBytes)) > bytes) {
    --lines;
  }
  return lines;
}

// Pre: lines >= 30, and 0.37 lines per item.
Params params_of(const TopSettings& settings, std::uint64_t lines) noexcept {
  const std::uint64_t rest = lines - 1 - list_lines_of(settings.most);
  const std::uint64_t texts =
      std::min(divide_up<std::uint64_t>(kFirstTextBytes * settings.most, kCacheLineBytes), rest / kMostTextsShare);
  const std::uint64_t counts = rest - texts;
  const std::uint64_t wanted = kSlotsPerItem * settings.most / StrictBucket::kWays;
  const std::uint64_t buckets = std::clamp(wanted, counts / kTableShare, counts / 2);
  const auto limited = static_cast<std::uint32_t>(std::min(buckets, kMostBuckets));
  return {.most = settings.most,
          .buckets = limited,
          .sketch_lines = static_cast<std::uint32_t>(std::min(counts - limited, kMostUnits)),
          .zero = 0,
          .epoch_us = static_cast<std::uint64_t>(settings.half_life.count() / kEpochsPerHalfLife)};
}

}  // namespace

Result<TopList> TopList::create(const TopSettings& settings) {
  // RedisBloom's shapes are limited alike in both layouts.
  MANKAI_TRY(takeover::HeavyKeeperShape(
                 {.most = settings.most, .width = settings.width, .depth = settings.depth, .decay = settings.decay})
                 .check());
  const std::uint64_t lines = lines_within(settings);
  const Params params = params_of(settings, lines);
  MANKAI_ASSIGN(auto image, Image::create(kKind,
                                          {.capacity_keys = settings.most,
                                           .fpr_target = 1.0 / (1U << 16U),
                                           .hash = settings.hash,
                                           .cells_bytes = lines * kCacheLineBytes},
                                          engine_memory()));
  image.set_params(params);
  Ledger& ledger = *view_of(image).ledger;
  ledger.width = settings.width;
  ledger.depth = settings.depth;
  ledger.decay_bits = std::bit_cast<std::uint64_t>(settings.decay);
  return TopList(std::move(image));
}

TopList::TopList(Image image) noexcept : FilterBase(std::move(image)), decay_(decays() ? kLambda : kLambdaOne) {
  settle();
}

TopSettings TopList::settings() const noexcept {
  const Ledger& ledger = *view().ledger;
  return {.most = most(),
          .width = ledger.width,
          .depth = ledger.depth,
          .decay = std::bit_cast<double>(ledger.decay_bits),
          .half_life = epoch() * kEpochsPerHalfLife,
          .hash = hash()};
}

// Constant lists have the same view: what it points to is changed by non-const members only.
TopList::View TopList::view_of(const Image& image) noexcept {
  const auto words = image.words();
  const std::span cells(reinterpret_cast<std::byte*>(const_cast<std::uint64_t*>(words.data())), words.size_bytes());
  const auto params = image.params<Params>();
  const std::size_t counts = (std::size_t{params.buckets} + params.sketch_lines) * kCacheLineBytes;
  const auto after = cells.subspan(kCacheLineBytes + counts);
  return {.ledger = reinterpret_cast<Ledger*>(cells.data()),
          .table = Table(cells.subspan(kCacheLineBytes, counts), params.buckets, nullptr),
          .entries = {reinterpret_cast<Entry*>(after.data()), params.most},
          .texts = after.subspan(list_lines_of(params.most) * kCacheLineBytes)};
}

std::string_view TopList::View::text_of(const Entry& entry) const noexcept {
  std::uint32_t length;
  const std::byte* const start = texts.data() + std::size_t{entry.text} * kUnitBytes;
  std::memcpy(&length, start, sizeof(length));
  return {reinterpret_cast<const char*>(start + sizeof(length)), length};
}

// Pre: has_room.
std::uint32_t TopList::View::append(std::string_view text) const noexcept {
  const std::uint32_t unit = ledger->used;
  const auto length = static_cast<std::uint32_t>(text.size());
  const auto units = static_cast<std::uint32_t>(units_of(length));
  std::byte* const start = texts.data() + std::size_t{unit} * kUnitBytes;
  std::memset(start + (units - 1) * kUnitBytes, 0, kUnitBytes);
  std::memcpy(start, &length, sizeof(length));
  std::ranges::copy(std::as_bytes(std::span(text)), start + sizeof(length));
  ledger->used += units;
  return unit;
}

bool TopList::View::has_room(std::size_t text_bytes) const noexcept {
  return text_bytes <= kMostTextBytes &&
         units_of(text_bytes) <= std::min<std::uint64_t>(texts.size() / kUnitBytes, kMostUnits) - ledger->used;
}

TopList::Entry* TopList::View::find(HotPlace place) const noexcept {
  const auto found = std::ranges::find_if(
      listed(), [&](const Entry& entry) { return entry.bucket == place.bucket && entry.tag == place.tag; });
  return found == listed().end() ? nullptr : &*found;
}

// An item with the lowest count, which becomes the bar. Counts never decrease, so none is below the bar. Second, tests
// the one that was listed last: alone with the lowest count, it would be at the end of a pass.
std::uint32_t TopList::View::find_coldest() const noexcept {
  constexpr std::uint32_t kAhead = 8;
  const auto size = static_cast<std::uint32_t>(entries.size());
  const auto at_step = [&](std::uint32_t step) {
    const std::uint32_t at = ledger->hand + step;
    return at < size ? at : at - size;
  };
  std::uint32_t coldest = ledger->hand;
  Scaled least = table.estimate(entries[coldest].place());
  for (std::uint32_t i = 1; i < size && ledger->bar() < least; ++i) {
    const std::uint32_t at = at_step(i == 1 ? size - 1 : i - 1);
    table.prefetch(entries[at_step(std::min(i + kAhead, size - 1))].place());
    if (const Scaled count = table.estimate(entries[at].place()); count < least) {
      least = count;
      coldest = at;
    }
  }
  ledger->bar_count = least.count;
  ledger->bar_exponent = least.exponent;
  ledger->hand = coldest;
  return coldest;
}

Time TopList::newest() const noexcept { return decays() ? start_of(tick(), epoch()) : Time{}; }

ForwardWeight TopList::weight_at(Time at) const noexcept {
  return decay_.weight(decays() ? std::max(tick(), tick_of(at, epoch())) : Tick{});
}

std::int64_t TopList::relative(std::int64_t octave) const noexcept {
  return relative_octave(octave, view().ledger->base_octave);
}

void TopList::settle() noexcept {
  View view = this->view();
  const std::int64_t octave = decay_.weight(tick()).octave;
  if (relative(octave) > kMostHotOctave) {
    view.table.rebase(octave - view.ledger->base_octave);
    view.ledger->bar_count = 0;
    view.ledger->base_octave = octave;
  }
  octave_ = static_cast<std::int32_t>(relative(octave));
  newest_weight_ = decay_.weight(tick());
}

void TopList::prefetch(std::span<const std::string_view> items, std::span<Digest> digests) const noexcept {
  const Table table = view().table;
  hasher()(items, digests.first(items.size()));
  for (const Digest digest : digests.first(items.size())) {
    table.prefetch(table.place_of(digest));
  }
}

Result<std::optional<std::string_view>> TopList::add(Digest digest, std::string_view item, std::uint32_t increment,
                                                     Time at) {
  View view = this->view();
  const Tick then = decays() ? tick_of(at, epoch()) : Tick{};
  const ForwardWeight weight = then == tick() ? newest_weight_ : decay_.weight(then);
  const auto all_of = [increment](Scaled one) { return Scaled{one.count * increment, one.exponent}; };
  const HotPlace place = view.table.place_of(digest);
  std::uint32_t slot = view.table.find(place);
  const bool is_marked = slot != Table::kNoSlot && view.table.is_named(slot);
  if (!is_marked && !view.has_room(item.size()) &&
      (view.ledger->listed < most() || then > tick() ||
       !(sum_of(view.table.estimate(place), all_of(event_of(weight, relative(weight.octave)))) < view.ledger->bar()))) {
    MANKAI_TRY(make_room(item.size()));
    view = this->view();
  }
  if (then > tick()) {
    image().set_state(kTick, then.value);
    settle();
  }
  const Scaled event = event_of(weight, relative(weight.octave));
  const Scaled all = all_of(event);
  image().set_keys_inserted(std::min(keys_inserted() + increment, kMaxKeysInserted));
  Scaled count;
  if (slot != Table::kNoSlot) {
    view.table.add_to(slot, all);
    if (is_marked) {
      return std::nullopt;
    }
    count = view.table.count(slot);
  } else {
    const auto added = view.table.add_to_others(place, all, event, octave_);
    slot = added.slot;
    count = added.sum;
    if (slot != Table::kNoSlot) {
      outside_ += static_cast<std::uint32_t>(view.table.is_named(slot));
      view.table.set_named(slot, false);
      view.table.enter(slot, place.tag, count, octave_);
    }
  }
  if (count < view.ledger->bar()) {
    return std::nullopt;
  }
  const auto mark = [&](std::uint32_t marked, bool is_listed) {
    if (marked != Table::kNoSlot) {
      view.table.set_named(marked, is_listed);
    }
    return marked == Table::kNoSlot;
  };
  if (outside_ != 0 && view.find(place) != nullptr) {
    outside_ -= static_cast<std::uint32_t>(!mark(slot, true));
    return std::nullopt;
  }
  if (!view.has_room(item.size())) {  // the sum was rounded up to the bar
    return std::nullopt;
  }
  std::optional<std::string_view> expelled;
  std::uint32_t entry = view.ledger->listed;
  if (entry < view.entries.size()) {
    ++view.ledger->listed;
  } else {
    entry = view.find_coldest();
    if (count < view.ledger->bar()) {
      return std::nullopt;
    }
    expelled = view.text_of(view.entries[entry]);
    outside_ -= static_cast<std::uint32_t>(mark(view.table.find(view.entries[entry].place()), false));
    view.ledger->hand = entry + 1 == view.entries.size() ? 0 : entry + 1;
  }
  view.entries[entry] = {.bucket = place.bucket, .text = view.append(item), .tag = place.tag, .zero = 0};
  outside_ += static_cast<std::uint32_t>(mark(slot, true));
  return expelled;
}

// Packs the texts, in an image with twice the room that they take if more than three quarters are in use.
Result<void> TopList::make_room(std::size_t text_bytes) {
  const View before = view();
  std::uint64_t units = units_of(text_bytes);
  for (const Entry& entry : before.listed()) {
    units += units_of(before.text_of(entry).size());
  }
  if (text_bytes > kMostTextBytes || units > kMostUnits / 2) {
    return fail(ErrorCode::out_of_space, "texts of more than 8 GiB");
  }
  const auto front = static_cast<std::size_t>(before.texts.data() - std::as_bytes(image().words()).data());
  std::optional<Image> larger;
  if (units * kUnitBytes * 4 / 3 > before.texts.size()) {
    const std::uint64_t cells = front + align_up<std::uint64_t>(2 * units * kUnitBytes, kCacheLineBytes);
    MANKAI_ASSIGN(larger, Image::create(kKind, {.hash = hash(), .cells_bytes = cells}, engine_memory()));
    larger->header() = image().header();
    larger->header().cells_bytes = cells;
    std::memcpy(larger->words().data(), image().words().data(), front);
  }
  const View packed = view_of(larger ? *larger : image());
  std::vector<Entry*> entries;
  entries.reserve(packed.listed().size());
  for (Entry& entry : packed.listed()) {
    entries.push_back(&entry);
  }
  std::ranges::sort(entries, {}, [](const Entry* entry) { return entry->text; });
  std::uint32_t to = 0;
  for (Entry* const entry : entries) {
    const auto size = static_cast<std::uint32_t>(units_of(before.text_of(*entry).size()));
    std::memmove(packed.texts.data() + std::size_t{to} * kUnitBytes,
                 before.texts.data() + std::size_t{entry->text} * kUnitBytes, std::size_t{size} * kUnitBytes);
    entry->text = std::exchange(to, to + size);
  }
  packed.ledger->used = to;
  if (larger) {
    image() = std::move(*larger);
  }
  return {};
}

double TopList::value_of(Scaled count, const ForwardWeight& weight) const noexcept {
  return events_in(count, weight, relative(weight.octave));
}

bool TopList::is_listed(std::string_view item) const noexcept {
  const View view = this->view();
  const HotPlace place = view.table.place_of(hasher()(item));
  const std::uint32_t slot = view.table.find(place);
  if (slot != Table::kNoSlot ? !view.table.is_named(slot)
                             : outside_ == 0 || view.table.estimate(place) < view.ledger->bar()) {
    return false;
  }
  const Entry* const entry = view.find(place);
  return entry != nullptr && view.text_of(*entry) == item;
}

double TopList::count(std::string_view item, Time at) const noexcept {
  const Table table = view().table;
  return value_of(table.estimate(table.place_of(hasher()(item))), weight_at(at));
}

std::vector<TopList::Item> TopList::items(Time at) const {
  const View view = this->view();
  const ForwardWeight weight = weight_at(at);
  std::vector<Item> items;
  items.reserve(view.listed().size());
  for (const Entry& entry : view.listed()) {
    view.table.prefetch(entry.place());
    items.push_back({.text = view.text_of(entry), .count = 0});
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].count = value_of(view.table.estimate(view.listed()[i].place()), weight);
  }
  std::ranges::sort(items, [](const Item& left, const Item& right) {
    return left.count != right.count ? left.count > right.count : left.text < right.text;
  });
  return items;
}

// Cells of another moment would not fit each other.
ImageParts TopList::parts() const {
  ImageParts parts = parts_of(*this);
  bind_to_moment(parts);
  return parts;
}

Result<TopList> TopList::from_image(AssembledImage source) {
  MANKAI_ASSIGN(auto image, Image::adopt(std::move(source.image), Trust::fast));
  MANKAI_TRY(check_kind(image, kKind, sizeof(Params) / sizeof(std::uint64_t), kTick + 1));
  const auto params = image.params<Params>();
  const auto most_epoch = static_cast<std::uint64_t>(kLongestDuration.count() / kEpochsPerHalfLife);
  const auto least_epoch = static_cast<std::uint64_t>(kLeastHalfLife.count() / kEpochsPerHalfLife);
  if (params.most == 0 || params.most > kMostListed || params.buckets == 0 || params.buckets > kMostBuckets ||
      params.sketch_lines == 0 || params.zero != 0 ||
      lines_before_texts(params) > image.header().cells_bytes / kCacheLineBytes ||
      (params.epoch_us != 0 && (params.epoch_us < least_epoch || params.epoch_us > most_epoch))) {
    return fail(ErrorCode::corrupt, "the shape of a list at offset 64 does not fit its cells");
  }
  const Ledger& ledger = *view_of(image).ledger;
  const std::uint64_t tick = image.state(kTick);
  const std::int64_t octave = ForwardDecay(params.epoch_us != 0 ? kLambda : kLambdaOne).weight({tick}).octave;
  if (tick > (params.epoch_us != 0 ? kMaxTick : 0) || ledger.base_octave < 0 || ledger.base_octave > octave ||
      relative_octave(octave, ledger.base_octave) > kMostHotOctave) {
    return fail(ErrorCode::corrupt, "a base of weights that does not fit the tick at offset 96");
  }
  TopList list(std::move(image));
  MANKAI_TRY(list.check());
  return list;
}

// Also counts the listed items that are not in the table.
Result<void> TopList::check() {
  const View view = this->view();
  const Ledger& ledger = *view.ledger;
  const auto decay = std::bit_cast<double>(ledger.decay_bits);
  std::uint64_t marked = 0;
  if (ledger.width == 0 || ledger.depth == 0 || !(decay > 0 && decay <= 1) || ledger.listed > most() ||
      ledger.hand >= most() || ledger.used > view.texts.size() / kUnitBytes || ledger.bar_count > kMostScaled ||
      !is_hot_exponent(ledger.bar_exponent) || !is_zero(ledger.zeros) || view.table.find_wrong(marked) != nullptr) {
    return fail(ErrorCode::corrupt, "an impossible ledger or table of a list");
  }
  std::vector<std::uint64_t> places;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> texts;  // begin and end
  for (const Entry& entry : view.listed()) {
    const std::uint64_t room = ledger.used - std::min(ledger.used, entry.text);
    if (room == 0 || units_of(view.text_of(entry).size()) > room) {
      return fail(ErrorCode::corrupt, "a text of a list outside of its room");
    }
    const HotPlace place = view.table.place_of(hasher()(view.text_of(entry)));
    const std::uint32_t slot = view.table.find(place);
    const bool is_marked = slot != Table::kNoSlot && view.table.is_named(slot);
    if (place.bucket != entry.bucket || place.tag != entry.tag || entry.zero != 0 ||
        is_marked != (slot != Table::kNoSlot) || view.table.estimate(place) < ledger.bar()) {
      return fail(ErrorCode::corrupt, "an item of a list that is not counted as one");
    }
    outside_ += static_cast<std::uint32_t>(!is_marked);
    marked -= static_cast<std::uint64_t>(is_marked);
    texts.emplace_back(entry.text, entry.text + units_of(view.text_of(entry).size()));
    places.push_back(std::uint64_t{place.bucket} << 16U | place.tag);
  }
  std::ranges::sort(places);
  std::ranges::sort(texts);
  const auto overlap = [](const auto& left, const auto& right) { return left.second > right.first; };
  const bool is_full = ledger.listed == most();
  if (marked != 0 || std::ranges::adjacent_find(texts, overlap) != texts.end() ||
      std::ranges::adjacent_find(places) != places.end() || (!is_full && ledger.bar_count != 0)) {
    return fail(ErrorCode::corrupt, "items of a list that do not fit together");
  }
  return {};
}

}  // namespace mankai::redis
