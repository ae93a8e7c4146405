#include "mankai/takeover/cuckoo_chain.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <ranges>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/hash/murmur2.hpp"

namespace mankai::takeover {
namespace {

constexpr std::byte kEmpty{0};
constexpr std::size_t kOldHeaderBytes = 32;
// A window of keys, hashed and fetched together: enough misses in flight to hide their latency.
constexpr std::size_t kCuckooWindow = 32;

/// Flips between the two buckets of a key; applied twice it leads back.
std::uint64_t other_bucket(std::uint64_t bucket, std::byte fingerprint) noexcept {
  return bucket ^ std::to_integer<std::uint64_t>(fingerprint) * 0x5bd1e995U;
}

std::unexpected<Error> cuckoo_corrupt(const std::string& what) {
  return fail(ErrorCode::corrupt, "not a cuckoo filter of RedisBloom: " + what);
}

std::unexpected<Error> old_hash() {
  return fail(
      ErrorCode::unsupported_version,
      "a cuckoo filter of RedisBloom 1.1 to 2.0, which used another hash: RedisBloom 2.2 and later answer wrongly "
      "for all of its keys; create it again from its keys");
}

}  // namespace

/// A key's fingerprint, and its buckets before `mod n`.
struct CuckooChain::Probe {
  Probe() noexcept = default;
  explicit Probe(std::string_view key) noexcept
      : first(murmur2_64a(key, 0)),
        fingerprint(static_cast<std::byte>(first % 255 + 1)),
        second(other_bucket(first, fingerprint)) {}
  Probe(std::uint64_t bucket, std::byte cell) noexcept
      : first(bucket), fingerprint(cell), second(other_bucket(bucket, cell)) {}

  std::uint64_t first = 0;
  std::byte fingerprint{};
  std::uint64_t second = 0;
};

Result<CuckooShape> CuckooShape::of_capacity(std::uint64_t capacity_keys, std::uint16_t bucket_cells,
                                             std::uint16_t max_iterations, std::uint16_t expansion) {
  if (bucket_cells < 1 || bucket_cells > 255 || max_iterations < 1 || expansion > 32768) {
    return fail(ErrorCode::invalid_argument,
                "expected a bucket size of 1 to 255, 1 to 65535 iterations and an expansion of 0 to 32768");
  }
  if (capacity_keys > kMostFilterCells) {
    return fail(ErrorCode::invalid_argument, "a sub-filter has at most 2^32 cells; give a smaller capacity");
  }
  const CuckooShape shape{
      .buckets = std::bit_ceil(std::max<std::uint64_t>(capacity_keys / bucket_cells, 1)),
      .bucket_cells = bucket_cells,
      .max_iterations = max_iterations,
      .expansion = expansion == 0 ? expansion : std::bit_ceil(expansion),
  };
  if (shape.cells_of(0) > kMostFilterCells) {
    return fail(ErrorCode::invalid_argument, "a sub-filter has at most 2^32 cells; give a smaller capacity");
  }
  return shape;
}

Result<CuckooShape> CuckooShape::of_header(std::span<const std::byte> header) {
  if (header.size() == kOldHeaderBytes) {
    return old_hash();
  }
  if (header.size() != kHeaderBytes) {
    return cuckoo_corrupt("a header of " + std::to_string(header.size()) + " bytes, expected 38");
  }
  const auto take = [&header](auto& field) {
    std::memcpy(&field, header.data(), sizeof field);
    header = header.subspan(sizeof field);
  };
  CuckooShape shape;
  take(shape.items);
  take(shape.buckets);
  take(shape.deletes);
  take(shape.filters);
  take(shape.bucket_cells);
  take(shape.max_iterations);
  take(shape.expansion);
  MANKAI_TRY(shape.check());
  return shape;
}

std::array<std::byte, CuckooShape::kHeaderBytes> CuckooShape::header() const noexcept {
  std::array<std::byte, kHeaderBytes> bytes{};
  std::size_t end = 0;
  const auto put = [&](auto field) {
    std::memcpy(bytes.data() + end, &field, sizeof field);
    end += sizeof field;
  };
  put(items);
  put(buckets);
  put(deletes);
  put(filters);
  put(bucket_cells);
  put(max_iterations);
  put(expansion);
  return bytes;
}

Result<void> CuckooShape::check() const {
  if (filters < 1 || filters > kMostFilters) {
    return cuckoo_corrupt(std::to_string(filters) + " sub-filters, expected 1 to 65535");
  }
  if (bucket_cells < 1 || bucket_cells > 255) {
    return cuckoo_corrupt("buckets of " + std::to_string(bucket_cells) + " cells, expected 1 to 255");
  }
  if (max_iterations < 1) {
    return cuckoo_corrupt("0 iterations");
  }
  if (expansion > 32768 || (expansion != 0 && !std::has_single_bit(expansion))) {
    return cuckoo_corrupt("an expansion of " + std::to_string(expansion) + ", expected a power of two up to 32768");
  }
  if (expansion == 0 && filters > 1) {
    return cuckoo_corrupt("a fixed size and " + std::to_string(filters) + " sub-filters");
  }
  if (!std::has_single_bit(buckets)) {
    return cuckoo_corrupt(std::to_string(buckets) + " buckets, expected a power of two");
  }
  // The newest sub-filter is the largest: its bound holds for all, and no sum of them overflows.
  if (cells_of(filters - 1) > kMostFilterCells || cells() > kMostCells) {
    return cuckoo_corrupt("more cells than 2^32 in a sub-filter or 2^40 in all");
  }
  return {};
}

std::uint64_t CuckooShape::cells_of(std::uint64_t filter) const noexcept {
  const auto log2_expansion = static_cast<std::uint64_t>(expansion == 0 ? 0 : std::countr_zero(expansion));
  const std::uint64_t log2_buckets = static_cast<std::uint64_t>(std::countr_zero(buckets)) + filter * log2_expansion;
  return std::uint64_t{bucket_cells} << std::min<std::uint64_t>(log2_buckets, 48);
}

std::uint64_t CuckooShape::cells() const noexcept {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < filters; ++i) {
    sum += cells_of(i);
  }
  return sum;
}

std::string CuckooShape::debug_text() const {
  return "bktsize:" + std::to_string(bucket_cells) + " buckets:" + std::to_string(buckets) +
         " items:" + std::to_string(items) + " deletes:" + std::to_string(deletes) +
         " filters:" + std::to_string(filters) + " max_iterations:" + std::to_string(max_iterations) +
         " expansion:" + std::to_string(expansion);
}

/// The buckets of a sub-filter, a power of two of them.
struct CuckooChain::Filter {
  Cells cells;
  std::uint64_t mask;  ///< buckets - 1

  Filter(Cells of, std::uint64_t bucket_cells) noexcept : cells(std::move(of)), mask(cells.size() / bucket_cells - 1) {}
  static Result<Filter> of_zeros(std::uint64_t cells, std::uint64_t bucket_cells, const Memory& memory) {
    MANKAI_ASSIGN(Region zeros, Region::allocate(memory, cells));
    return Filter(std::move(zeros), bucket_cells);
  }
};

CuckooChain::CuckooChain(const CuckooShape& shape, const Memory& memory) noexcept : shape_(shape), memory_(memory) {}
CuckooChain::CuckooChain(CuckooChain&&) noexcept = default;
CuckooChain& CuckooChain::operator=(CuckooChain&&) noexcept = default;
CuckooChain::~CuckooChain() = default;

Result<CuckooChain> CuckooChain::create(const CuckooShape& shape, const Memory& memory, CellsOfHeader cells) {
  MANKAI_TRY(shape.check());
  CuckooChain chain(shape, memory);
  chain.filters_.reserve(shape.filters);
  const bool has_all = cells == CellsOfHeader::all || shape.cells() <= kSmallCellsBytes;
  chain.is_whole_ = false;
  for (std::uint64_t i = 0; i < shape.filters; ++i) {
    chain.filters_.emplace_back(Cells::absent(shape.cells_of(i)), shape.bucket_cells);
  }
  MANKAI_TRY(has_all ? chain.make_whole() : Result<void>());
  return chain;
}

Result<CuckooChain> CuckooChain::load(FieldReader& fields, unsigned encver, const Memory& memory) {
  if (encver < kEncver) {
    return old_hash();
  }
  if (encver > kEncver) {
    return fail(ErrorCode::unsupported_version,
                "a cuckoo filter of a later RedisBloom: encoding " + std::to_string(encver) + ", expected 4");
  }
  CuckooShape shape;
  for (std::uint64_t* const number : {&shape.filters, &shape.buckets, &shape.items, &shape.deletes}) {
    MANKAI_ASSIGN(*number, fields.unsigned_number());
  }
  for (std::uint16_t* const small : {&shape.bucket_cells, &shape.max_iterations, &shape.expansion}) {
    MANKAI_ASSIGN(const std::uint64_t number, fields.unsigned_number());
    if (!std::in_range<std::uint16_t>(number)) {
      return cuckoo_corrupt("a parameter of " + std::to_string(number));
    }
    *small = static_cast<std::uint16_t>(number);
  }
  MANKAI_TRY(shape.check());
  CuckooChain chain(shape, memory);
  for (std::uint64_t i = 0; i < shape.filters; ++i) {
    MANKAI_ASSIGN(const std::uint64_t buckets, fields.unsigned_number());
    MANKAI_ASSIGN(const std::span<const std::byte> cells, fields.string());
    if (cells.size() != shape.cells_of(i) || buckets != cells.size() / shape.bucket_cells) {
      return cuckoo_corrupt("sub-filter " + std::to_string(i) + " has " + std::to_string(buckets) + " buckets in " +
                            std::to_string(cells.size()) + " bytes, expected " + std::to_string(shape.cells_of(i)) +
                            " bytes");
    }
    MANKAI_ASSIGN(Filter filter, Filter::of_zeros(cells.size(), shape.bucket_cells, memory));
    std::ranges::copy(cells, filter.cells.present().begin());
    chain.filters_.push_back(std::move(filter));
  }
  return chain;
}

void CuckooChain::save(FieldWriter& fields) const {
  for (const std::uint64_t number :
       {shape_.filters, shape_.buckets, shape_.items, shape_.deletes, std::uint64_t{shape_.bucket_cells},
        std::uint64_t{shape_.max_iterations}, std::uint64_t{shape_.expansion}}) {
    fields.unsigned_number(number);
  }
  for (const Filter& filter : filters_) {
    fields.unsigned_number(filter.mask + 1);
    filter.cells.with_all(memory_, [&](std::span<const std::byte> all) { fields.string(all); });
  }
}

Result<CuckooChain> CuckooChain::clone(const Memory& memory) const {
  CuckooChain chain(shape_, memory);
  chain.is_whole_ = is_whole_;
  chain.filters_.reserve(filters_.size());
  for (const Filter& filter : filters_) {
    MANKAI_ASSIGN(Cells copy, filter.cells.clone(memory));
    chain.filters_.emplace_back(std::move(copy), shape_.bucket_cells);
  }
  return chain;
}

std::span<const std::byte> CuckooChain::bucket(const Filter& filter, std::uint64_t at) const noexcept {
  const std::span<const std::byte> present = filter.cells.present();
  const std::uint64_t start = (at & filter.mask) * shape_.bucket_cells;
  return start < present.size() ? present.subspan(start, shape_.bucket_cells) : std::span<const std::byte>();
}

std::span<std::byte> CuckooChain::bucket(Filter& filter, std::uint64_t at) const noexcept {
  return filter.cells.present().subspan((at & filter.mask) * shape_.bucket_cells, shape_.bucket_cells);
}

std::uint64_t CuckooChain::absent_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < filters_.size() && !is_whole_; ++i) {
    bytes += filters_[i].cells.is_whole() ? 0 : filters_[i].cells.size();
  }
  return bytes;
}

Result<void> CuckooChain::make_whole() {
  for (std::size_t i = 0; i < filters_.size() && !is_whole_; ++i) {
    MANKAI_TRY(filters_[i].cells.make_whole(memory_));
  }
  is_whole_ = true;
  return {};
}

bool CuckooChain::is_in(const Filter& filter, const Probe& probe) const noexcept {
  return std::ranges::count(bucket(filter, probe.first), probe.fingerprint) != 0 ||
         std::ranges::count(bucket(filter, probe.second), probe.fingerprint) != 0;
}

std::byte* CuckooChain::find(Filter& filter, const Probe& probe, std::byte cell) const noexcept {
  for (const std::uint64_t at : {probe.first, probe.second}) {
    const std::span<std::byte> cells = bucket(filter, at);
    if (const auto found = std::ranges::find(cells, cell); found != cells.end()) {
      return std::to_address(found);
    }
  }
  return nullptr;
}

Result<CuckooAdded> CuckooChain::add(std::string_view key) { return add(Probe(key)); }

Result<CuckooAdded> CuckooChain::add_nx(std::string_view key) {
  const Probe probe(key);
  return may_contain(probe) ? CuckooAdded::found : add(probe);
}

Result<CuckooAdded> CuckooChain::add(const Probe& probe) {
  MANKAI_TRY(make_whole());
  while (!add_to_free_cell(probe) && !add_by_kicks(probe)) {
    if (shape_.expansion == 0) {
      return CuckooAdded::full;
    }
    MANKAI_TRY(append_filter());
  }
  ++shape_.items;
  return CuckooAdded::added;
}

bool CuckooChain::add_to_free_cell(const Probe& probe) noexcept {
  for (Filter& filter : filters_ | std::views::reverse) {
    if (std::byte* const cell = find(filter, probe, kEmpty); cell != nullptr) {
      *cell = probe.fingerprint;
      return true;
    }
  }
  return false;
}

bool CuckooChain::add_by_kicks(const Probe& probe) noexcept {
  Filter& newest = filters_.back();
  const std::uint64_t bucket_cells = shape_.bucket_cells;
  std::byte homeless = probe.fingerprint;
  std::uint64_t at = probe.first;
  std::uint64_t victim = 0;
  for (std::uint32_t i = 0; i < shape_.max_iterations; ++i) {
    std::swap(homeless, bucket(newest, at)[victim]);
    at = other_bucket(at, homeless);
    const std::span<std::byte> cells = bucket(newest, at);
    if (const auto free = std::ranges::find(cells, kEmpty); free != cells.end()) {
      *free = homeless;
      return true;
    }
    victim = (victim + 1) % bucket_cells;
  }
  // The same moves backwards: each one is its own inverse.
  for (std::uint32_t i = 0; i < shape_.max_iterations; ++i) {
    victim = (victim + bucket_cells - 1) % bucket_cells;
    at = other_bucket(at, homeless);
    std::swap(homeless, bucket(newest, at)[victim]);
  }
  return false;
}

Result<void> CuckooChain::append_filter() {
  CuckooShape larger = shape_;
  ++larger.filters;
  if (!larger.check()) {
    return fail(ErrorCode::out_of_space, "a cuckoo filter has at most 65535 sub-filters, each of at most 2^32 cells");
  }
  filters_.emplace_back(Cells::absent(larger.cells_of(shape_.filters)), shape_.bucket_cells);
  auto made = filters_.back().cells.make_whole(memory_);
  if (!made) {
    filters_.pop_back();
    return made;
  }
  shape_ = larger;
  return {};
}

bool CuckooChain::remove(std::string_view key) noexcept {
  const Probe probe(key);
  for (Filter& filter : filters_ | std::views::reverse) {
    if (std::byte* const cell = find(filter, probe, probe.fingerprint); cell != nullptr) {
      *cell = kEmpty;
      shape_.items -= shape_.items == 0 ? 0 : 1;  // fewer than cells if chunks have a forged header
      ++shape_.deletes;
      if (shape_.filters > 1 && static_cast<double>(shape_.deletes) > static_cast<double>(shape_.items) * 0.1) {
        compact(OnStuck::stop);
      }
      return true;
    }
  }
  return false;
}

bool CuckooChain::may_contain(const Probe& probe) const noexcept {
  return std::ranges::any_of(filters_ | std::views::reverse,
                             [&](const Filter& filter) { return is_in(filter, probe); });
}

bool CuckooChain::may_contain(std::string_view key) const noexcept { return may_contain(Probe(key)); }

void CuckooChain::may_contain(std::span<const std::string_view> keys, std::span<bool> answers) const noexcept {
  MANKAI_ASSERT(keys.size() == answers.size());
  std::array<Probe, kCuckooWindow> probes;
  for (; !keys.empty(); keys = keys.subspan(std::min(keys.size(), kCuckooWindow))) {
    const std::span<bool> found = answers.first(std::min(keys.size(), kCuckooWindow));
    answers = answers.subspan(found.size());
    std::ranges::fill(found, false);
    std::ranges::transform(keys.first(found.size()), probes.begin(), [](std::string_view key) { return Probe(key); });
    for (const Filter& filter : filters_ | std::views::reverse) {
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (!found[i]) {
          prefetch_line(bucket(filter, probes[i].first).data());
          prefetch_line(bucket(filter, probes[i].second).data());
        }
      }
      for (std::size_t i = 0; i < found.size(); ++i) {
        found[i] = found[i] || is_in(filter, probes[i]);
      }
    }
  }
}

std::uint64_t CuckooChain::count(std::string_view key) const noexcept {
  const Probe probe(key);
  std::uint64_t units = 0;
  for (const Filter& filter : filters_) {
    for (const std::uint64_t at : {probe.first, probe.second}) {
      units += static_cast<std::uint64_t>(std::ranges::count(bucket(filter, at), probe.fingerprint));
    }
  }
  return units;
}

void CuckooChain::compact(OnStuck rule) noexcept {
  // Searches for a free cell would take the square of the number of sub-filters. If they expand, there are at most 33.
  constexpr std::size_t kMany = 4;
  Region places;
  std::span<std::uint16_t> first_free;
  if (filters_.size() > kMany && shape_.expansion == 1) {
    const std::size_t buckets = filters_.front().mask + 1;
    if (auto zeros = Region::allocate(memory_, buckets * sizeof(std::uint16_t))) {
      places = std::move(*zeros);
      first_free = {reinterpret_cast<std::uint16_t*>(places.bytes().data()), buckets};
    }
  }
  for (std::size_t i = filters_.size() - 1; i > 0; --i) {
    const bool is_emptied = empty_into_older(i, first_free);
    if (is_emptied && i + 1 == filters_.size()) {
      filters_.pop_back();
    } else if (!is_emptied && rule == OnStuck::stop) {
      break;
    }
  }
  shape_.filters = filters_.size();
  shape_.deletes = 0;
}

bool CuckooChain::empty_into_older(std::size_t from, std::span<std::uint16_t> first_free) noexcept {
  bool is_emptied = true;
  const std::span<std::byte> cells = filters_[from].cells.present();
  const std::span<Filter> older = std::span(filters_).first(from);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i] == kEmpty) {
      continue;
    }
    const Probe probe(i / shape_.bucket_cells, cells[i]);
    std::uint16_t unknown = 0;
    const std::uint64_t mask = filters_[from].mask;
    std::uint16_t& first = first_free.empty() ? unknown : first_free[probe.first & mask];
    std::uint16_t& second = first_free.empty() ? unknown : first_free[probe.second & mask];
    std::byte* place = nullptr;
    std::size_t to = std::min(first, second);
    for (; to < older.size() && (place = find(older[to], probe, kEmpty)) == nullptr; ++to) {
    }
    first = std::max(first, static_cast<std::uint16_t>(to));
    second = std::max(second, static_cast<std::uint16_t>(to));
    if (place != nullptr) {
      *place = std::exchange(cells[i], kEmpty);
    }
    is_emptied = is_emptied && place != nullptr;
  }
  return is_emptied;
}

std::uint64_t CuckooChain::occupied_cells() const noexcept {
  std::uint64_t occupied = 0;
  for (const Filter& filter : filters_) {
    const std::span<const std::byte> cells = filter.cells.present();
    occupied += cells.size() - static_cast<std::uint64_t>(std::ranges::count(cells, kEmpty));
  }
  return occupied;
}

std::uint64_t CuckooChain::memory_bytes() const noexcept {
  std::uint64_t bytes = filters_.capacity() * sizeof(Filter);
  for (const Filter& filter : filters_) {
    bytes += filter.cells.present().size();
  }
  return bytes;
}

CuckooChain::Chunk CuckooChain::chunk(std::uint64_t iterator) const noexcept {
  const std::uint64_t start = iterator - 1;  // 0 is beyond all sub-filters
  std::uint64_t filter_start = 0;
  for (const Filter& filter : filters_) {
    const std::span<const std::byte> present = filter.cells.present();
    const std::uint64_t skipped = start - std::min(start, filter_start);
    if (skipped < present.size()) {
      const auto bytes = present.subspan(skipped, std::min<std::uint64_t>(present.size() - skipped, kChunkBytes));
      return {.iterator = filter_start + skipped + bytes.size() + 1, .bytes = bytes};
    }
    filter_start += filter.cells.size();
  }
  return {};
}

Result<void> CuckooChain::load_chunk(std::uint64_t iterator, std::span<const std::byte> bytes) {
  if (iterator <= bytes.size()) {
    return fail(ErrorCode::corrupt,
                "a chunk of " + std::to_string(bytes.size()) + " bytes with the iterator " + std::to_string(iterator));
  }
  std::uint64_t offset = iterator - 1 - bytes.size();
  for (Filter& filter : filters_) {
    if (offset < filter.cells.size()) {
      return bytes.size() <= filter.cells.size() - offset
                 ? filter.cells.write(offset, bytes, memory_)
                 : fail(ErrorCode::corrupt, "a chunk beyond the end of a sub-filter");
    }
    offset -= filter.cells.size();
  }
  return fail(ErrorCode::corrupt, "a chunk beyond the end of the last sub-filter");
}

std::size_t CuckooChain::memory_pieces() const noexcept { return filters_.size(); }

void CuckooChain::relocate(std::size_t piece, const Mover& mover) noexcept {
  MANKAI_ASSERT(piece < memory_pieces());
  filters_[piece].cells.relocate(mover);
}

}  // namespace mankai::takeover
