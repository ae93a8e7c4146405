#include "modules/redis/cuckoo/value.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>

#include "mankai/base/bits.hpp"
#include "mankai/base/number.hpp"

namespace mankai::redis {

using takeover::CuckooChain;
using takeover::CuckooShape;

namespace {

std::uint64_t work_of_bucket(const CuckooShape& shape) noexcept {
  constexpr std::uint64_t kCellsPerUnit = 16;
  return divide_up<std::uint64_t>(shape.bucket_cells, kCellsPerUnit);
}

}  // namespace

Result<CuckooValue> CuckooValue::create(const CuckooSettings& settings) {
  if (settings.layout == Layout::redisbloom) {
    MANKAI_ASSIGN(const CuckooShape shape,
                  CuckooShape::of_capacity(settings.capacity_keys, static_cast<std::uint16_t>(settings.bucket_size),
                                           static_cast<std::uint16_t>(settings.max_iterations),
                                           static_cast<std::uint16_t>(settings.expansion)));
    return from_redisbloom(shape, takeover::CellsOfHeader::all);
  }
  // Items that expire and can be deleted need counts: see cuckoo.hpp.
  constexpr std::uint32_t kCountsWithTtl = 2;
  return of(Cuckoo::create({.keys = settings.capacity_keys,
                            .fpr = settings.fpr,
                            .growth = settings.expansion,
                            .counts = settings.max_ttl == Duration::zero() ? 0 : kCountsWithTtl,
                            .max_ttl = settings.max_ttl,
                            .ttl_resolution = settings.ttl_resolution,
                            .hash = settings.hash,
                            .memory = engine_memory()}),
            {.deleted = 0, .bucket_size = settings.bucket_size, .max_iterations = settings.max_iterations});
}

Result<CuckooValue> CuckooValue::from_image(AssembledImage source) {
  State state{};
  std::memcpy(&state, source.state.data(), sizeof(state));
  return of(filter_of<Cuckoo>(std::move(source)), state);
}

Result<CuckooValue> CuckooValue::of(Result<Cuckoo> filter, const State& state) {
  if (!filter) {
    return std::unexpected(std::move(filter.error()));
  }
  const Memory memory = engine_memory();
  void* const place = memory.allocate(memory.context, sizeof(Own));
  if (place == nullptr) {
    return fail(ErrorCode::out_of_space, "no memory for a filter's object");
  }
  return CuckooValue(OwnPointer(::new (place) Own{.filter = std::move(*filter), .state = state}));
}

void CuckooValue::Release::operator()(Own* own) const noexcept {
  own->~Own();
  const Memory memory = engine_memory();
  memory.release(memory.context, own, sizeof(Own));
}

Result<CuckooValue> CuckooValue::taken_over(Result<CuckooChain> filter) {
  if (!filter) {
    return std::unexpected(std::move(filter.error()));
  }
  return CuckooValue(std::make_unique<CuckooChain>(std::move(*filter)));
}

Result<CuckooValue> CuckooValue::from_redisbloom(const CuckooShape& shape, takeover::CellsOfHeader cells) {
  return taken_over(CuckooChain::create(shape, engine_memory(), cells));
}

std::optional<std::size_t> CuckooValue::foreign_format() const noexcept {
  return redisbloom() != nullptr ? std::optional<std::size_t>(0) : std::nullopt;
}

Result<CuckooValue> CuckooValue::load_foreign(takeover::FieldReader& reader, std::size_t /*format*/, int version) {
  return taken_over(CuckooChain::load(reader, static_cast<unsigned>(version), engine_memory()));
}

void CuckooValue::save_foreign(takeover::FieldWriter& writer) const { redisbloom()->save(writer); }

void CuckooValue::rewrite_foreign(const EmitCommand& emit) const {
  const CuckooChain& filter = *redisbloom();
  emit("CF.LOADCHUNK", 1, filter.shape().header());
  if (filter.occupied_cells() == 0) {
    return;
  }
  for (auto chunk = filter.chunk(1); chunk.iterator != 0; chunk = filter.chunk(chunk.iterator)) {
    emit("CF.LOADCHUNK", static_cast<long long>(chunk.iterator), chunk.bytes);
  }
}

Result<CuckooValue> CuckooValue::copy_foreign() const { return taken_over(redisbloom()->clone(engine_memory())); }

Cuckoo* CuckooValue::own() noexcept {
  auto* held = std::get_if<OwnPointer>(&filter_);
  return held != nullptr ? &(*held)->filter : nullptr;
}

CuckooChain* CuckooValue::redisbloom() noexcept {
  auto* held = std::get_if<std::unique_ptr<CuckooChain>>(&filter_);
  return held != nullptr ? held->get() : nullptr;
}

EraseResult CuckooValue::erase(std::string_view item) noexcept {
  if (CuckooChain* chain = redisbloom(); chain != nullptr) {
    return chain->remove(item) ? EraseResult::erased : EraseResult::absent;
  }
  auto& [filter, state] = *std::get<OwnPointer>(filter_);
  const EraseResult result = filter.erase(filter.hasher()(item));
  state.deleted += result == EraseResult::erased ? 1 : 0;
  return result;
}

std::uint64_t CuckooValue::count(std::string_view item) const noexcept {
  return redisbloom() != nullptr ? redisbloom()->count(item) : own()->estimate(own()->hasher()(item)).value;
}

void CuckooValue::compact() noexcept {
  if (CuckooChain* chain = redisbloom(); chain != nullptr) {
    chain->compact();
    return;
  }
  auto& [filter, state] = *std::get<OwnPointer>(filter_);
  filter.compact();
  state.deleted = 0;
}

CuckooShape CuckooValue::shape() const noexcept {
  if (redisbloom() != nullptr) {
    return redisbloom()->shape();
  }
  const auto& [filter, state] = *std::get<OwnPointer>(filter_);
  return {.items = filter.keys_inserted(),
          .buckets = filter.cell_count() / cuckoo::kSlotsPerBucket,
          .deletes = state.deleted,
          .filters = filter.slice_count(),
          .bucket_cells = static_cast<std::uint16_t>(state.bucket_size),
          .max_iterations = static_cast<std::uint16_t>(state.max_iterations),
          .expansion = static_cast<std::uint16_t>(filter.growth_factor())};
}

std::size_t CuckooValue::slice_count() const noexcept {
  return redisbloom() != nullptr ? redisbloom()->shape().filters : own()->slice_count();
}

std::uint64_t CuckooValue::work_per_item() const noexcept {
  return redisbloom() != nullptr ? redisbloom()->shape().filters * work_of_bucket(redisbloom()->shape())
                                 : own()->slice_count();
}

// The number of items in a header may be forged, so each item may find its buckets full.
std::uint64_t CuckooValue::work_of_adding(std::uint64_t items, std::uint64_t opened) const noexcept {
  std::uint64_t per_item = slice_count() + opened / 2;
  if (redisbloom() != nullptr) {
    per_item = (per_item + redisbloom()->shape().max_iterations) * work_of_bucket(redisbloom()->shape());
  }
  return items * per_item;
}

std::uint64_t CuckooValue::work_of_deleting(std::uint64_t items) const noexcept {
  constexpr std::uint64_t kCellsPerUnit = 8;
  constexpr std::uint64_t kMostSearched = 33;  // of sub-filters that expand
  std::uint64_t work = items * work_per_item();
  if (redisbloom() != nullptr && slice_count() > 1) {
    const CuckooShape& shape = redisbloom()->shape();
    const std::uint64_t left = shape.items - std::min(shape.items, items);
    const std::uint64_t compactions = (items - 1) / (left / 10 + 1);
    const std::uint64_t searched = divide_up(std::min(shape.filters, kMostSearched), kCellsPerUnit);
    const std::uint64_t pass = (shape.cells() - shape.cells_of(0)) / kCellsPerUnit * searched;
    work = add_saturating(work, multiply_saturating(compactions, pass));
  }
  return work;
}

ImageParts CuckooValue::parts() const {
  const auto& [filter, state] = *std::get<OwnPointer>(filter_);
  ImageParts parts = parts_of(filter);
  const auto bytes = std::as_bytes(std::span(&state, 1));
  parts.state.assign(bytes.begin(), bytes.end());
  bind_to_moment(parts);
  return parts;
}

std::size_t CuckooValue::heap_bytes() const noexcept {
  return redisbloom() != nullptr ? engine_bytes(sizeof(CuckooChain)) + redisbloom()->memory_bytes()
                                 : engine_bytes(sizeof(Own)) + heap_bytes_of(*own());
}

std::size_t CuckooValue::memory_pieces() const noexcept {
  return redisbloom() != nullptr ? redisbloom()->memory_pieces() : 1 + own()->memory_pieces();
}

void CuckooValue::relocate(std::size_t piece, const Mover& mover) noexcept {
  if (redisbloom() != nullptr) {
    redisbloom()->relocate(piece, mover);
  } else if (piece != 0) {
    own()->relocate(piece - 1, mover);
  } else {
    // It has no pointers into itself.
    auto& own = std::get<OwnPointer>(filter_);
    const std::span bytes(reinterpret_cast<std::byte*>(own.release()), sizeof(Own));
    own.reset(reinterpret_cast<Own*>(mover.move(mover.context, bytes)));
  }
}

}  // namespace mankai::redis
