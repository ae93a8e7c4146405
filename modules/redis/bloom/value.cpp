#include "modules/redis/bloom/value.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <type_traits>

#include "mankai/hash/probes.hpp"

namespace mankai::redis {
namespace {

Growth growth_of(const BloomSettings& settings) noexcept {
  if (!settings.is_nonscaling) {
    return {.factor = settings.expansion, .tightening = TinyBloom::kTightening, .bound = settings.bound};
  }
  if (settings.bound == FprBound::gradual && !settings.is_deletable) {
    // Several blocks per key take less memory, even at half of the rate.
    for (const double tightening : {TinyBloom::kNothingLeft, TinyBloom::kTightening}) {
      const Growth growth{.factor = 1, .tightening = tightening, .bound = FprBound::gradual};
      const SizeRequest request{.keys = settings.capacity_keys, .fpr = slice_fpr(settings.fpr, growth, 0)};
      if (check_request(request) && blocks_per_key(request, growth.bound) > 1) {
        return growth;
      }
    }
  }
  return {.factor = 1, .tightening = TinyBloom::kTightening, .bound = FprBound::first};
}

template <class Filter>
typename Filter::Options options_of(const BloomSettings& settings) noexcept {
  return {.keys = settings.capacity_keys,
          .fpr = settings.fpr,
          .growth = growth_of(settings),
          .hash = settings.hash,
          .memory = engine_memory()};
}

Cuckoo::Options cuckoo_options(const BloomSettings& settings) {
  constexpr std::uint32_t kCounts = 4;
  constexpr std::uint32_t kCountsWithTtl = 2;
  const bool expires = settings.max_ttl != Duration::zero();
  return {.keys = settings.capacity_keys,
          .fpr = settings.fpr,
          .growth = settings.is_nonscaling ? 0 : settings.expansion,
          .counts = !settings.is_deletable ? 0
                    : expires              ? kCountsWithTtl
                                           : kCounts,
          .max_ttl = settings.max_ttl,
          .ttl_resolution = settings.ttl_resolution,
          .hash = settings.hash,
          .memory = engine_memory()};
}

template <class Filter>
constexpr bool kIsForeign = std::is_same_v<Filter, takeover::BloomChain> ||
                            std::is_same_v<Filter, takeover::ValkeyBloom> || std::is_same_v<Filter, ConvertedBloom>;

// When a slice opens, all others are queried about the remaining keys: few of them, where slices are small.
void observe(ScalableCountingBloom& filter, std::span<const Digest> digests, std::span<bool> seen) {
  constexpr std::uint64_t kFewest = 64;
  for (std::size_t start = 0; start < digests.size();) {
    const std::uint64_t most = std::max(room_in_newest(filter), kFewest);
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(digests.size() - start, most));
    filter.observe_in_oldest(digests.subspan(start, count), seen.subspan(start, count));
    start += count;
  }
}

// The system maps pages of large blocks as they are touched, one by one, each first to be read and then to be written.
// So the pages around a digest's lines are mapped together while a slice has so few keys that a digest may be their
// first. Errors do not matter: systems without this call map pages as before.
void map_pages(const BlockedSlice& slice, std::span<const Digest> digests) noexcept {
  constexpr std::size_t kPageBytes = 4096;
  constexpr std::size_t kGroupBytes = 16 * kPageBytes;
  constexpr std::size_t kKeysPerGroup = 4;  // one group in 55 has had none of them
  const std::span<const std::byte> cells = slice.cells();
  const std::uint64_t few = cells.size() / kGroupBytes * kKeysPerGroup;
  const std::uint64_t count = few - std::min(few, slice.keys_inserted());
  const auto start = reinterpret_cast<std::uintptr_t>(cells.data());
  for (const Digest digest : digests.first(std::min<std::size_t>(digests.size(), count))) {
    for (unsigned block = 0; block < slice.blocks_per_key(); ++block) {
      const std::uint64_t index =
          probes::block_index(probes::block_digest(digest, block), cells.size() / kCacheLineBytes);
      const std::uintptr_t group = (start + index * kCacheLineBytes) / kGroupBytes * kGroupBytes;
      const std::uintptr_t first = std::max(group, start / kPageBytes * kPageBytes);
      const std::uintptr_t end = std::min(group + kGroupBytes, start + cells.size());
      static_cast<void>(::madvise(reinterpret_cast<void*>(first), end - first, MADV_POPULATE_WRITE));
    }
  }
}

template <class Filter>
bool erase(Filter& filter, Digest digest) noexcept {
  if constexpr (requires { filter.erase_from_oldest(digest); }) {
    return filter.erase_from_oldest(digest) == EraseResult::erased;
  } else if constexpr (requires { filter.erase(digest); }) {
    return filter.erase(digest) == EraseResult::erased;
  } else {
    return false;
  }
}

AddReport add_to(Cuckoo& filter, std::span<const Digest> digests, std::span<bool> seen) {
  // Slots that have expired are free, but counted until they are swept: such a filter is full if no slot is found.
  const bool has_limit = filter.growth_factor() == 0 && !filter.has_time();
  std::size_t done = 0;
  try {
    for (; done < digests.size(); ++done) {
      filter.prefetch_ahead(digests, done);
      seen[done] = filter.may_contain(digests[done]);
      const bool has_room = !has_limit || seen[done] || filter.taken_slots() < filter.capacity_keys();
      if (!has_room || !filter.try_insert_until(digests[done], filter.latest_until())) {
        return {.done = done, .stop = AddStop::full};
      }
    }
  } catch (const std::bad_alloc&) {
    return {.done = done, .stop = AddStop::out_of_memory};
  }
  return {.done = done};
}

}  // namespace

template <class Made>
Result<BloomValue> BloomValue::of(Result<Made> filter, bool is_nonscaling) {
  if (!filter) {
    return std::unexpected(std::move(filter.error()));
  }
  return BloomValue(std::make_unique<Made>(std::move(*filter)), is_nonscaling);
}

Result<void> BloomValue::check_cuckoo(const BloomSettings& settings) {
  MANKAI_TRY(Cuckoo::size_of(cuckoo_options(settings)));
  return {};
}

Result<BloomValue> BloomValue::create(const BloomSettings& settings) {
  if (settings.layout == Layout::redisbloom) {
    return of(takeover::BloomChain::create({.keys = settings.capacity_keys,
                                            .fpr = settings.fpr,
                                            .expansion = settings.expansion,
                                            .is_nonscaling = settings.is_nonscaling,
                                            .memory = engine_memory()}),
              settings.is_nonscaling);
  }
  if (settings.layout == Layout::valkey_bloom) {
    return of(takeover::ValkeyBloom::create({.keys = settings.capacity_keys,
                                             .fpr = settings.fpr,
                                             .tightening = settings.tightening,
                                             .expansion = settings.is_nonscaling ? 0 : settings.expansion,
                                             .seed = settings.valkey_seed,
                                             .memory = engine_memory()}),
              settings.is_nonscaling);
  }
  if (settings.max_ttl != Duration::zero() || (settings.is_deletable && check_cuckoo(settings))) {
    return of(Cuckoo::create(cuckoo_options(settings)), settings.is_nonscaling);
  }
  return settings.is_deletable
             ? of(ScalableCountingBloom::create(options_of<ScalableCountingBloom>(settings)), settings.is_nonscaling)
             : of(ScalableBloom::create(options_of<ScalableBloom>(settings)), settings.is_nonscaling);
}

std::optional<BloomValue::Small> BloomValue::small(const BloomSettings& settings) {
  if (settings.layout != Layout::mankai || settings.is_deletable || settings.max_ttl != Duration::zero()) {
    return std::nullopt;
  }
  const auto plan = TinyBloom::plan(options_of<ScalableBloom>(settings));
  return plan ? std::optional(Small{.filter = *plan, .is_nonscaling = settings.is_nonscaling}) : std::nullopt;
}

Result<BloomValue> BloomValue::from_image(AssembledImage image) {
  const bool is_nonscaling = (image.flags & kNonscaling) != 0;
  ImageHeader outer;
  std::memcpy(&outer, image.image.bytes().data(), sizeof(outer));
  switch (outer.kind) {
    case ScalableCountingBloom::kKind: return of(filter_of<ScalableCountingBloom>(std::move(image)), is_nonscaling);
    case Cuckoo::kKind: {
      MANKAI_ASSIGN(auto filter, filter_of<Cuckoo>(std::move(image)));
      if (is_nonscaling != (filter.growth_factor() == 0) || (filter.slot().count == 0 && !filter.has_time())) {
        return fail(ErrorCode::corrupt, "a cuckoo filter of another growth, or neither deletable nor with a TTL");
      }
      return of(Result<Cuckoo>(std::move(filter)), is_nonscaling);
    }
    default: return of(filter_of<ScalableBloom>(std::move(image)), is_nonscaling);
  }
}

Result<BloomValue> BloomValue::create_like() const {
  return visit([&]<class F>(const F& filter) {
    if constexpr (kIsForeign<F>) {
      return of(filter.create_like(), is_nonscaling_);
    } else {
      return of(filter.create_like(engine_memory()), is_nonscaling_);
    }
  });
}

bool BloomValue::is_empty() const noexcept {
  // A filter of counters may have lost its number of keys, but never claims to be as created after an addition.
  if (const auto* counting = std::get_if<std::unique_ptr<ScalableCountingBloom>>(&filter_); counting != nullptr) {
    return (*counting)->next_id() == (*counting)->first_id();
  }
  if (const auto* cuckoo = std::get_if<std::unique_ptr<Cuckoo>>(&filter_); cuckoo != nullptr) {
    return (*cuckoo)->taken_slots() == 0 && (*cuckoo)->expansions() == 0;
  }
  return keys_inserted() == 0 && slice_count() == 1;
}

bool BloomValue::is_deletable() const noexcept {
  const auto* cuckoo = std::get_if<std::unique_ptr<Cuckoo>>(&filter_);
  return cuckoo != nullptr ? (*cuckoo)->slot().count != 0
                           : std::holds_alternative<std::unique_ptr<ScalableCountingBloom>>(filter_);
}

BloomSettings BloomValue::settings() const noexcept {
  return visit([&]<class F>(const F& filter) {
    BloomSettings settings{.capacity_keys = filter.initial_keys(),
                           .fpr = filter.fpr_target(),
                           .is_nonscaling = is_nonscaling_,
                           .is_deletable = is_deletable(),
                           .hash = {}};
    if constexpr (kIsForeign<F>) {
      settings.expansion = filter.expansion();
    } else if constexpr (requires { filter.growth(); }) {
      settings.expansion = filter.growth().factor;
      settings.bound = filter.growth().bound;
      settings.hash = filter.hash();
    } else {
      settings.expansion = filter.growth_factor();
      settings.hash = filter.hash();
    }
    return settings;
  });
}

std::optional<Growth> BloomValue::growth() const noexcept {
  return visit([]<class F>(const F& filter) -> std::optional<Growth> {
    if constexpr (requires { filter.growth(); }) {
      return filter.growth();
    } else {
      return std::nullopt;
    }
  });
}

std::uint64_t BloomValue::capacity_keys() const noexcept {
  return visit([](const auto& filter) { return filter.capacity_keys(); });
}

// Of a filter that is not foreign.
Hasher BloomValue::hasher() const noexcept {
  return visit([]<class F>(const F& filter) {
    if constexpr (kIsForeign<F>) {
      return Hasher(HashSpec{});
    } else {
      return filter.hasher();
    }
  });
}

std::uint64_t BloomValue::keys_inserted() const noexcept {
  return visit([](const auto& filter) {
    // A slot has all units of a key.
    if constexpr (requires { filter.taken_slots(); }) {
      return filter.taken_slots();
    } else {
      return filter.keys_inserted();
    }
  });
}

std::size_t BloomValue::slice_count() const noexcept {
  return visit([](const auto& filter) { return filter.slice_count(); });
}

WorkShape BloomValue::work_shape() const noexcept {
  constexpr std::uint64_t kPlentyOfRoom = std::uint64_t{1} << 40;
  return visit([&]<class F>(const F& filter) {
    if constexpr (requires { filter.work_shape(); }) {
      return filter.work_shape();
    } else if constexpr (kIsForeign<F> || requires { filter.growth(); }) {
      return redis::work_shape(filter, !is_nonscaling_);
    } else {
      if (filter.growth_factor() > 1) {  // sub-filters are doubled, so there is seldom one more
        return WorkShape{.slices = filter.slice_count(), .newest = kPlentyOfRoom, .expansion = 1};
      }
      const auto& newest = filter.slice(filter.slice_count() - 1);
      const std::uint64_t taken = std::min(newest.taken_slots(), newest.capacity_keys());
      return WorkShape{.slices = filter.slice_count(),
                       .room = newest.capacity_keys() - taken,
                       .newest = newest.capacity_keys(),
                       .expansion = filter.growth_factor()};
    }
  });
}

double BloomValue::fpr_estimate() const noexcept {
  return visit([](const auto& filter) { return filter.fpr_estimate(); });
}

ImageParts BloomValue::parts() const {
  ImageParts parts = visit([]<class F>(const F& filter) {
    if constexpr (kIsForeign<F>) {
      return ImageParts();
    } else if constexpr (std::is_same_v<F, TinyBloom>) {
      return filter.parts();
    } else {
      return parts_of(filter);
    }
  });
  parts.flags = is_nonscaling_ ? kNonscaling : 0;
  if (std::holds_alternative<std::unique_ptr<Cuckoo>>(filter_)) {
    bind_to_moment(parts);
  }
  return parts;
}

bool BloomValue::is_taken_over() const noexcept {
  return foreign_format() && !std::holds_alternative<std::unique_ptr<ConvertedBloom>>(filter_);
}

Result<BloomValue> BloomValue::convert(const HashSpec& hash) {
  return visit([&]<class F>(F& filter) -> Result<BloomValue> {
    if constexpr (!kIsForeign<F> || std::is_same_v<F, ConvertedBloom>) {
      return fail(ErrorCode::invalid_argument, "not a filter of another module");
    } else if (is_nonscaling_) {
      return fail(ErrorCode::invalid_argument,
                  "the filter does not grow, so there is nothing to convert; it answers as it is");
    } else {
      return BloomValue(std::make_unique<ConvertedBloom>(std::move(filter), hash), false);
    }
  });
}

takeover::BloomChain* BloomValue::redisbloom() noexcept {
  auto* chain = std::get_if<std::unique_ptr<takeover::BloomChain>>(&filter_);
  return chain != nullptr ? chain->get() : nullptr;
}

template <class Made>
Result<BloomValue> BloomValue::taken_over(Result<Made> filter) {
  const bool is_nonscaling = filter && filter->is_nonscaling();
  return of(std::move(filter), is_nonscaling);
}

Result<BloomValue> BloomValue::load_foreign(takeover::FieldReader& reader, std::size_t format, int version) {
  const auto encver = static_cast<unsigned>(version);
  switch (format) {
    case 0: return taken_over(takeover::BloomChain::load(reader, encver, engine_memory()));
    case 1: return taken_over(takeover::ValkeyBloom::load(reader, encver, engine_memory()));
    default: return of(ConvertedBloom::load(reader, encver), false);
  }
}

Result<BloomValue> BloomValue::from_redisbloom(std::span<const std::byte> header, takeover::CellsOfHeader cells) {
  return taken_over(takeover::BloomChain::from_header(header, takeover::BloomChain::kNoLimit, engine_memory(), cells));
}

Result<BloomValue> BloomValue::from_valkey(std::span<const std::byte> blob) {
  return taken_over(takeover::ValkeyBloom::from_blob(blob, engine_memory()));
}

void BloomValue::save_foreign(takeover::FieldWriter& writer) const {
  visit([&]<class F>(const F& filter) {
    if constexpr (kIsForeign<F>) {
      filter.save(writer);
    }
  });
}

void BloomValue::rewrite_foreign(const EmitCommand& emit) const {
  visit([&]<class F>(const F& filter) {
    if constexpr (std::is_same_v<F, ConvertedBloom>) {
      emit_restore(emit, F::kTypeName, F::kEncver, [&](takeover::FieldWriter& writer) { filter.save(writer); });
    } else if constexpr (std::is_same_v<F, takeover::ValkeyBloom>) {
      emit("BF.LOAD", std::nullopt, filter.to_blob());
    } else if constexpr (std::is_same_v<F, takeover::BloomChain>) {
      emit("BF.LOADCHUNK", 1, filter.header());
      if (filter.keys_inserted() == 0) {
        return;
      }
      for (auto chunk = filter.chunk(1); chunk.iterator != 0; chunk = filter.chunk(chunk.iterator)) {
        emit("BF.LOADCHUNK", static_cast<long long>(chunk.iterator), chunk.bytes);
      }
    }
  });
}

Result<BloomValue> BloomValue::copy_foreign() const {
  return visit([&]<class F>(const F& filter) {
    if constexpr (kIsForeign<F>) {
      return of(filter.clone(), is_nonscaling_);
    } else {
      return Result<BloomValue>(fail(ErrorCode::invalid_argument, "not a filter of another module"));
    }
  });
}

std::size_t BloomValue::bytes_beside() const noexcept {
  const auto* filter = std::get_if<std::unique_ptr<ScalableBloom>>(&filter_);
  return filter != nullptr ? TinyBloom::cells_for(**filter) : 0;
}

void BloomValue::settle(std::span<std::byte> place) noexcept {
  const auto filter = std::move(std::get<std::unique_ptr<ScalableBloom>>(filter_));
  filter_.emplace<TinyBloom>(*filter, place);
}

void BloomValue::leave_key() {
  if (tiny() == nullptr) {
    return;
  }
  auto filter = tiny()->full();
  if (!filter) {
    throw std::bad_alloc();
  }
  left_ = static_cast<std::uint8_t>(tiny()->cells_bytes() / kCacheLineBytes);
  filter_ = std::make_unique<ScalableBloom>(std::move(*filter));
}

AddReport BloomValue::add_beside_key(TinyBloom& filter, std::span<const Digest> digests, std::span<bool> seen) {
  const AddReport report =
      add_in_order(filter, digests, seen, false,
                   [&](std::span<const Digest> some, std::span<bool> known) { observe(filter, some, known); });
  if (report.stop == AddStop::none || is_nonscaling_) {
    return report;
  }
  try {
    leave_key();
  } catch (const std::bad_alloc&) {
    return {.done = report.done, .stop = AddStop::out_of_memory};
  }
  const AddReport rest = add_window(digests.subspan(report.done), seen.subspan(report.done));
  return {.done = report.done + rest.done, .stop = rest.stop};
}

AddReport BloomValue::add_window(std::span<const Digest> digests, std::span<bool> seen) {
  if (auto* small = std::get_if<TinyBloom>(&filter_); small != nullptr) {
    return add_beside_key(*small, digests, seen);
  }
  return visit([&]<class F>(F& filter) {
    if constexpr (kIsForeign<F>) {
      return AddReport();
    } else if constexpr (requires { filter.growth(); }) {
      if constexpr (std::is_same_v<F, ScalableBloom>) {
        map_pages(filter.slice(filter.slice_count() - 1), digests);
      }
      return add_in_order(filter, digests, seen, !is_nonscaling_,
                          [&](std::span<const Digest> some, std::span<bool> known) { observe(filter, some, known); });
    } else {
      return add_to(filter, digests, seen);
    }
  });
}

// Apart from `add`: single keys should not have the window's 32 KiB in their stack frame.
[[gnu::noinline]] AddReport BloomValue::add_many(std::span<const std::string_view> keys, std::span<bool> seen) {
  const Hasher hash = hasher();
  std::array<Digest, kHashWindow> window;
  AddReport total;
  while (total.done < keys.size() && total.stop == AddStop::none) {
    const std::size_t count = std::min(kHashWindow, keys.size() - total.done);
    const auto digests = std::span(window).first(count);
    hash(keys.subspan(total.done, count), digests);
    const AddReport report = add_window(digests, seen.subspan(total.done, count));
    total = {.done = total.done + report.done, .stop = report.stop};
  }
  return total;
}

AddReport BloomValue::add(std::span<const std::string_view> keys, std::span<bool> fresh, const EarlyHash& early) {
  if (foreign_format()) {
    return add_foreign(keys, fresh);
  }
  prefetch();
  AddReport report;
  if (keys.size() == 1) {
    const Digest digest = early.digest(hasher(), keys[0]);
    report = add_window({&digest, 1}, fresh);
  } else {
    report = add_many(keys, fresh);
  }
  std::ranges::transform(fresh.first(report.done), fresh.begin(), [](bool known) { return !known; });
  keep_for(early);
  return report;
}

AddReport BloomValue::add_foreign(std::span<const std::string_view> keys, std::span<bool> fresh) {
  return visit([&]<class F>(F& filter) {
    AddReport report;
    if constexpr (std::is_same_v<F, ConvertedBloom>) {
      report = filter.add(keys, fresh);
    } else if constexpr (kIsForeign<F>) {
      const takeover::AddedKeys added = filter.add(keys, fresh);
      report.done = added.done;
      if (added.stop != takeover::AddResult::fresh) {
        report.stop = added.stop == takeover::AddResult::out_of_memory ? AddStop::out_of_memory : AddStop::full;
      }
    }
    return report;
  });
}

void BloomValue::ask(std::span<const std::string_view> keys, std::span<bool> outcomes,
                     const EarlyHash& early) const noexcept {
  prefetch();
  visit([&]<class F>(const F& filter) {
    if constexpr (kIsForeign<F>) {
      filter.may_contain(keys, outcomes);
    } else if (keys.size() == 1) {
      outcomes[0] = filter.may_contain(early.digest(filter.hasher(), keys[0]));
    } else {
      for_each_hashed_window(filter.hasher(), keys, [&](std::size_t start, std::span<const Digest> digests) {
        filter.may_contain(digests, outcomes.subspan(start, digests.size()));
      });
    }
  });
  keep_for(early);
}

void BloomValue::remove(std::span<const std::string_view> keys, std::span<bool> removed) noexcept {
  visit([&]<class F>(F& filter) {
    if constexpr (!kIsForeign<F>) {
      for_each_hashed_window(filter.hasher(), keys, [&](std::size_t start, std::span<const Digest> digests) {
        const auto results = removed.subspan(start, digests.size());
        // As a batch first: the lines arrive together, and what is absent now will be absent later.
        filter.may_contain(digests, results);
        for (std::size_t i = 0; i < digests.size(); ++i) {
          results[i] = results[i] && erase(filter, digests[i]);
        }
      });
    }
  });
}

Result<void> BloomValue::check_merge(const BloomValue& other, std::uint64_t keys_before) const {
  if (foreign_format() || other.foreign_format()) {
    return fail(ErrorCode::invalid_argument,
                "filters taken over from another module cannot be merged: add the items to one of them");
  }
  const BloomSettings mine = settings();
  const BloomSettings theirs = other.settings();
  if (mine.is_deletable || theirs.is_deletable) {
    return fail(ErrorCode::invalid_argument, "deletable filters cannot be merged: add the items to one of them");
  }
  if (expiring() != nullptr || other.expiring() != nullptr) {
    return fail(ErrorCode::invalid_argument,
                "filters whose items expire cannot be merged: add the items to one of them");
  }
  if (mine.hash != theirs.hash) {
    return fail(ErrorCode::invalid_argument,
                "the filters hash with different seeds: make one from the other with COPY and BF.CLEAR");
  }
  if (mine.capacity_keys != theirs.capacity_keys || mine.fpr != theirs.fpr || growth() != other.growth()) {
    return fail(ErrorCode::invalid_argument, "the filters were reserved with different parameters");
  }
  if (is_nonscaling_ && keys_before + other.keys_inserted() > capacity_keys()) {
    return fail(ErrorCode::out_of_space, "non scaling filter is full");
  }
  return {};
}

Result<void> BloomValue::merge(const BloomValue& other) {
  MANKAI_TRY(check_merge(other, keys_inserted()));
  leave_key();
  auto& filter = *std::get<std::unique_ptr<ScalableBloom>>(filter_);
  if (other.tiny() != nullptr) {
    MANKAI_ASSIGN(const auto source, other.tiny()->full());
    return filter.merge(source);
  }
  return filter.merge(*std::get<std::unique_ptr<ScalableBloom>>(other.filter_));
}

std::size_t BloomValue::memory_pieces() const noexcept {
  return visit([]<class F>(const F& filter) {
    if constexpr (std::is_same_v<F, TinyBloom>) {
      return std::size_t{0};  // it moves with its key
    } else {
      return filter.memory_pieces();
    }
  });
}

void BloomValue::relocate(std::size_t piece, const Mover& mover) noexcept {
  visit([&]<class F>(F& filter) {
    if constexpr (!std::is_same_v<F, TinyBloom>) {
      filter.relocate(piece, mover);
    }
  });
}

std::size_t BloomValue::heap_bytes() const noexcept {
  const std::size_t left = left_ * kCacheLineBytes;
  return left + visit([]<class F>(const F& filter) {
           const std::size_t object = engine_bytes(sizeof(F));
           if constexpr (std::is_same_v<F, TinyBloom>) {
             return filter.cells_bytes();
           } else if constexpr (requires { filter.heap_bytes(); }) {
             return object + filter.heap_bytes();
           } else if constexpr (kIsForeign<F>) {
             return object + heap_bytes_of_links(filter);
           } else {
             return object + heap_bytes_of(filter);
           }
         });
}

}  // namespace mankai::redis
