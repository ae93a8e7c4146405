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
  const bool may_double = settings.expansion > 1;
  auto filter = Cuckoo::create({.keys = settings.capacity_keys,
                                .fpr = settings.fpr,
                                .growth = settings.expansion,
                                .counts = settings.max_ttl == Duration::zero() ? 0 : kCountsWithTtl,
                                .max_ttl = settings.max_ttl,
                                .ttl_resolution = settings.ttl_resolution,
                                .hash = settings.hash,
                                .memory = may_double ? engine_memory() : memory_with_object()});
  const State state{.deleted = 0, .bucket_size = settings.bucket_size, .max_iterations = settings.max_iterations};
  if (!filter || may_double) {
    return of(std::move(filter), state);
  }
  const std::byte* cells = filter->slice(0).cells().data();
  return settled(std::move(*filter), state, const_cast<std::byte*>(cells) - sizeof(ImageHeader));
}

Result<CuckooValue> CuckooValue::from_image(AssembledImage source) {
  State state{};
  std::memcpy(&state, source.state.data(), sizeof(state));
  return of(filter_of<Cuckoo>(std::move(source)), state);
}

// Of an image and the object behind it, which frees both.
Memory CuckooValue::memory_with_object() noexcept {
  return {.allocate = [](void* context,
                         std::size_t bytes) noexcept { return engine_memory().allocate(context, bytes + sizeof(Own)); },
          .release = [](void* /*context*/, void* /*data*/, std::size_t /*bytes*/) noexcept {},
          .context = engine_memory().context};
}

CuckooValue CuckooValue::settled(Cuckoo filter, const State& state, std::byte* block) {
  static_assert(alignof(Own) <= alignof(std::uint64_t));  // an image consists of words of 64 bits
  const std::size_t bytes = filter.slice(0).image_bytes();
  filter.settle({block, bytes}, engine_memory());
  return CuckooValue(
      OwnPointer(::new (block + bytes) Own{.filter = std::move(filter), .state = state, .image_bytes = bytes}));
}

// A large image is not copied, and one that may be replaced by a larger one is not put into the object's block.
Result<CuckooValue> CuckooValue::of(Result<Cuckoo> filter, const State& state) {
  if (!filter) {
    return std::unexpected(std::move(filter.error()));
  }
  constexpr std::size_t kMostCopied = std::size_t{16} << 10;
  const bool is_settled =
      filter->slice_count() == 1 && filter->growth_factor() < 2 && filter->image_bytes() <= kMostCopied;
  const Memory memory = is_settled ? memory_with_object() : engine_memory();
  void* const place = memory.allocate(memory.context, is_settled ? filter->slice(0).image_bytes() : sizeof(Own));
  if (place == nullptr) {
    return fail(ErrorCode::out_of_space, "no memory for a filter's object");
  }
  if (is_settled) {
    return settled(std::move(*filter), state, static_cast<std::byte*>(place));
  }
  return CuckooValue(OwnPointer(::new (place) Own{.filter = std::move(*filter), .state = state, .image_bytes = 0}));
}

void CuckooValue::Release::operator()(Own* own) const noexcept {
  const std::size_t before = own->image_bytes;
  own->~Own();
  const Memory memory = engine_memory();
  memory.release(memory.context, reinterpret_cast<std::byte*>(own) - before, before + sizeof(Own));
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
  Own& held = *std::get<OwnPointer>(filter_);
  const EraseResult result = held.filter.erase(held.filter.hasher()(item));
  held.state.deleted += result == EraseResult::erased ? 1 : 0;
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
  Own& held = *std::get<OwnPointer>(filter_);
  const std::size_t before = held.filter.slice_count();
  held.filter.compact();
  held.state.deleted = 0;
  // The image that it was loaded from contains the dropped sub-filters, too.
  if (held.image_bytes == 0 && held.filter.growth_factor() < 2 && before > 1 && held.filter.slice_count() == 1) {
    const Memory memory = memory_with_object();
    if (void* place = memory.allocate(memory.context, held.filter.slice(0).image_bytes()); place != nullptr) {
      *this = settled(std::move(held.filter), held.state, static_cast<std::byte*>(place));
    }
  }
}

CuckooShape CuckooValue::shape() const noexcept {
  if (redisbloom() != nullptr) {
    return redisbloom()->shape();
  }
  const auto& [filter, state, _] = *std::get<OwnPointer>(filter_);
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
  const Own& held = *std::get<OwnPointer>(filter_);
  ImageParts parts = parts_of(held.filter);
  const auto bytes = std::as_bytes(std::span(&held.state, 1));
  parts.state.assign(bytes.begin(), bytes.end());
  bind_to_moment(parts);
  return parts;
}

std::size_t CuckooValue::heap_bytes() const noexcept {
  if (redisbloom() != nullptr) {
    return engine_bytes(sizeof(CuckooChain)) + redisbloom()->memory_bytes();
  }
  const std::size_t before = std::get<OwnPointer>(filter_)->image_bytes;
  const std::size_t counted = before == 0 ? 0 : engine_bytes(before);
  return engine_bytes(before + sizeof(Own)) + heap_bytes_of(*own()) - counted;
}

std::size_t CuckooValue::memory_pieces() const noexcept {
  return redisbloom() != nullptr ? redisbloom()->memory_pieces() : 1 + own()->memory_pieces();
}

void CuckooValue::relocate(std::size_t piece, const Mover& mover) noexcept {
  if (redisbloom() != nullptr) {
    redisbloom()->relocate(piece, mover);
    return;
  }
  auto& held = std::get<OwnPointer>(filter_);
  const std::size_t before = held->image_bytes;
  if (piece != 0) {
    if (piece != 1 || before == 0) {  // the backing moves with the object that it is in front of
      own()->relocate(piece - 1, mover);
    }
    return;
  }
  std::byte* block = reinterpret_cast<std::byte*>(held.release()) - before;
  block = mover.move(mover.context, {block, before + sizeof(Own)});
  held.reset(reinterpret_cast<Own*>(block + before));
  if (before != 0) {
    const auto has_moved = [](void* place, std::span<std::byte>) noexcept { return static_cast<std::byte*>(place); };
    own()->relocate(0, {.move = has_moved, .context = block});
  }
}

}  // namespace mankai::redis
