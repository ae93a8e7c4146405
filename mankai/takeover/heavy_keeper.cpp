#include "mankai/takeover/heavy_keeper.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/base/number.hpp"
#include "mankai/hash/murmur2.hpp"

namespace mankai::takeover {
namespace {

constexpr std::uint64_t kMostCellBytes = std::uint64_t{1} << 40;
constexpr std::uint32_t kMostCount = std::numeric_limits<std::uint32_t>::max();

std::unexpected<Error> top_corrupt(const std::string& what) {
  return fail(ErrorCode::corrupt, "not a top-k list of RedisBloom: " + what);
}

std::uint32_t fingerprint_of(std::string_view item) noexcept { return murmur2_32(item, 1919); }

/// Bytes that a text allocates.
std::uint64_t heap_bytes(const std::string& text) noexcept {
  return text.capacity() > std::string().capacity() ? text.capacity() + 1 : 0;
}

/// By multiplications alone: the same on every machine, which std::pow is not.
double power(double base, std::uint32_t exponent) noexcept {
  double result = 1;
  for (; exponent != 0; exponent /= 2, base *= base) {
    result *= exponent % 2 != 0 ? base : 1;
  }
  return result;
}

}  // namespace

Result<void> HeavyKeeperShape::check() const {
  if (most < 1 || width < 1 || depth < 1) {
    return fail(ErrorCode::invalid_argument, "expected k, width and depth of 1 to 4294967295");
  }
  if (!(decay > 0 && decay <= 1)) {
    return fail(ErrorCode::invalid_argument,
                "a decay of " + std::to_string(decay) + "; expected more than 0, at most 1");
  }
  if (std::uint64_t{width} * depth > kMostCellBytes / 8) {
    return fail(ErrorCode::invalid_argument, "a sketch of more than 1 TiB; give a smaller width or depth");
  }
  return {};
}

Result<HeavyKeeper> HeavyKeeper::create(const HeavyKeeperShape& shape, const Memory& memory, std::uint64_t seed) {
  static_assert(sizeof(Cell) == 8 && sizeof(Place) == 24);
  MANKAI_TRY(shape.check());
  MANKAI_ASSIGN(Region cells, Region::allocate(memory, shape.cell_bytes()));
  MANKAI_ASSIGN(Region heap, Region::allocate(memory, shape.heap_bytes()));
  return HeavyKeeper(shape, seed, std::move(cells), std::move(heap));
}

Result<HeavyKeeper> HeavyKeeper::load(FieldReader& fields, unsigned encver, const Memory& memory) {
  if (encver != kEncver) {
    return fail(ErrorCode::unsupported_version,
                "a top-k list of a later RedisBloom: encoding " + std::to_string(encver) + ", expected 0");
  }
  HeavyKeeperShape shape;
  for (std::uint32_t* const small : {&shape.most, &shape.width, &shape.depth}) {
    MANKAI_ASSIGN(const std::uint64_t number, fields.unsigned_number());
    if (!std::in_range<std::uint32_t>(number)) {
      return top_corrupt("a parameter of " + std::to_string(number));
    }
    *small = static_cast<std::uint32_t>(number);
  }
  MANKAI_ASSIGN(shape.decay, fields.real());
  if (const Result<void> checked = shape.check(); !checked) {
    return top_corrupt(checked.error().detail);
  }
  MANKAI_ASSIGN(const std::span<const std::byte> saved_cells, fields.string());
  if (saved_cells.size() != shape.cell_bytes()) {
    return top_corrupt("a sketch of " + std::to_string(saved_cells.size()) + " bytes, expected " +
                       std::to_string(shape.cell_bytes()));
  }
  MANKAI_ASSIGN(Region cells, Region::allocate(memory, saved_cells.size()));
  std::ranges::copy(saved_cells, cells.bytes().begin());
  MANKAI_ASSIGN(const std::span<const std::byte> saved_heap, fields.string());
  if (saved_heap.size() != shape.heap_bytes()) {
    return top_corrupt("a heap of " + std::to_string(saved_heap.size()) + " bytes, expected " +
                       std::to_string(shape.heap_bytes()));
  }
  MANKAI_ASSIGN(Region heap, Region::allocate(memory, saved_heap.size()));
  std::ranges::copy(saved_heap, heap.bytes().begin());
  HeavyKeeper list(shape, 0, std::move(cells), std::move(heap));
  list.draws_ = list.places().front().text;
  for (Place& place : list.places()) {
    MANKAI_ASSIGN(const std::span<const std::byte> saved, fields.string());
    if (saved.empty() || saved.back() != std::byte{0} || saved.size() > kMostCount) {
      return top_corrupt("an item that does not end in a 0 byte");
    }
    // The length in the heap is that of the item as it was added; RedisBloom saves it up to its first 0 byte.
    place.length = static_cast<std::uint32_t>(saved.size() - 1);
    const bool is_empty = place.length == 0 && place.count == 0 && place.fingerprint != fingerprint_of({});
    if (!is_empty) {
      list.texts_.emplace_back(reinterpret_cast<const char*>(saved.data()), place.length);
      list.text_bytes_ += heap_bytes(list.texts_.back());
    }
    place.text = is_empty ? 0 : list.texts_.size();
    place.zero = 0;
  }
  return list;
}

void HeavyKeeper::save(FieldWriter& fields) const {
  fields.unsigned_number(shape_.most);
  fields.unsigned_number(shape_.width);
  fields.unsigned_number(shape_.depth);
  fields.real(shape_.decay);
  fields.string(cells_.bytes());
  std::vector<Place> saved(places().begin(), places().end());
  for (Place& place : saved) {
    place.text = 0;
  }
  saved.front().text = draws_;
  fields.string(std::as_bytes(std::span(saved)));
  for (const Place& place : places()) {
    // With the 0 byte after it, which a std::string has too.
    const std::string_view item = text(place);
    fields.string(std::as_bytes(std::span(item.data(), item.size() + 1)));
  }
}

Result<HeavyKeeper> HeavyKeeper::clone(const Memory& memory) const {
  MANKAI_ASSIGN(HeavyKeeper copy, create(shape_, memory, draws_));
  std::ranges::copy(cells_.bytes(), copy.cells_.bytes().begin());
  std::ranges::copy(heap_.bytes(), copy.heap_.bytes().begin());
  copy.texts_ = texts_;
  for (const std::string& text : copy.texts_) {
    copy.text_bytes_ += heap_bytes(text);
  }
  return copy;
}

std::span<HeavyKeeper::Cell> HeavyKeeper::cells() noexcept {
  return {reinterpret_cast<Cell*>(cells_.bytes().data()), cells_.size() / sizeof(Cell)};
}
std::span<const HeavyKeeper::Cell> HeavyKeeper::cells() const noexcept {
  return {reinterpret_cast<const Cell*>(cells_.bytes().data()), cells_.size() / sizeof(Cell)};
}
std::span<HeavyKeeper::Place> HeavyKeeper::places() noexcept {
  return {reinterpret_cast<Place*>(heap_.bytes().data()), shape_.most};
}
std::span<const HeavyKeeper::Place> HeavyKeeper::places() const noexcept {
  return {reinterpret_cast<const Place*>(heap_.bytes().data()), shape_.most};
}

std::size_t HeavyKeeper::cell_of(std::string_view item, std::uint32_t row) const noexcept {
  return std::size_t{row} * shape_.width + murmur2_32(item, row) % shape_.width;
}

std::string_view HeavyKeeper::text(const Place& place) const noexcept {
  return place.text == 0 ? std::string_view("") : texts_[place.text - 1];
}

std::size_t HeavyKeeper::find(std::string_view item) const noexcept {
  const std::uint32_t fingerprint = fingerprint_of(item);
  const std::span<const Place> all = places();
  for (std::size_t at = all.size(); at-- > 0;) {
    const Place& place = all[at];
    if (place.fingerprint == fingerprint && place.length == item.size() && place.text != 0 && text(place) == item) {
      return at;
    }
  }
  return all.size();
}

double HeavyKeeper::decay_at(std::uint32_t count) const noexcept {
  // Beyond 255 as RedisBloom, which looks up the powers to 255.
  return count < 256 ? power(shape_.decay, count)
                     : power(power(shape_.decay, 255), count / 255) * power(shape_.decay, count % 255);
}

std::uint64_t HeavyKeeper::draw() noexcept {
  draws_ += 0x9e3779b97f4a7c15U;
  std::uint64_t mixed = (draws_ ^ draws_ >> 30) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebU;
  return mixed ^ mixed >> 31;
}

std::uint32_t HeavyKeeper::count_in(Cell& cell, std::uint32_t fingerprint, std::uint32_t by) noexcept {
  if (cell.count == 0 || cell.fingerprint == fingerprint) {
    cell = {.fingerprint = fingerprint, .count = add_saturating(cell.count, by)};
    return cell.count;
  }
  double chance = decay_at(cell.count);
  for (std::uint32_t left = by; left > 0 && chance >= 0x1p-64; --left) {
    // With decay 1 nothing is drawn: the list is as RedisBloom's.
    if (chance < 1 && draw() >= static_cast<std::uint64_t>(chance * 0x1p64)) {
      continue;
    }
    if (--cell.count == 0) {
      cell = {.fingerprint = fingerprint, .count = left};
      return left;
    }
    chance = shape_.decay < 1 ? decay_at(cell.count) : 1;
  }
  return 0;
}

std::uint32_t HeavyKeeper::count_in_sketch(std::string_view item, std::uint32_t fingerprint,
                                           std::uint32_t by) noexcept {
  std::uint32_t most = 0;
  for (std::uint32_t row = 0; row < shape_.depth; ++row) {
    most = std::max(most, count_in(cells()[cell_of(item, row)], fingerprint, by));
  }
  return most;
}

std::optional<std::string> HeavyKeeper::add(std::string_view item, std::uint32_t by) {
  MANKAI_ASSERT(by <= kMostIncrement);
  const std::uint32_t fingerprint = fingerprint_of(item);
  // What needs memory comes first, for items that may enter the list.
  std::size_t at = shape_.most;
  std::string entering;
  if (add_saturating(largest_cell(item, fingerprint), by) >= places().front().count) {
    at = find(item);
    if (at == shape_.most) {
      entering = item;
      if (texts_.size() == texts_.capacity()) {
        texts_.reserve(std::max<std::size_t>(2 * texts_.size(), 8));
      }
    }
  }
  const std::uint32_t count = count_in_sketch(item, fingerprint, by);
  if (count < places().front().count) {
    return std::nullopt;
  }
  std::optional<std::string> expelled;
  if (at == shape_.most) {
    at = 0;
    Place& first = places().front();
    text_bytes_ += heap_bytes(entering);
    if (first.text == 0) {
      texts_.emplace_back();
      first.text = texts_.size();
      texts_.back() = std::move(entering);
    } else {
      expelled = std::exchange(texts_[first.text - 1], std::move(entering));
      text_bytes_ -= heap_bytes(*expelled);
    }
    first.fingerprint = fingerprint;
    first.length = static_cast<std::uint32_t>(item.size());
  }
  places()[at].count = count;
  sink(at);
  return expelled;
}

std::uint32_t HeavyKeeper::largest_cell(std::string_view item, std::uint32_t fingerprint) const noexcept {
  std::uint32_t most = 0;
  for (std::uint32_t row = 0; row < shape_.depth; ++row) {
    const Cell& cell = cells()[cell_of(item, row)];
    most = std::max(most, cell.fingerprint == fingerprint ? cell.count : 0);
  }
  return most;
}

std::uint32_t HeavyKeeper::count(std::string_view item) const noexcept {
  const std::uint32_t count = largest_cell(item, fingerprint_of(item));
  return is_listed(item) && count < places().front().count ? 0 : count;
}

void HeavyKeeper::sink(std::size_t at) noexcept {
  const std::span<Place> heap = places();
  const auto lesser_child = [heap](std::size_t parent) {
    const std::size_t left = 2 * parent + 1;
    return left + 1 < heap.size() && heap[left + 1].count < heap[left].count ? left + 1 : left;
  };
  const Place sinking = heap[at];
  std::size_t child = lesser_child(at);
  if (child >= heap.size() || heap[child].count > sinking.count) {
    return;
  }
  // Equal ones are exchanged at the first step alone, as RedisBloom does: the order decides who is expelled.
  do {
    heap[at] = heap[child];
    at = child;
    child = lesser_child(at);
  } while (child < heap.size() && heap[child].count < sinking.count);
  heap[at] = sinking;
}

std::vector<HeavyKeeper::Item> HeavyKeeper::list() const {
  std::vector<const Place*> order;
  for (const Place& place : places()) {
    if (place.count != 0) {
      order.push_back(&place);
    }
  }
  std::ranges::sort(order, {}, [](const Place* place) { return std::pair(~place->count, place); });
  std::vector<Item> items;
  items.reserve(order.size());
  for (const Place* const place : order) {
    items.push_back({.text = text(*place), .count = place->count});
  }
  return items;
}

std::uint64_t HeavyKeeper::memory_bytes() const noexcept {
  return cells_.size() + heap_.size() + texts_.capacity() * sizeof(std::string) + text_bytes_;
}

}  // namespace mankai::takeover
